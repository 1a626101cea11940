"""Another time, another end: tasks rescheduled, cancelled while they run, given back, expired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event

import pytest

from oncue import AlreadyFinal, App, BadInput, Cancelled, LeaseLost, NewTask, NotFound, Task, WrongState
from oncue.common.store import Store
from tests.support.product import (
    MINUTE_MS,
    START_MS,
    FixedClock,
    Hands,
    Passes,
    app_on,
    at,
    counts,
    opened,
    running,
)
from tests.support.servers import Server
from tests.support.waiting import eventually

MakeHands = Callable[..., Hands]
SEEN_MS = 4500
"""A lease that is renewed, and a cancel seen, after a third of it; and a machine that stands still costs it nothing."""


@pytest.fixture
def real(server: Server, namespace: str) -> Iterator[App]:
    """An app on the server's own clock."""
    with opened(server, namespace, shards=server.shards) as store:
        yield app_on(store)


@pytest.mark.parametrize("to_ms", [-5, 700, 90 * MINUTE_MS])
@pytest.mark.parametrize("from_ms", [-5, 500, 80 * MINUTE_MS])
def test_a_rescheduled_task_runs_at_its_new_time_alone(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands, from_ms: int, to_ms: int
) -> None:
    task_id = app.schedule_task(at(from_ms), "data")
    app.reschedule(task_id, at(to_ms))
    worker, ran = hands(), list[tuple[int, object]]()
    for offset in sorted({0, 1, 499, 500, 699, 700, 80 * MINUTE_MS, 90 * MINUTE_MS - 1, 90 * MINUTE_MS}):
        clock.ms = START_MS + offset
        for _ in range(3):
            passes()
        tasks = worker.reserve()
        ran += [(clock.ms - START_MS, task.data) for task in tasks]
        worker.complete(*tasks)
    assert ran == [(max(0, to_ms), "data")]
    assert counts(store) == {"done": 1}


def test_run_now_makes_any_waiting_task_due(
    app: App, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands()
    for offset in (500, 5 * MINUTE_MS):
        app.run_now(app.schedule_task(at(offset), offset))
    tasks = worker.reserve()
    assert sorted(task.data for task in tasks) == [500, 5 * MINUTE_MS]
    worker.retry(tasks[0], clock.ms + MINUTE_MS)
    app.run_now(tasks[0].id)
    (again,) = worker.reserve()
    assert (again.id, again.failed) == (tasks[0].id, 1)


def test_what_runs_or_has_ended_is_refused_by_name(app: App, hands: MakeHands) -> None:
    worker = hands()
    app.schedule_task(None, 1, id="it")
    (task,) = worker.reserve()
    with pytest.raises(WrongState, match="it is running"):
        app.reschedule("it", at(9))
    worker.complete(task)
    with pytest.raises(AlreadyFinal, match="done"):
        app.run_now("it")
    with pytest.raises(NotFound):
        app.reschedule("never", at(9))
    with pytest.raises(BadInput):
        app.reschedule("it", "tomorrow")


def test_many_are_moved_or_cancelled_in_steps_with_progress(
    app: App, store: Store, clock: FixedClock
) -> None:
    ids = app.schedule_many([NewTask(at(n % 7 * MINUTE_MS + 1000), n, f"q{n % 3}") for n in range(1200)])
    seen: list[int] = []
    assert set(app.reschedule_many([*ids, "never"], at(9 * MINUTE_MS), seen.append).values()) == {
        "moved",
        "unknown",
    }
    assert seen == [500, 1000, 1201]
    assert {app.get(task_id).due for task_id in ids[::300]} == {app.get(ids[0]).due}
    assert set(app.run_now_many(ids[:700], seen.append).values()) == {"moved"}
    assert seen[3:] == [500, 700]
    assert {app.get(task_id).state for task_id in ids[:700:50]} == {"ready"}
    answers = app.cancel_many(ids)
    assert (len(answers), set(answers.values())) == (1200, {"cancelled"})
    assert counts(store, "q1") == {"cancelled": 400}


def test_a_running_task_learns_of_its_cancel_with_the_next_renewal(app: App, hands: MakeHands) -> None:
    worker = hands()
    app.schedule_task(None, 1, id="it")
    (task,) = worker.reserve()
    assert app.cancel("it") is False
    assert (app.get("it").state, app.get("it").reason) == ("leased", "cancel wished")
    assert worker.renew(task) == [2]
    with pytest.raises(WrongState, match="it is running"):
        app.run_now("it")
    worker.retry(task, START_MS + MINUTE_MS)
    assert app.get("it").state == "cancelled"
    with pytest.raises(AlreadyFinal, match="is cancelled already"):
        app.run_now("it")


def test_a_task_is_not_given_a_time_after_its_end_in_time(app: App, clock: FixedClock) -> None:
    task_id = app.schedule_task(at(1000), 1, expires=at(2000))
    with pytest.raises(
        BadInput,
        match=r"expires at 2027-01-15T08:00:02\+00:00 and cannot be given the time 2027-01-15T08:00:03",
    ):
        app.reschedule(task_id, at(3000))
    assert app.reschedule_many([task_id], at(3000)) == {task_id: "expires"}
    app.reschedule(task_id, at(2000))
    clock.pass_ms(2001)
    with pytest.raises(BadInput, match="expires at"):
        app.run_now(task_id)


def test_a_running_task_that_was_cancelled_ends_when_its_handler_fails(real: App) -> None:
    begun, cancelled, runs = Event(), Event(), list[int]()

    def handler(task: Task) -> None:
        runs.append(task.attempt)
        begun.set()
        assert cancelled.wait(20)
        raise ValueError("would be tried again in an hour")

    task_id = real.schedule_task(None, 1, retry={"backoff": "fixed", "first_s": 3600.0})
    with running(real.store, handlers={"default": handler}):
        assert begun.wait(20)
        assert real.cancel(task_id) is False
        cancelled.set()
        eventually(lambda: real.get(task_id).state == "cancelled", 5)
    assert runs == [1]


def test_a_handler_sees_that_it_is_cancelled_and_may_give_its_task_back(real: App) -> None:
    begun, seen = Event(), Event()

    def handler(task: Task) -> None:
        begun.set()
        assert task.cancelled.wait(20)
        seen.set()

    task_id = real.schedule_task(None, 1)
    with running(real.store, handlers={"default": handler}, lease_ms=SEEN_MS):
        assert begun.wait(20)
        assert real.cancel(task_id) is False
        assert seen.wait(20)
        eventually(lambda: real.get(task_id).state == "done")


@pytest.mark.parametrize("raises", [True, False])
def test_a_cancel_interrupts_a_running_handler_that_asks_for_it_and_no_other(real: App, raises: bool) -> None:
    begun, go_on, ended = Event(), Event(), list[str]()

    @real.handler(raise_on_cancel=raises)
    def handler(task: Task) -> None:
        if task.data == "next":
            return
        begun.set()
        try:
            while not go_on.wait(0.01):
                pass
        except Cancelled:
            ended.append("interrupted")
            raise
        ended.append("ran to its end")

    task_id = real.schedule_task(None, 1)
    with running(real.store, handlers=real.handlers, threads=1, lease_ms=SEEN_MS):
        assert begun.wait(20)
        assert real.cancel(task_id) is False
        if not raises:
            eventually(lambda: real.get(task_id).reason == "cancel wished")
            go_on.set()
        eventually(lambda: real.get(task_id).state == ("cancelled" if raises else "done"))
        after = real.schedule_task(None, "next")
        eventually(lambda: real.get(after).state == "done")
    assert ended == ["interrupted" if raises else "ran to its end"]


def test_a_handler_extends_and_releases_its_lease(real: App) -> None:
    attempts: list[int] = []
    refused, done = Event(), Event()

    def handler(task: Task) -> None:
        attempts.append(task.attempt)
        if len(attempts) == 2:
            done.set()
            return
        task.extend(60)
        task.release()
        with pytest.raises(LeaseLost):
            task.extend(60)
        refused.set()

    task_id = real.schedule_task(None, 1)
    with running(real.store, handlers={"default": handler}, threads=1):
        assert refused.wait(20)
        assert done.wait(20)
        eventually(lambda: real.get(task_id).state == "done")
    assert attempts == [1, 1]


def test_by_id_a_lease_is_made_longer_never_shorter_and_stays_with_its_holder(
    app: App, clock: FixedClock, hands: MakeHands, passes: Passes
) -> None:
    worker = hands(lease_ms=2000)
    task_id = app.schedule_task(None, 1)
    with pytest.raises(WrongState, match="is ready: only a running task has a lease"):
        app.extend(task_id, 60)
    (task,) = worker.reserve()
    app.extend(task_id, 60)
    app.extend(task_id, 1)
    clock.pass_ms(59_000)
    passes()
    assert app.get(task_id).state == "leased"
    assert worker.complete(task) == [1]
    with pytest.raises(AlreadyFinal):
        app.extend(task_id, 60)
    with pytest.raises(NotFound):
        app.extend("never", 60)
    with pytest.raises(BadInput):
        app.extend(task_id, 0)


def test_a_lease_that_was_extended_by_id_ends_all_the_same(
    app: App, clock: FixedClock, hands: MakeHands, passes: Passes
) -> None:
    task_id = app.schedule_task(None, 1)
    worker = hands(lease_ms=2000)
    (task,) = worker.reserve()
    app.extend(task_id, 60)
    clock.pass_ms(60_000)
    passes()
    assert app.get(task_id).lost == 1
    (again,) = worker.reserve()
    clock.pass_ms(2000)
    passes()
    assert app.get(task_id).lost == 2
    assert worker.complete(task, again) == [0, 0]


def test_nobody_extends_a_lease_outside_of_a_worker() -> None:
    task = Task("it", "default", 1, 0)
    with pytest.raises(WrongState, match="in no worker's hands"):
        task.extend(5)
    with pytest.raises(BadInput):
        task.extend(0)
