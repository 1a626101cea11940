"""The dead: listed, looked at, redriven and purged, one or many of them, with an answer for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oncue import App, BadInput, NewTask, NotFound, WrongState
from oncue.common import waiting
from oncue.common.store import Store
from tests.support.product import LEASE_MS, FixedClock, Hands, at, counts

MakeHands = Callable[..., Hands]


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
