"""A reply that is lost on its way (P19): the server has done it, the caller does it again, and it counts once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from oncue import AlreadyFinal, App, LeaseLost, Task
from oncue.common.configtypes import ScheduleConfig
from oncue.common.retry import RetryPolicy
from oncue.scheduler.schedules import apply
from oncue.worker.grip import Grip
from oncue.worker.hand import Hand
from tests.integration.lost_replies import LEASE_MS, Bench
from tests.support.product import MINUTE_MS, START_MS, FixedClock, app_on, counts, opened, running
from tests.support.proxy import Proxy, call_of, command
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

TIMES = 100


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
    bench: Bench,
) -> None:
    def run_it_meanwhile() -> None:
        bench.hands.complete(*bench.hands.reserve())

    for id in (None, "mine"):
        with bench.is_repeated("schedule", run_it_meanwhile):
            bench.cut_app.schedule_task(bench.at(-1), 1, id=id)
    assert bench.counts() == {"done": 3}


def test_a_release_repeated_after_another_worker_has_taken_the_task_has_released_it(
    bench: Bench,
) -> None:
    task, taken = bench.reserved(), list[Task]()
    task.hold_by(Grip(bench.cut_app.store, Hand(1)))
    with bench.is_repeated("release", lambda: taken.extend(bench.hands.reserve())):
        task.release()
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
    made: Callable[[Bench], tuple[str, str, Callable[[], object]]],
    ended: str,
    clock_moves_ms: int,
) -> None:
    script_name, task_id, call = made(bench)
    runs: list[str] = []

    def run_it_meanwhile() -> None:
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

    with bench.is_repeated(script_name, run_it_meanwhile):
        call()
    assert runs == [task_id]
    assert bench.app.get(task_id).state == ended


def test_a_call_refused_before_its_reply_was_lost_is_refused_by_its_repetition(
    bench: Bench,
) -> None:
    task = bench.reserved()
    with (
        bench.is_repeated("reschedule", lambda: bench.hands.complete(task)),
        pytest.raises(AlreadyFinal, match="is done already"),
    ):
        bench.cut_app.run_now(task.id)


def test_a_task_that_has_run_before_the_time_that_it_was_given_was_not_moved(
    bench: Bench,
) -> None:
    task_id = bench.app.schedule_task(bench.at(1000), 1)

    def run_it_meanwhile() -> None:
        bench.app.run_now(task_id)
        bench.hands.complete(*bench.hands.reserve())

    with (
        bench.is_repeated("reschedule", run_it_meanwhile),
        pytest.raises(AlreadyFinal, match="is done already"),
    ):
        bench.cut_app.reschedule(task_id, bench.at(MINUTE_MS))


def test_what_a_call_was_answered_of_some_tasks_holds_when_it_is_repeated_for_others(
    bench: Bench,
) -> None:
    near = bench.app.schedule_task(bench.at(3 * MINUTE_MS + 1000), 1)
    far = bench.app.schedule_task(bench.at(2 * MINUTE_MS + 1000), 2)
    # The page of the second ought to be open by now, so it is opened between two calls for the first and for both.
    bench.clock.pass_ms(MINUTE_MS)

    def run_it_meanwhile() -> None:
        bench.hands.complete(*bench.hands.reserve())

    with bench.is_repeated("open_page", run_it_meanwhile):
        answers = bench.cut_app.reschedule_many([near, far], bench.at(0))
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
