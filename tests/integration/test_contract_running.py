"""From due to done: promoted at the instant, reserved by priority and share, answered once under a lease."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncue import App, NewTask, Task
from oncue.common.keys import page_of
from oncue.common.pages import open_step
from oncue.common.store import Store
from tests.support.product import MINUTE_MS, START_MS, FixedClock, Hands, Passes, at, counts

MakeHands = Callable[..., Hands]


def test_a_task_is_ready_at_its_instant_and_not_a_millisecond_before(
    app: App, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands()
    app.schedule_task(at(5000), "now")
    assert passes() == START_MS + 5000
    clock.pass_ms(4999)
    assert passes() == START_MS + 5000
    assert worker.reserve() == []
    clock.pass_ms(1)
    passes()
    (task,) = worker.reserve()
    assert (task.data, task.due_ms, task.attempt) == ("now", START_MS + 5000, 1)


def test_a_task_of_the_far_future_comes_through_its_page_to_the_millisecond(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands()
    due = 90 * MINUTE_MS + 12_345
    app.schedule_task(at(due), "far")
    clock.ms = passes() or 0
    assert clock.ms == START_MS + 89 * MINUTE_MS  # a page ahead, its page is opened
    assert passes() == START_MS + due
    clock.ms = START_MS + due - 1
    passes()
    assert worker.reserve() == []
    assert counts(store) == {"delayed": 1}
    clock.pass_ms(1)
    passes()
    assert [task.data for task in worker.reserve()] == ["far"]


@pytest.mark.parametrize("number", [1, 8, 9, 64, 65, 700])
@pytest.mark.parametrize("offset_ms", [30_000, 10 * MINUTE_MS], ids=["timetable", "page"])
def test_any_number_of_tasks_of_one_instant_becomes_ready_together(
    app: App,
    store: Store,
    clock: FixedClock,
    passes: Passes,
    hands: MakeHands,
    number: int,
    offset_ms: int,
) -> None:
    ids = app.schedule_many([NewTask(at(offset_ms), n) for n in range(number)])
    while (instant := passes()) is not None and instant < START_MS + offset_ms:
        clock.ms = instant
    assert counts(store) == {"delayed": number}
    clock.ms = START_MS + offset_ms
    passes()
    assert counts(store) == {"ready": number}
    worker, taken = hands(), []
    while tasks := worker.reserve():
        taken += tasks
    assert sorted(task.id for task in taken) == sorted(ids)
    assert counts(store) == {"leased": number}
    assert set(worker.complete(*taken)) == {1}
    assert counts(store) == {"done": number}


def test_the_highest_band_comes_first_and_equal_ones_in_order(app: App, hands: MakeHands) -> None:
    for n, band in enumerate([0, 5, 9, 5, 0, 9]):
        app.schedule_task(at(-1), n, priority=band)
    worker = hands()
    order = [task.data for _ in range(6) for task in worker.reserve(1)]
    assert order == [2, 5, 1, 3, 0, 4]


def test_a_worker_takes_only_from_its_own_queues(app: App, store: Store, hands: MakeHands) -> None:
    for queue in ("a", "b", "c"):
        app.schedule_task(at(-1), queue, queue=queue)
    assert sorted(task.data for task in hands("a", "c").reserve()) == ["a", "c"]
    assert counts(store, "b") == {"ready": 1}


def test_a_lone_call_takes_no_more_than_was_asked_for(app: App, hands: MakeHands) -> None:
    app.schedule_many([NewTask(at(-1), n) for n in range(10)])
    worker = hands()
    assert [len(worker.reserve(most)) for most in (3, 4, 100, 100)] == [3, 4, 3, 0]


def test_a_failed_task_waits_keeps_its_error_and_comes_again(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands()
    app.schedule_task(at(-1), 1, id="mine")
    (task,) = worker.reserve()
    assert worker.retry(task, START_MS + 1000, KeyError("which")) == 1
    found = app.get("mine")
    assert (found.state, found.attempts, found.failed) == ("delayed", 1, 1)
    assert found.error is not None
    assert (found.error["type"], found.error["message"]) == ("KeyError", "'which'")
    clock.pass_ms(999)
    passes()
    assert worker.reserve() == []
    clock.pass_ms(1)
    passes()
    (again,) = worker.reserve()
    assert (again.attempt, again.failed, again.due_ms) == (2, 1, START_MS + 1000)
    assert again.token != task.token
    assert worker.complete(again) == [1]
    assert app.get("mine").error is None
    assert counts(store) == {"done": 1}


@pytest.mark.parametrize("delay_ms", [0, 500, 3 * MINUTE_MS], ids=["at once", "soon", "a page ahead"])
def test_a_retry_may_be_due_at_any_distance(
    app: App, clock: FixedClock, passes: Passes, hands: MakeHands, delay_ms: int
) -> None:
    worker = hands()
    app.schedule_task(at(-1), 1)
    (task,) = worker.reserve()
    assert worker.retry(task, START_MS + delay_ms) == 1
    while (instant := passes()) is not None and instant <= START_MS + delay_ms:
        clock.ms = max(clock.ms, instant)
        if clock.ms == START_MS + delay_ms:
            break
    clock.ms = START_MS + delay_ms
    passes()
    assert [task.attempt for task in worker.reserve()] == [2]


def test_a_retry_can_be_cancelled_and_gives_everything_back(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands()
    app.schedule_task(at(-1), 1, id="mine")
    (task,) = worker.reserve()
    worker.retry(task, START_MS + 5 * MINUTE_MS)
    assert app.cancel("mine")
    assert counts(store) == {"cancelled": 1}
    clock.pass_ms(6 * MINUTE_MS)
    passes()
    assert worker.reserve() == []


def test_a_buried_task_is_dead_with_its_error_and_traceback(app: App, store: Store, hands: MakeHands) -> None:
    worker = hands()
    app.schedule_task(at(-1), {"n": 1}, id="mine")
    (task,) = worker.reserve()
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("out of luck")
    assert worker.bury(task, caught.value) == 1
    found = app.get("mine")
    assert (found.state, found.data, found.failed) == ("dead", {"n": 1}, 1)
    assert found.error is not None
    assert (found.error["type"], found.error["message"]) == ("RuntimeError", "out of luck")
    assert 'raise RuntimeError("out of luck")' in found.error["traceback"]
    assert found.error["at_ms"] == START_MS
    assert counts(store) == {"dead": 1}
    assert worker.reserve() == []


def test_a_released_task_is_ready_again_in_front_as_if_never_taken(app: App, hands: MakeHands) -> None:
    worker = hands()
    app.schedule_many([NewTask(at(-1), n) for n in range(3)])
    first, second = worker.reserve(2)
    assert worker.release(second, first) == [1, 1]
    again = worker.reserve(3)
    assert [(task.data, task.attempt) for task in again] == [(0, 1), (1, 1), (2, 1)]


def test_a_renewed_lease_lasts_and_one_that_is_not_renewed_is_lost(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands(lease_ms=2000)
    app.schedule_task(at(-1), 1, id="mine")
    (task,) = worker.reserve()
    for _ in range(5):
        clock.pass_ms(1500)
        assert worker.renew(task) == [1]
        passes()
    assert app.get("mine").state == "leased"
    clock.pass_ms(1999)
    passes()
    assert app.get("mine").state == "leased"
    clock.pass_ms(1)
    passes()
    found = app.get("mine")
    assert (found.state, found.lost, found.failed) == ("ready", 1, 0)
    (again,) = worker.reserve()
    assert (again.attempt, again.lost) == (2, 1)


ANSWERS: dict[str, Callable[[Hands, Task], object]] = {
    "complete": lambda worker, task: worker.complete(task)[0],
    "renew": lambda worker, task: worker.renew(task)[0],
    "release": lambda worker, task: worker.release(task)[0],
    "retry": lambda worker, task: worker.retry(task, START_MS + 9000),
    "bury": lambda worker, task: worker.bury(task),
}


@pytest.mark.parametrize("reserved_again", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_under_a_lost_lease_changes_nothing_and_says_so(
    app: App,
    store: Store,
    clock: FixedClock,
    passes: Passes,
    hands: MakeHands,
    answer: str,
    reserved_again: bool,
) -> None:
    late = hands(lease_ms=2000)
    app.schedule_task(at(-1), 1, id="mine")
    (task,) = late.reserve()
    clock.pass_ms(2000)
    passes()
    current = hands().reserve() if reserved_again else []
    before = app.get("mine"), counts(store)
    assert ANSWERS[answer](late, task) == 0
    assert (app.get("mine"), counts(store)) == before
    assert hands().complete(*(current or hands().reserve())) == [1]


@pytest.mark.parametrize("answer", ["complete", "retry", "bury", "release"])
def test_an_answer_given_twice_counts_once_and_is_confirmed_twice(
    app: App, store: Store, hands: MakeHands, answer: str
) -> None:
    worker = hands()
    app.schedule_task(at(-1), 1, id="mine")
    (task,) = worker.reserve()
    assert ANSWERS[answer](worker, task) == 1
    before = app.get("mine"), counts(store)
    assert ANSWERS[answer](worker, task) == 1
    assert (app.get("mine"), counts(store)) == before
    assert sum(counts(store).values()) == 1


def test_a_task_that_takes_its_workers_along_time_and_again_ends_among_the_dead(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands(lease_ms=2000)
    app.schedule_task(at(-1), 1, id="mine")
    deliveries = 0
    while worker.reserve():
        deliveries += 1
        clock.pass_ms(2000)
        passes()
    assert deliveries == 6
    found = app.get("mine")
    assert (found.state, found.lost) == ("dead", 6)
    assert found.error is not None
    assert "died or hung 6 times" in found.error["message"]
    assert counts(store) == {"dead": 1}


def test_two_schedulers_at_the_same_instant_promote_once(
    app: App, store: Store, clock: FixedClock, hands: MakeHands
) -> None:
    first, second = Passes(store), Passes(store)
    app.schedule_many([NewTask(at(1000 + n % 3), n, queue="abc"[n % 3]) for n in range(300)])
    clock.pass_ms(1005)
    for _ in range(2):
        first()
        second()
    worker, taken = hands("a", "b", "c"), []
    while tasks := worker.reserve():
        taken += tasks
    assert sorted(task.data for task in taken) == list(range(300))
    assert {queue: counts(store, queue) for queue in "abc"} == {queue: {"leased": 100} for queue in "abc"}


@pytest.mark.parametrize("offset_ms", [-1, 30_000], ids=["in the list", "in a segment"])
def test_large_tasks_are_handed_out_in_portions_and_none_is_passed_over(
    app: App, clock: FixedClock, passes: Passes, hands: MakeHands, offset_ms: int
) -> None:
    ids = app.schedule_many([NewTask(at(offset_ms), bytes(300_000)) for _ in range(70)])
    clock.pass_ms(max(0, offset_ms))
    passes()
    worker, portions = hands(), []
    while tasks := worker.reserve():
        portions.append([task.id for task in tasks])
        assert set(worker.complete(*tasks)) == {1}
    assert [task_id for portion in portions for task_id in portion] == ids
    assert max(len(portion) for portion in portions) <= 1 + (1 << 20) // 300_000 + 1


def test_while_a_page_is_half_open_each_of_its_tasks_can_be_cancelled_or_runs(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    page = 10 * MINUTE_MS
    ids = app.schedule_many([NewTask(at(page + n % 900), n, id=f"n{n}") for n in range(900)])
    clock.ms = START_MS + page - MINUTE_MS
    shard = store.shard("default")
    member = b"p%d" % page_of(START_MS + page)
    needs, _ = open_step(shard, member, [])
    open_step(shard, member, needs)
    for task_id in ids[::2]:
        assert app.cancel(task_id) is True
    assert counts(store) == {"delayed": 450, "cancelled": 450}
    clock.ms = START_MS + page + 1000
    passes()
    worker, taken = hands(), []
    while tasks := worker.reserve():
        taken += tasks
    assert sorted(task.id for task in taken) == sorted(ids[1::2])
