"""Many tasks in one call: chunks under way together, each task written once and in its order, whatever befalls them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hiredis
import pytest
from redis.exceptions import TimeoutError as TimedOut

from oncue import NewTask, StoreUnavailable, WrongState
from oncue.common import link
from oncue.common.connections import OpenConnection
from oncue.common.link import Link
from oncue.common.scripts import script
from oncue.common.store import Store
from oncue.common.writing import CHUNK, Writing
from tests.support.link import Request
from tests.support.product import DAY_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.proxy import Proxy
from tests.support.servers import Monitor, RedisServer
from tests.support.waiting import eventually, pause

CHUNKS = 4
SECOND_MS = 1000


@pytest.fixture
def proxy(valkey: RedisServer) -> Iterator[Proxy]:
    with Proxy(valkey.url) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: Proxy, namespace: str, clock: FixedClock) -> Iterator[Store]:
    """A store whose connections a test can break."""
    with opened(proxy, namespace, clock=clock) as store:
        yield store


def chunks(clock: FixedClock, offset_ms: int, number: int = CHUNKS) -> list[NewTask]:
    """Tasks of one instant that fill so many chunks, each of which knows its chunk and its place."""
    due = (clock.ms + offset_ms) / 1000
    return [NewTask(due, f"<{at // CHUNK}> {at}") for at in range(number * CHUNK)]


def of_chunk(number: int) -> Callable[[Request], bool]:
    """A predicate for `cut_reply`: true for the call that carries a chunk."""
    return lambda request: any(b'"<%d> ' % number in word for word in request)


def drained(hands: Hands) -> list[Any]:
    """The data of all ready tasks, in the order in which a worker gets them."""
    data: list[Any] = []
    while tasks := hands.reserve(CHUNK):
        hands.complete(*tasks)
        data += [task.data for task in tasks]
    return data


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("lost", range(CHUNKS))
@pytest.mark.parametrize("offset_ms", [-SECOND_MS, SECOND_MS, 10 * 60 * SECOND_MS])
def test_a_chunk_whose_reply_is_lost_is_written_once_and_so_is_the_one_behind_it(
    store: Store, proxy: Proxy, clock: FixedClock, offset_ms: int, lost: int, times: int
) -> None:
    app, wanted = app_on(store), chunks(clock, offset_ms)
    proxy.cut_reply(of_chunk(lost), times)
    ids = app.schedule_many(wanted)
    assert proxy.cuts == times
    assert len(set(ids)) == len(wanted)
    clock.pass_ms(max(0, offset_ms))
    Passes(store)()
    assert drained(Hands(store, ["default"])) == [task.data for task in wanted]


def test_a_server_that_forgets_the_script_between_two_chunks_gets_it_again(
    store: Store, proxy: Proxy, valkey: RedisServer, clock: FixedClock
) -> None:
    forgotten: list[Request] = []

    def forget(request: Request) -> bool:
        if of_chunk(2)(request) and not forgotten:
            forgotten.append(request[:2])
            valkey.client().script_flush()
        return False

    proxy.cut_reply(forget)
    wanted = chunks(clock, -SECOND_MS)
    app_on(store).schedule_many(wanted)
    assert forgotten == [[b"EVALSHA", script("schedule").sha.encode()]]
    assert drained(Hands(store, ["default"])) == [task.data for task in wanted]


def test_the_id_of_a_dead_task_ends_the_call_and_the_reply_still_to_come_is_nobodys(
    store: Store, clock: FixedClock
) -> None:
    app, hands = app_on(store), Hands(store, ["default"])
    app.schedule_task(clock.ms / 1000, "bad", id="dead")
    (dead,) = hands.reserve()
    hands.bury(dead)
    wanted = chunks(clock, 10 * 60 * SECOND_MS, 3)
    wanted[1].id = "dead"
    with pytest.raises(WrongState, match="dead is among the dead"):
        app.schedule_many(wanted)
    ids = [app.schedule_task(clock.ms / 1000 + 60 * 60, at) for at in range(20)]
    assert [app.get(id).data for id in ids] == list(range(20))


def test_a_call_that_ends_with_an_error_writes_nothing_afterwards(store: Store, clock: FixedClock) -> None:
    app, hands = app_on(store), Hands(store, ["default"])
    app.schedule_task(clock.ms / 1000, "bad", id="dead")
    (dead,) = hands.reserve()
    hands.bury(dead)
    wanted = [NewTask(task.ts, "x" * 20_000) for task in chunks(clock, 10 * 60 * SECOND_MS, 3)]
    wanted[0].id = "dead"
    with pytest.raises(WrongState):
        app.schedule_many(wanted)
    written = store.counts()["default"]["delayed"]
    pause(0.3)
    assert store.counts()["default"]["delayed"] == written == 2 * CHUNK - 1


def test_when_a_call_fails_for_want_of_memory_all_that_it_writes_is_there(
    tmp_path: Path, namespace: str, clock: FixedClock
) -> None:
    """The server is full for the second chunk alone; the third is sent by then, and long enough to come after the error."""
    wanted = chunks(clock, SECOND_MS)
    for at, task in enumerate(wanted):
        task.id, task.data = f"t{at}", f"{task.data} {'x' * 20_000 if at // CHUNK == 2 else ''}"
    with (
        RedisServer("valkey", tmp_path) as server,
        Proxy(server.url) as proxy,
        opened(proxy, namespace, clock=clock) as store,
    ):
        (shard,) = store.shards

        def fill_and_empty(request: Request) -> bool:
            if of_chunk(1)(request):
                eventually(lambda: server.admin.exists(shard.keys.records), what="the first chunk")
                server.admin.config_set("maxmemory", 1)
            elif of_chunk(2)(request):
                eventually(lambda: "errorstat_OOM" in server.admin.info("errorstats"), what="the refusal")
                server.admin.config_set("maxmemory", 0)
            return False

        # Else the first call is an EVALSHA, and then an EVAL.
        server.admin.script_load(script("schedule").text)
        proxy.cut_reply(fill_and_empty)
        with pytest.raises(StoreUnavailable, match="out of memory"):
            app_on(store).schedule_many(wanted)
        assert store.counts()["default"]["delayed"] == 2 * CHUNK
        firsts = [f"t{at}" for at in range(0, len(wanted), CHUNK)]
        assert [task.id for task in store.known(shard, firsts, whole=False)] == [firsts[0], firsts[2]]


def test_a_call_goes_on_at_the_new_primary_once_another_thread_has_met_the_failover(
    valkey: RedisServer,
    tmp_path: Path,
    proxy: Proxy,
    store: Store,
    clock: FixedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The old primary does not know yet, and takes whatever comes over connections that are open."""
    asked = Writing.answers
    left = iter((False, True))

    def answers(self: Writing) -> list[int]:
        found = asked(self)
        if next(left, False):
            proxy.lead_to(new.url)
            other = threading.Thread(target=store.link.reset)
            other.start()
            other.join()
        return found

    monkeypatch.setattr(Writing, "answers", answers)
    wanted = chunks(clock, -SECOND_MS)
    with RedisServer("valkey", tmp_path) as new:
        app_on(store).schedule_many(wanted)
        assert drained(Hands(store, ["default"])) == [task.data for task in wanted[2 * CHUNK :]]
    (shard,) = store.shards
    assert valkey.admin.hlen(shard.keys.records) <= 3 * CHUNK, "what was under way, and nothing behind it"


def test_a_connection_in_use_while_its_link_is_reset_is_used_no_more(
    store: Store, valkey: RedisServer, proxy: Proxy
) -> None:
    connection = store.link.take()
    assert connection
    store.link.reset()
    store.link.give_back(connection)
    eventually(lambda: proxy.connections == 0, what="its end")
    assert store.link.execute_command("ECHO", "mine") == b"mine"


def test_a_connection_that_comes_back_while_its_link_is_reset_is_used_no_more(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Overtaken(deque[OpenConnection]):
        def append(self, connection: OpenConnection) -> None:
            store.link.reset()
            super().append(connection)

    first = store.link.execute_command("CLIENT", "ID")
    assert store.link._connections
    monkeypatch.setattr(store.link._connections, "_idle", Overtaken(store.link._connections._idle))
    assert store.link.execute_command("CLIENT", "ID") == first
    assert store.link.execute_command("CLIENT", "ID") != first


def test_bulk_calls_one_after_the_other_go_over_one_connection(
    store: Store, valkey: RedisServer, clock: FixedClock
) -> None:
    app = app_on(store)
    app.schedule_many(chunks(clock, SECOND_MS))
    before = valkey.admin.info("stats")["total_connections_received"]
    for _ in range(10):
        app.schedule_many(chunks(clock, SECOND_MS, 2))
    assert valkey.admin.info("stats")["total_connections_received"] == before


def test_two_threads_that_use_a_link_first_at_once_get_each_its_own_answers(
    store: Store, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time between a client that is made and the connections beside it, held open until a chunk is written."""
    direct, answers = Link._direct, Writing.answers
    is_written, has_begun = threading.Event(), threading.Event()

    def slow(self: Link, client: Any) -> Any:
        has_begun.set()
        is_written.wait(1)
        return direct(self, client)

    def told(self: Writing) -> list[int]:
        found = answers(self)
        is_written.set()
        return found

    monkeypatch.setattr(Link, "_direct", slow)
    monkeypatch.setattr(Writing, "answers", told)
    other = threading.Thread(target=lambda: store.link.client)
    other.start()
    has_begun.wait(5)
    app_on(store).schedule_many(chunks(clock, 10 * 60 * SECOND_MS))
    other.join()
    assert store.link.execute_command("ECHO", "mine") == b"mine"
    assert store.counts()["default"]["delayed"] == CHUNKS * CHUNK


def test_what_is_due_already_keeps_the_order_in_which_it_was_given(store: Store, clock: FixedClock) -> None:
    wanted = [NewTask(clock.ms / 1000 - 60 * (at % 7), at) for at in range(2 * CHUNK)]
    app_on(store).schedule_many(wanted)
    assert drained(Hands(store, ["default"])) == [task.data for task in wanted]


@pytest.mark.parametrize("ahead_ms", [-30 * DAY_MS, 30 * DAY_MS])
def test_a_host_whose_clock_is_wrong_puts_tasks_in_the_order_of_the_servers(
    valkey: RedisServer, namespace: str, monkeypatch: pytest.MonkeyPatch, ahead_ms: int
) -> None:
    now_s, _ = valkey.admin.time()
    monkeypatch.setattr("oncue.common.clock.host_now_ms", lambda: now_s * SECOND_MS + ahead_ms)
    due = [NewTask(now_s - 60 * (at % 7), at) for at in range(CHUNK)]
    later = [NewTask(now_s + 60 * (10 + at % 100), at) for at in range(CHUNKS * CHUNK)]
    with opened(valkey, namespace) as store, Monitor(valkey) as seen:
        app_on(store).schedule_many([*later, *due])
        appended = [one for one in seen.sync() if one.command == "RPUSH" and ":page:" in one.args[0]]
        assert len(appended) <= 100 + CHUNKS + 1
        assert drained(Hands(store, ["default"])) == [task.data for task in due]


def test_of_an_id_that_is_given_twice_the_first_counts(store: Store, clock: FixedClock) -> None:
    app, wanted = app_on(store), chunks(clock, 60 * 60 * SECOND_MS, 2)
    wanted[0].id, wanted[-1].id, wanted[-1].ts = "twice", "twice", clock.ms / 1000
    app.schedule_many(wanted)
    assert app.get("twice").data == wanted[0].data


def test_tasks_of_a_page_go_out_together(store: Store, valkey: RedisServer, clock: FixedClock) -> None:
    wanted = [NewTask(clock.ms / 1000 + 60 * (10 + at % 100), at) for at in range(CHUNKS * CHUNK)]
    with Monitor(valkey) as seen:
        app_on(store).schedule_many(wanted)
        appended = [one for one in seen.sync() if one.command == "RPUSH"]
    assert len(appended) <= 100 + CHUNKS


def test_a_connection_that_gave_no_answer_in_time_is_closed(
    store: Store, proxy: Proxy, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "COMMAND_TIMEOUT_S", 1)
    store.link.execute_command("PING")
    before = proxy.connections
    proxy.swallow()
    with pytest.raises(TimedOut, match="waiting for the reply"):
        store.link.execute_command("ECHO", "late")
    proxy.resume()
    eventually(lambda: proxy.connections < before)
    assert store.link.execute_command("ECHO", "mine") == b"mine"


def test_a_chunk_that_was_sent_ahead_is_given_up_as_soon_as_any_other_call(
    store: Store, proxy: Proxy, valkey: RedisServer, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [0.0]

    def sleep(seconds: float) -> None:
        now_s[0] += 4

    monkeypatch.setattr("oncue.common.store.sleep_s", sleep)
    monkeypatch.setattr("oncue.common.link.monotonic_s", lambda: now_s[0])
    monkeypatch.setattr("oncue.common.writing.monotonic_s", lambda: now_s[0])
    answered: list[float] = []
    asked = Writing.answers

    def answers(self: Writing) -> list[int]:
        found = asked(self)
        # The answer to the second one, which is under way, comes neither now nor later.
        answered.append(now_s[0])
        assert self._connection
        self._connection.close()
        # Under load it may have come with the first one already.
        self._connection._reader = hiredis.Reader()
        proxy.cut_reply(times=1000)
        return found

    monkeypatch.setattr(Writing, "answers", answers)
    # Else the first call is an EVALSHA, and then an EVAL.
    valkey.client().script_load(script("schedule").text)
    proxy.cut_reply(of_chunk(0), times=4)
    with pytest.raises(StoreUnavailable):
        app_on(store).schedule_many(chunks(clock, -SECOND_MS, 2))
    assert answered == [16.0]
    assert store.patience_s <= now_s[0] <= store.patience_s + 4


def test_tasks_given_in_any_order_of_their_times_run_when_they_are_due(
    store: Store, clock: FixedClock
) -> None:
    minutes = [(7 * at) % 50 for at in range(3 * CHUNK)]
    app = app_on(store)
    app.schedule_many(
        [NewTask(clock.ms / 1000 + 60 * minute, [minute, at]) for at, minute in enumerate(minutes)]
    )
    passes, hands = Passes(store), Hands(store, ["default"])
    met: list[list[int]] = []
    for minute in range(50):
        passes()
        came = drained(hands)
        assert {task[0] for task in came} == {minute}
        met += came
        clock.pass_ms(60 * SECOND_MS)
    assert met == sorted(met), "those of one instant come in the order in which they were given"
    assert len(met) == len(minutes)
