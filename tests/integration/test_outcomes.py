"""What a handler says of its task, on every server: done with a result, again, later, dead, or cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oncue
from oncue import App, RetryPolicy, Task
from oncue.common.errors import NotFound
from oncue.common.store import Store
from oncue.scheduler.loop import Loop
from oncue.worker.inline import InlineWorker
from tests.support.product import START_MS, FixedClock, Hands, Passes, counts

SOON = START_MS / 1000 - 1


def worker(app: App, store: Store, policies: dict[str, RetryPolicy] | None = None) -> InlineWorker:
    return InlineWorker(store, app.handlers, policies)


def test_a_result_can_be_had_for_as_long_as_it_was_asked_for(
    app: App, store: Store, clock: FixedClock, passes: Passes
) -> None:
    app.handler("default", keep_result_s=3600)(lambda task: {"sum": task.data + 1})
    app.schedule_task(SOON, 41, id="mine")
    assert app.get("mine").result is None
    worker(app, store).run_ready()
    assert (app.get("mine").state, app.get("mine").result) == ("done", {"sum": 42})
    clock.pass_ms(120_000)
    passes()
    # The mark of the task is forgotten by now, the result not.
    assert (app.get("mine").state, app.get("mine").result) == ("done", {"sum": 42})
    clock.pass_ms(3_600_000)
    with pytest.raises(NotFound):
        app.get("mine")


def test_an_id_in_use_again_does_not_show_the_result_of_its_former_task(app: App, store: Store) -> None:
    app.handler("default", keep_result_s=3600)(lambda task: "former")
    app.schedule_task(SOON, 1, id="mine")
    worker(app, store).run_ready()
    app.schedule_task(START_MS / 1000 + 60, 2, id="mine")
    assert (app.get("mine").state, app.get("mine").result) == ("delayed", None)


def test_a_snoozed_task_has_not_been_attempted(
    app: App, store: Store, clock: FixedClock, passes: Passes
) -> None:
    seen: list[tuple[int, int]] = []

    @app.handler()
    def handler(task: Task) -> None:
        seen.append((task.attempt, task.failed))
        if len(seen) < 4:
            raise oncue.Snooze(5)

    app.schedule_task(SOON, 1, id="mine")
    work = worker(app, store, {"default": RetryPolicy(max_attempts=1)})
    for _ in range(4):
        work.run_ready()
        clock.pass_ms(5000)
        passes()
    assert seen == [(1, 0)] * 4
    assert counts(store) == {"done": 1}


def test_failures_throttlings_and_lost_leases_are_counted_apart_each_with_its_cap(
    app: App, store: Store, clock: FixedClock, passes: Passes
) -> None:
    answers = [oncue.Throttled(), ValueError("no"), oncue.Throttled(), ValueError("no"), oncue.Throttled()]

    @app.handler()
    def handler(task: Task) -> None:
        raise answers[task.attempt - 1]

    app.schedule_task(SOON, 1, id="mine")
    policy = RetryPolicy(max_attempts=3, max_throttled=2, backoff="fixed", first_s=1, jitter=0)
    work = worker(app, store, {"default": policy})
    for _ in range(4):
        work.run_ready()
        clock.pass_ms(1000)
        passes()
    found = app.get("mine")
    assert (found.state, found.attempts, found.failed, found.throttled, found.lost) == ("ready", 4, 2, 2, 0)
    work.run_ready()
    found = app.get("mine")
    assert (found.state, found.failed, found.throttled) == ("dead", 2, 3)
    assert found.error is not None
    assert found.error["type"] == "Throttled"


def test_immediate_tries_come_at_once_and_then_a_delayed_one(app: App, store: Store) -> None:
    @app.handler(retry={"immediate": 2, "backoff": "fixed", "first_s": 60, "jitter": 0})
    def handler(task: Task) -> None:
        raise ValueError(task.attempt)

    app.schedule_task(SOON, 1, id="mine")
    work = worker(app, store)
    runs = 0
    while work.run_ready():
        runs += 1
    assert runs == 3
    found = app.get("mine")
    assert (found.state, found.failed) == ("delayed", 3)
    assert found.due is not None
    assert found.due.timestamp() == START_MS / 1000 + 60


def test_a_task_may_bring_a_policy_of_its_own(app: App, store: Store) -> None:
    app.handler(retry=RetryPolicy(immediate=50))(_fails)
    app.schedule_task(SOON, 1, id="usual")
    app.schedule_task(SOON, 1, id="once", retry={"max_attempts": 1})
    app.schedule_many([oncue.NewTask(SOON, 1, id="twice", retry=RetryPolicy(max_attempts=2, immediate=9))])
    work = worker(app, store)
    while work.run_ready():
        pass
    assert {id: app.get(id).failed for id in ("usual", "once", "twice")} == {
        "usual": 5,
        "once": 1,
        "twice": 2,
    }
    assert counts(store) == {"dead": 3}


def _fails(task: Task) -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("answer", "state"), [(lambda: oncue.Bury("why"), "dead"), (lambda: oncue.Cancelled(), "cancelled")]
)
def test_a_handler_may_end_its_task_for_good(
    app: App, store: Store, answer: Callable[[], BaseException], state: str
) -> None:
    def handler(task: Task) -> None:
        raise answer()

    app.handler()(handler)
    app.schedule_task(SOON, 1, id="mine")
    worker(app, store).run_ready()
    assert app.get("mine").state == state
    assert counts(store) == {state: 1}


@pytest.mark.parametrize("by", ["scheduler", "worker"])
def test_a_task_may_lose_as_many_leases_as_its_queue_allows(
    app: App, store: Store, clock: FixedClock, hands: Callable[..., Hands], by: str
) -> None:
    """The scheduler goes by its configuration of the queue, and a worker by what handler and task say."""
    app.schedule_task(SOON, 1, id="mine", retry={"max_lost": 1} if by == "worker" else None)
    loops = [Loop(shard, max_lost={"default": 1} if by == "scheduler" else {}) for shard in store.shards]
    lossy = hands(lease_ms=2000)
    ran: list[Any] = []
    for _ in range(2):
        assert len(lossy.reserve()) == 1
        clock.pass_ms(2000)
        for loop in loops:
            loop.survey()
            loop.pass_once()
    InlineWorker(store, {"default": ran.append}).run_ready()
    assert ran == []
    found = app.get("mine")
    assert (found.state, found.lost, found.attempts) == ("dead", 2, 2)
    assert found.error is not None
    assert found.error["type"] == "LeaseLost"
    assert "died or hung 2 times" in found.error["message"]
