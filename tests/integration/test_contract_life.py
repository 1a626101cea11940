"""Another time, another end: tasks rescheduled, cancelled while they run, given back, expired; and the dead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from oncue import AlreadyFinal, App, BadInput, Cancelled, LeaseLost, NewTask, NotFound, Task, WrongState
from oncue.common import waiting
from oncue.common.store import Store
from tests.support.product import (
    LEASE_MS,
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


# ---- the dead


def bury(app: App, worker: Hands, *queues: str, error: Exception | None = None) -> list[str]:
    ids = [app.schedule_task(None, queue, queue) for queue in queues]
    for task in worker.reserve():
        assert worker.bury(task, error or ValueError("no"))
    return ids


def test_the_dead_are_listed_in_pages_newest_or_oldest_first(
    app: App, clock: FixedClock, hands: MakeHands
) -> None:
    worker, queues = hands("a", "b", "c"), ("a", "b", "c")
    buried: list[str] = []
    for n in range(30):
        buried += bury(app, worker, queues[n % 3])
        clock.pass_ms(1)
    for newest, wanted in ((True, buried[::-1]), (False, buried)):
        seen, cursor = list[str](), None
        while True:
            tasks, cursor = app.dead.list(newest_first=newest, limit=7, cursor=cursor)
            seen += [task.id for task in tasks]
            if cursor is None:
                break
        assert seen == wanted
    (first, *_), _ = app.dead.list(queue="b")
    assert (first.queue, first.data, first.state) == ("b", "b", "dead")
    assert first.error is not None
    assert first.error["type"] == "ValueError"
    assert "ValueError: no" in first.error["traceback"]
    assert len(app.dead.list(from_ts=at(10), to_ts=at(19)).tasks) == 10
    assert app.dead.list(error="KeyError") == ([], None)
    with pytest.raises(BadInput):
        app.dead.list(cursor="nonsense")


def test_a_dead_task_shows_the_history_of_its_failures(app: App, clock: FixedClock, hands: MakeHands) -> None:
    worker = hands()
    app.schedule_task(None, 1, id="it")
    for n in range(3):
        (task,) = worker.reserve()
        worker.retry(task, clock.ms, ValueError(f"try {n}"))
    (task,) = worker.reserve()
    worker.bury(task, KeyError("last"))
    shown = app.dead.get("it")
    assert [failure["type"] for failure in shown.history] == ["KeyError", *["ValueError"] * 3]
    assert shown.history[0] == shown.error
    app.schedule_task(at(5), 1, id="waits")
    with pytest.raises(WrongState, match="delayed, not dead"):
        app.dead.get("waits")


def test_redriven_tasks_run_as_new_ones(app: App, store: Store, clock: FixedClock, hands: MakeHands) -> None:
    worker = hands("a", "b", "c")
    one, *_ = bury(app, worker, "a", "a", "b", "c")
    app.dead.redrive(one)
    (again,) = worker.reserve()
    assert (again.id, again.attempt, again.failed, again.data) == (one, 1, 0, "a")
    worker.complete(again)
    with pytest.raises(WrongState, match="done, not dead"):
        app.dead.redrive(one)
    with pytest.raises(NotFound):
        app.dead.redrive("never")
    bury(app, worker, "a", error=KeyError("other"))
    assert app.dead.redrive_many(queue="a", error="ValueError") == 1
    seen: list[int] = []
    assert app.dead.redrive_many(progress=seen.append) == 3
    assert seen[-1] == 3
    assert len(worker.reserve()) == 4
    assert app.dead.list() == ([], None)


def test_what_dies_again_meanwhile_is_not_redriven_for_ever(
    app: App, clock: FixedClock, hands: MakeHands
) -> None:
    worker = hands()
    app.schedule_many([NewTask(None, n) for n in range(250)])

    def bury_all(_: int = 0) -> None:
        clock.pass_ms(1)
        for task in [*worker.reserve(), *worker.reserve(), *worker.reserve()]:
            worker.bury(task)

    bury_all()
    assert app.dead.redrive_many(progress=bury_all) == 250
    assert len(app.dead.list(limit=1000).tasks) == 250


def test_redriving_into_another_queue_of_the_shard(app: App, store: Store, hands: MakeHands) -> None:
    names = [f"q{n}" for n in range(20)]
    near = [name for name in names if store.shard(name) is store.shard("a")]
    far = [name for name in names if store.shard(name) is not store.shard("a")]
    worker = hands("a", near[0])
    (task_id,) = bury(app, worker, "a")
    for name in far[:1]:
        with pytest.raises(BadInput, match="another shard"):
            app.dead.redrive(task_id, name)
    app.dead.redrive(task_id, near[0])
    (task,) = worker.reserve()
    assert (task.id, task.queue, task.data) == (task_id, near[0], "a")
    worker.complete(task)
    assert counts(store, "a") == {}
    assert counts(store, near[0]) == {"done": 1}


def test_nothing_is_redriven_where_one_of_many_lives_in_another_shard_than_the_queue(
    app: App, store: Store, hands: MakeHands
) -> None:
    names = [f"q{n}" for n in range(20)]
    worker = hands(*names)
    dead = bury(app, worker, *names, *names)
    others = [name for name in names if store.shard(name) is not store.shard("q0")]
    if others:
        for call in (
            lambda: app.dead.redrive_ids(dead, "q0"),
            lambda: app.dead.redrive_many(to_queue="q0"),
            lambda: app.dead.redrive_many(queue=others[-1], to_queue="q0"),
        ):
            with pytest.raises(BadInput, match="another shard than task .* nothing was redriven"):
                call()
        assert len(app.dead.list(limit=1000).tasks) == len(dead)
    near = [name for name in names if name not in others]
    assert app.dead.redrive_many(queue=near[-1], to_queue="q0") == 2
    mine = [task.id for task in app.dead.list(limit=1000).tasks if task.queue in near]
    assert set(app.dead.redrive_ids(mine, "q0").values()) == {"redriven"}
    assert counts(store, "q0").get("ready") == 2 * len(near)


def test_many_dead_are_redriven_or_purged_by_id_with_an_answer_for_each(
    app: App, clock: FixedClock, hands: MakeHands
) -> None:
    worker = hands("a", "b", "c")
    dead = [task_id for _ in range(9) for task_id in bury(app, worker, *"abc" * 25)]
    waits, late = app.schedule_task(None, 1, "a"), app.schedule_task(at(900), 1, "b")
    (running,) = worker.reserve(1)
    assert running.id == waits
    others = {waits: "leased", late: "delayed", "never": "unknown"}
    seen: list[int] = []
    clock.pass_ms(1)
    answers = app.dead.redrive_ids([*dead[:350], *others, dead[0]], progress=seen.append)
    assert answers == {**dict.fromkeys(dead[:350], "redriven"), **others}
    assert seen == [100, 200, 300, 353]
    clock.pass_ms(1)
    assert app.dead.redrive_ids(dead[:1]) == {dead[0]: "ready"}
    answers = app.dead.purge_ids([*dead[349:], *others], progress=seen.append)
    assert answers == {dead[349]: "ready", **dict.fromkeys(dead[350:], "purged"), **others}
    assert app.dead.purge_ids(dead[-2:]) == dict.fromkeys(dead[-2:], "purged")
    assert app.dead.redrive_ids(dead[-1:]) == {dead[-1]: "cancelled"}
    assert app.dead.list() == ([], None)
    with pytest.raises(BadInput, match="is not a task id"):
        app.dead.purge_ids([*dead, "no id"])


def test_a_task_that_dies_while_it_is_asked_for_is_purged_all_the_same(
    app: App, hands: MakeHands, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, locate = hands(), waiting.locate
    task_id = app.schedule_task(None, 1)
    (task,) = worker.reserve()

    def after_its_death(*asked: Any) -> Any:
        worker.bury(task)
        return locate(*asked)

    monkeypatch.setattr("oncue.common.deadcalls.waiting.locate", after_its_death)
    app.dead.purge(task_id)
    monkeypatch.undo()
    assert (app.get(task_id).state, app.get(task_id).reason) == ("cancelled", "purged")


def test_purged_tasks_count_as_cancelled(app: App, store: Store, hands: MakeHands) -> None:
    worker = hands("a")
    ids = bury(app, worker, *["a"] * 5)
    app.dead.purge(ids[0])
    app.dead.purge(ids[0])
    assert (app.get(ids[0]).state, app.get(ids[0]).reason) == ("cancelled", "purged")
    assert app.dead.purge_many(queue="a") == 4
    assert counts(store, "a") == {"cancelled": 5}
    with pytest.raises(NotFound):
        app.dead.purge("never")
    app.schedule_task(at(LEASE_MS), 1, id="waits")
    with pytest.raises(WrongState):
        app.dead.purge("waits")
