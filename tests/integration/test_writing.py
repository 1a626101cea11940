"""Many tasks in one call: chunks under way together, each task written once and in its order, whatever befalls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncue import NewTask, StoreUnavailable, WrongState
from oncue.common.scripts import script
from oncue.common.store import Store
from oncue.common.writing import CHUNK, Writing
from tests.support.link import Request
from tests.support.product import FixedClock, Hands, Passes, app_on, opened
from tests.support.proxy import Proxy
from tests.support.servers import RedisServer

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
