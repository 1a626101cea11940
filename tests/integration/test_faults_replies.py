"""A reply that is lost on its way (P19): the server has done it, the caller does it again, and it counts once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from redis.exceptions import ConnectionError as LinkDown

from oncue import AlreadyFinal, App, LeaseLost, Task
from oncue.common.configtypes import ScheduleConfig
from oncue.common.retry import RetryPolicy
from oncue.common.scripts import script
from oncue.common.store import Store
from oncue.scheduler.definition import tick_id
from oncue.scheduler.schedules import apply
from oncue.worker.grip import Grip
from oncue.worker.hand import Hand
from tests.support.link import Request
from tests.support.moving import queue_elsewhere
from tests.support.product import (
    HOUR_MS,
    MINUTE_MS,
    START_MS,
    FixedClock,
    Hands,
    Passes,
    app_on,
    counts,
    opened,
    running,
)
from tests.support.proxy import Proxy, command
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

TIMES = 100
LEASE_MS = 2000


def call_of(name: str) -> Callable[[Request], bool]:
    """A predicate for `cut_reply`: true for the calls of one script."""
    sha = script(name).sha.encode()
    return lambda request: request[0].upper() == b"EVALSHA" and request[1] == sha


class Bench:
    """A product behind a proxy whose replies are cut on order, and the same store reached directly."""

    def __init__(self, proxy: Proxy, cut: Store, direct: Store, clock: FixedClock) -> None:
        self.proxy, self.clock, self.direct = proxy, clock, direct
        self.app, self.cut_app = app_on(direct), app_on(cut)
        self.passes, self.cut_passes = Passes(direct), Passes(cut)
        self.hands = Hands(direct, ["default"], LEASE_MS)
        self.cut_hands = Hands(cut, ["default"], LEASE_MS)
        self._expected = 0
        # Every script is known to the server before any reply is lost: a first call is EVALSHA and then EVAL.
        self.app.schedule_task(self.at(-1), "warm")
        names = (
            "promote",
            "reserve",
            "complete",
            "retry",
            "bury",
            "release",
            "fire",
            "reschedule",
            "redrive",
        )
        for name in (*names, "cancel", "open_page"):
            direct.link.node(b"x").script_load(script(name).text)
        self.hands.complete(*self.hands.reserve())

    def at(self, offset_ms: int) -> float:
        return (self.clock.ms + offset_ms) / 1000

    def is_lost(self, name: str, call: Callable[[], object]) -> None:
        """Make one call of a script, whose reply does not come back."""
        self.proxy.cut_reply(call_of(name))
        with pytest.raises(LinkDown):
            call()
        self._expected += 1
        assert self.proxy.cuts == self._expected

    def reserved(self) -> Task:
        """A task in hand."""
        self.app.schedule_task(self.at(-1), 1)
        (task,) = self.hands.reserve()
        return task

    def counts(self) -> dict[str, int]:
        return counts(self.direct)


@pytest.fixture
def bench(valkey: RedisServer, namespace: str) -> Iterator[Bench]:
    clock = FixedClock()
    with (
        Proxy(valkey.url) as proxy,
        opened(proxy, namespace, clock=clock) as cut,
        opened(valkey, namespace, clock=clock) as direct,
    ):
        yield Bench(proxy, cut, direct, clock)


def test_a_schedule_call_whose_reply_is_lost_leaves_one_task(bench: Bench) -> None:
    bench.cut_app.schedule_task(bench.at(10 * MINUTE_MS), "opens the page")
    for offset_ms, script_name in ((-1, "schedule"), (5000, "schedule"), (10 * MINUTE_MS, "schedule_one")):
        for _ in range(TIMES // 3):
            bench.proxy.cut_reply(call_of(script_name))
            bench.cut_app.schedule_task(bench.at(offset_ms), 1)
    assert bench.proxy.cuts == TIMES // 3 * 3
    assert sum(bench.counts().values()) == 2 + TIMES // 3 * 3


def test_a_schedule_call_repeated_after_its_task_is_done_does_not_run_it_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_it_meanwhile(seconds: float) -> None:
        bench.hands.complete(*bench.hands.reserve())

    monkeypatch.setattr("oncue.common.store.sleep_s", run_it_meanwhile)
    for id in (None, "mine"):
        bench.proxy.cut_reply(call_of("schedule"))
        bench.cut_app.schedule_task(bench.at(-1), 1, id=id)
    assert bench.proxy.cuts == 2
    assert bench.counts() == {"done": 3}


def test_a_release_repeated_after_another_worker_has_taken_the_task_has_released_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, taken = bench.reserved(), list[Task]()
    task.hold_by(Grip(bench.cut_app.store, Hand(1)))
    monkeypatch.setattr("oncue.common.store.sleep_s", lambda seconds: taken.extend(bench.hands.reserve()))
    bench.proxy.cut_reply(call_of("release"))
    task.release()
    assert bench.proxy.cuts == 1
    assert [one.id for one in taken] == [task.id]
    assert bench.hands.complete(*taken) == [1]
    with pytest.raises(LeaseLost):
        task.release()


def dead_task(bench: Bench) -> str:
    task = bench.reserved()
    bench.hands.bury(task)
    bench.clock.pass_ms(1)
    return task.id


def run_now(bench: Bench) -> tuple[str, str, Callable[[], object]]:
    task_id = bench.app.schedule_task(bench.at(10 * MINUTE_MS), 1)
    return "reschedule", task_id, lambda: bench.cut_app.run_now(task_id)


def reschedule_to_now(bench: Bench) -> tuple[str, str, Callable[[], object]]:
    task_id = bench.app.schedule_task(bench.at(10 * MINUTE_MS), 1)
    return "reschedule", task_id, lambda: bench.cut_app.reschedule(task_id, bench.at(0))


def redrive(bench: Bench) -> tuple[str, str, Callable[[], object]]:
    task_id = dead_task(bench)
    return "redrive", task_id, lambda: bench.cut_app.dead.redrive(task_id)


def redrive_many(bench: Bench) -> tuple[str, str, Callable[[], object]]:
    task_id = dead_task(bench)

    def call() -> None:
        assert bench.cut_app.dead.redrive_many() == 1

    return "redrive", task_id, call


@pytest.mark.parametrize("clock_moves_ms", [1, -5000], ids=["time passes", "the clock is set back"])
@pytest.mark.parametrize("ended", ["leased", "done", "delayed", "dead", "cancelled"])
@pytest.mark.parametrize("made", [run_now, reschedule_to_now, redrive, redrive_many])
def test_a_call_that_let_a_task_run_has_worked_whatever_became_of_the_task_before_its_repetition(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[Bench], tuple[str, str, Callable[[], object]]],
    ended: str,
    clock_moves_ms: int,
) -> None:
    script_name, task_id, call = made(bench)
    runs: list[str] = []

    def run_it_meanwhile(seconds: float) -> None:
        bench.clock.pass_ms(clock_moves_ms)
        for task in bench.hands.reserve():
            runs.append(task.id)
            if ended == "done":
                bench.hands.complete(task)
            elif ended == "delayed":
                bench.hands.retry(task, bench.clock.ms + MINUTE_MS)
            elif ended != "leased":
                bench.hands.bury(task)
            if ended == "cancelled":
                bench.app.dead.purge(task.id)

    monkeypatch.setattr("oncue.common.store.sleep_s", run_it_meanwhile)
    bench.proxy.cut_reply(call_of(script_name))
    call()
    assert bench.proxy.cuts == 1
    assert runs == [task_id]
    assert bench.app.get(task_id).state == ended


def test_a_call_refused_before_its_reply_was_lost_is_refused_by_its_repetition(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = bench.reserved()
    monkeypatch.setattr("oncue.common.store.sleep_s", lambda seconds: bench.hands.complete(task))
    bench.proxy.cut_reply(call_of("reschedule"))
    with pytest.raises(AlreadyFinal, match="is done already"):
        bench.cut_app.run_now(task.id)
    assert bench.proxy.cuts == 1


def test_a_task_that_has_run_before_the_time_that_it_was_given_was_not_moved(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = bench.app.schedule_task(bench.at(1000), 1)

    def run_it_meanwhile(seconds: float) -> None:
        bench.app.run_now(task_id)
        bench.hands.complete(*bench.hands.reserve())

    monkeypatch.setattr("oncue.common.store.sleep_s", run_it_meanwhile)
    bench.proxy.cut_reply(call_of("reschedule"))
    with pytest.raises(AlreadyFinal, match="is done already"):
        bench.cut_app.reschedule(task_id, bench.at(MINUTE_MS))


def test_what_a_call_was_answered_of_some_tasks_holds_when_it_is_repeated_for_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = bench.app.schedule_task(bench.at(3 * MINUTE_MS + 1000), 1)
    far = bench.app.schedule_task(bench.at(2 * MINUTE_MS + 1000), 2)
    # The page of the second ought to be open by now, so it is opened between two calls for the first and for both.
    bench.clock.pass_ms(MINUTE_MS)

    def run_it_meanwhile(seconds: float) -> None:
        bench.hands.complete(*bench.hands.reserve())

    monkeypatch.setattr("oncue.common.store.sleep_s", run_it_meanwhile)
    bench.proxy.cut_reply(call_of("open_page"))
    answers = bench.cut_app.reschedule_many([near, far], bench.at(0))
    assert bench.proxy.cuts == 1
    assert answers == {near: "moved", far: "moved"}
    assert bench.app.get(near).state == "done"


def test_a_promotion_whose_reply_is_lost_has_moved_its_tasks_once(bench: Bench) -> None:
    for n in range(TIMES):
        bench.app.schedule_task(bench.at(1000), n)
        bench.clock.pass_ms(1000)
        bench.is_lost("promote", bench.cut_passes)
        bench.cut_passes()
        bench.passes()
        (task,) = bench.hands.reserve()
        assert (task.data, task.attempt) == (n, 1)
        bench.hands.complete(task)
    assert bench.counts() == {"done": TIMES + 1}


def test_a_reservation_whose_reply_is_lost_comes_back_when_its_lease_ends(bench: Bench) -> None:
    for n in range(TIMES):
        bench.app.schedule_task(bench.at(-1), n)
        bench.is_lost("reserve", bench.cut_hands.reserve)
        assert bench.cut_hands.reserve() == []
        bench.clock.pass_ms(LEASE_MS)
        bench.passes()
        (task,) = bench.cut_hands.reserve()
        assert (task.data, task.attempt, task.lost) == (n, 2, 1)
        bench.hands.complete(task)
    assert bench.counts() == {"done": TIMES + 1}


def test_a_completion_whose_reply_is_lost_counts_once(bench: Bench) -> None:
    for _ in range(TIMES):
        task = bench.reserved()
        bench.is_lost("complete", lambda task=task: bench.cut_hands.complete(task))  # type: ignore[misc]
        assert bench.cut_hands.complete(task) == [1]
    assert bench.counts() == {"done": TIMES + 1}


def test_a_retry_whose_reply_is_lost_counts_once(bench: Bench) -> None:
    for _ in range(TIMES):
        task = bench.reserved()
        due_ms = bench.clock.ms + 1000
        bench.is_lost("retry", lambda task=task, due_ms=due_ms: bench.cut_hands.retry(task, due_ms))  # type: ignore[misc]
        assert bench.cut_hands.retry(task, due_ms) == 1
        bench.clock.pass_ms(1000)
        bench.passes()
        (again,) = bench.hands.reserve()
        assert (again.id, again.failed, again.attempt) == (task.id, 1, 2)
        bench.hands.complete(again)
    assert bench.counts() == {"done": TIMES + 1}


def test_a_burial_and_a_release_whose_replies_are_lost_count_once(bench: Bench) -> None:
    for _ in range(TIMES // 2):
        task = bench.reserved()
        bench.is_lost("release", lambda task=task: bench.cut_hands.release(task))  # type: ignore[misc]
        assert bench.cut_hands.release(task) == [1]
        (again,) = bench.hands.reserve()
        assert again.attempt == 1
        bench.is_lost("bury", lambda again=again: bench.cut_hands.bury(again))  # type: ignore[misc]
        assert bench.cut_hands.bury(again) == 1
    assert bench.counts() == {"done": 1, "dead": TIMES // 2}


def test_a_tick_whose_reply_is_lost_makes_one_task(bench: Bench) -> None:
    apply(bench.direct, [ScheduleConfig("beat", "* * * * *", "UTC", "default", None)], "test")
    ids = set()
    for n in range(1, TIMES + 1):
        bench.clock.ms = START_MS + n * MINUTE_MS
        bench.is_lost("fire", bench.cut_passes)
        bench.cut_passes()
        bench.passes()
        (task,) = bench.hands.reserve()
        assert task.planned_at == task.due
        ids.add(task.id)
        bench.hands.complete(task)
    assert len(ids) == TIMES
    assert bench.counts() == {"done": TIMES + 1}


@pytest.fixture
def sharded(valkey: RedisServer, namespace: str) -> Iterator[Bench]:
    """Two shards, and an hourly schedule in that of the queue "default"."""
    clock = FixedClock()
    with (
        Proxy(valkey.url) as proxy,
        opened(proxy, namespace, shards=2, clock=clock) as cut,
        opened(valkey, namespace, shards=2, clock=clock) as direct,
    ):
        direct.link.node(b"x").script_load(script("trigger").text)
        found = Bench(proxy, cut, direct, clock)
        found.app.schedules.create("report", cron="0 * * * *", overlap="allow")
        yield found


def edited(bench: Bench) -> None:
    bench.app.schedules.change("report", data=1)


def removed(bench: Bench) -> None:
    bench.app.schedules.remove("report")


def moved(bench: Bench) -> None:
    bench.app.schedules.change("report", queue=queue_elsewhere(bench.direct))


def unchanged(bench: Bench) -> None:
    """Nothing has happened to the schedule."""


@pytest.mark.parametrize("meanwhile", [edited, removed, moved, unchanged])
@pytest.mark.parametrize("ended", ["ready", "done"])
def test_a_trigger_whose_reply_is_lost_makes_one_task_whatever_becomes_of_its_schedule(
    sharded: Bench, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Bench], None], ended: str
) -> None:
    before = sharded.counts()

    def pause(seconds: float) -> None:
        meanwhile(sharded)
        if ended == "done":
            sharded.hands.complete(*sharded.hands.reserve())

    monkeypatch.setattr("oncue.common.store.sleep_s", pause)
    sharded.proxy.cut_reply(call_of("trigger"))
    task = sharded.cut_app.schedules.trigger("report")
    assert sharded.proxy.cuts == 1
    assert sharded.app.get(task).state == ended
    assert sum(sharded.counts().values()) == sum(before.values()) + 1
    assert sharded.app.schedules.get("report").triggered == 1


@pytest.mark.parametrize("meanwhile", [edited, removed, moved, unchanged])
@pytest.mark.parametrize("ended", ["ready", "done"])
@pytest.mark.parametrize("forced", [False, True])
def test_a_backfill_whose_reply_is_lost_counts_what_it_has_made_and_makes_it_once(
    sharded: Bench,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: Callable[[Bench], None],
    ended: str,
    forced: bool,
) -> None:
    hour_s = 3600
    (before,) = sharded.app.schedules.backfill("report", sharded.at(-1) - hour_s, sharded.at(-1)).made
    sharded.hands.complete(*sharded.hands.reserve())
    known = sharded.counts()

    def pause(seconds: float) -> None:
        meanwhile(sharded)
        if ended == "done":
            sharded.hands.complete(*sharded.hands.reserve())

    monkeypatch.setattr("oncue.common.store.sleep_s", pause)
    sharded.proxy.cut_reply(call_of("trigger"))
    start = sharded.at(-1) - 3 * hour_s
    found = sharded.cut_app.schedules.backfill("report", start, sharded.at(-1), forced=forced)
    assert sharded.proxy.cuts == 1
    assert found.there == ([] if forced else [before])
    assert len(found.made) == (3 if forced else 2)
    assert {sharded.app.get(task).state for task in found.made} == {ended}
    assert sum(sharded.counts().values()) == sum(known.values()) + len(found.made)
    assert sharded.app.schedules.get("report").backfilled == 1 + len(found.made)


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("became", ["blocked", "cancelled"])
def test_a_backfill_whose_reply_is_lost_brings_nothing_back_that_was_cancelled_meanwhile(
    sharded: Bench, monkeypatch: pytest.MonkeyPatch, became: str, forced: bool
) -> None:
    sharded.app.schedules.change("report", overlap="queue")
    sharded.app.schedules.trigger("report")
    sharded.hands.reserve()
    ids = [tick_id("report", START_MS - n * HOUR_MS) for n in (2, 1)]

    def pause(seconds: float) -> None:
        if became == "cancelled":
            sharded.app.cancel_many(ids)

    monkeypatch.setattr("oncue.common.store.sleep_s", pause)
    sharded.proxy.cut_reply(call_of("trigger"))
    start = (START_MS - 2 * HOUR_MS) / 1000
    found = sharded.cut_app.schedules.backfill("report", start, sharded.at(-1), forced=forced)
    assert sharded.proxy.cuts == 1
    assert (found.made, found.there) == (ids, [])
    assert {sharded.app.get(task).state for task in ids} == {became}
    assert sharded.app.schedules.get("report").backfilled == 2


def test_with_replies_lost_everywhere_at_once_each_task_runs_once(
    valkey: RedisServer, namespace: str
) -> None:
    """Threads of their own, under the real clock; what a lost reservation took comes back after its lease of 4 s."""
    runs: Counter[str] = Counter()
    lock = threading.Lock()

    def handler(task: Task) -> None:
        with lock:
            runs[task.id] += 1
        if task.data % 3 == 0 and task.failed == 0:
            raise ValueError("once more")

    with Proxy(valkey.url) as proxy, opened(proxy, namespace) as store:
        app: App = app_on(store)
        policies = {"default": RetryPolicy(first_s=0.05, jitter=0)}
        settings = {"schedulers": 2, "workers": 2, "lease_ms": 4000, "policies": policies}
        with running(store, handlers={"default": handler}, **settings):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            proxy.cut_reply(command("EVALSHA"), times=60)
            now = store.now_ms("default")
            ids = [app.schedule_task((now + 5 * n) / 1000, n, id=f"n{n}") for n in range(300)]
            eventually(lambda: store.counts()["default"].get("done") == 300, 60, "300 done")
        assert proxy.cuts == 60
        assert counts(store) == {"done": 300}
    assert runs == {task_id: 1 + (n % 3 == 0) for n, task_id in enumerate(ids)}
