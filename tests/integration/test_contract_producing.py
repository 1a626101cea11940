"""Producers: what has been scheduled is there once, can be looked up and can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from oncue import App, BadInput, NewTask, NotFound, WrongState
from oncue.common.store import Store
from tests.support.product import DAY_MS, MINUTE_MS, START_MS, FixedClock, Hands, Passes, app_on, at, counts

PLACES = {"ready": -1000, "timetable": 30_000, "page": 10 * MINUTE_MS, "far page": 400 * DAY_MS}
"""How far ahead a task goes into each of the places where tasks wait."""


@pytest.mark.parametrize("offset_ms", PLACES.values(), ids=PLACES)
def test_a_scheduled_task_is_known_with_all_that_was_given(app: App, offset_ms: int) -> None:
    task_id = app.schedule_task(at(offset_ms), {"to": ["a", "b"]}, queue="emails", priority=8)
    found = app.get(task_id)
    assert (found.id, found.queue, found.priority, found.data) == (task_id, "emails", 8, {"to": ["a", "b"]})
    assert found.due == datetime.fromtimestamp(at(offset_ms), UTC)
    assert found.state == ("ready" if offset_ms <= 0 else "delayed")
    assert (found.attempts, found.failed, found.lost, found.error) == (0, 0, 0, None)


@pytest.mark.parametrize("offset_ms", PLACES.values(), ids=PLACES)
def test_the_same_call_again_leaves_one_task(app: App, store: Store, offset_ms: int) -> None:
    for _ in range(3):
        assert app.schedule_task(at(offset_ms), "first", id="mine") == "mine"
    app.schedule_task(at(offset_ms + 5), "another due time and other data", id="mine")
    assert sum(store.counts()["default"].values()) == 1
    assert app.get("mine").data == "first"


def test_one_call_with_the_same_id_twice_leaves_one_task(app: App, store: Store) -> None:
    app.schedule_many([NewTask(at(50), n, id="mine") for n in range(2)])
    assert store.counts() == {"default": {"delayed": 1}}
    assert app.get("mine").data == 0


@pytest.mark.parametrize("offset_ms", PLACES.values(), ids=PLACES)
def test_a_cancelled_task_never_runs(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: Callable[..., Hands], offset_ms: int
) -> None:
    app.schedule_task(at(offset_ms), 1, id="mine")
    assert app.cancel("mine") is True
    assert app.cancel("mine") is True  # a repeated call, as after a lost reply
    assert app.get("mine").state == "cancelled"
    clock.pass_ms(max(0, offset_ms) + 1)
    passes()
    assert hands().reserve() == []
    assert counts(store) == {"cancelled": 1}


def test_cancelling_says_when_it_is_too_late(app: App, hands: Callable[..., Hands]) -> None:
    worker = hands()
    for name in ("running", "done", "dead"):
        app.schedule_task(at(-1), 1, id=name)
    tasks = {task.id: task for task in worker.reserve()}
    worker.complete(tasks["done"])
    worker.bury(tasks["dead"])
    for name, state in (("running", "leased"), ("done", "done"), ("dead", "dead")):
        assert app.cancel(name) is False
        assert app.get(name).state == state


def test_what_never_was_is_not_found(app: App) -> None:
    for look in (app.get, app.cancel):
        with pytest.raises(NotFound, match="there is no task nobody"):
            look("nobody")


@pytest.mark.parametrize("end", ["done", "cancelled"])
def test_an_id_of_the_callers_choice_may_be_used_again_after_its_task_has_ended(
    app: App, hands: Callable[..., Hands], end: str
) -> None:
    worker = hands()
    for n in range(3):
        app.schedule_task(at(-1), n, id="daily")
        if end == "cancelled":
            assert app.cancel("daily")
        else:
            (task,) = worker.reserve()
            assert task.data == n
            assert worker.complete(task) == [1]
        assert app.get("daily").state == end
    app.schedule_task(at(20 * MINUTE_MS), "later", id="daily")
    assert app.get("daily").state == "delayed"
    assert worker.reserve() == []


def test_the_id_of_a_dead_task_is_refused(app: App, hands: Callable[..., Hands]) -> None:
    worker = hands()
    app.schedule_task(at(-1), 1, id="mine")
    (task,) = worker.reserve()
    worker.bury(task)
    with pytest.raises(WrongState, match="mine is among the dead"):
        app.schedule_task(at(0), 2, id="mine")
    assert app.get("mine").data == 1


def test_an_ended_task_is_forgotten_after_a_while_and_its_memory_given_back(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: Callable[..., Hands]
) -> None:
    worker = hands()
    app.schedule_task(at(-1), 1, id="done")
    worker.complete(*worker.reserve())
    app.schedule_task(at(-1), 1, id="cancelled")
    app.cancel("cancelled")
    clock.pass_ms(store.keep_finished_ms - 1)
    passes()
    assert app.get("done").state == "done"
    clock.pass_ms(6000)
    passes()
    for name in ("done", "cancelled"):
        with pytest.raises(NotFound):
            app.get(name)


def test_many_tasks_go_out_in_one_call_in_order_with_ids_of_both_kinds(app: App, store: Store) -> None:
    tasks = [
        NewTask(at(n * 777), n, queue="ab"[n % 2], id=f"n{n}" if n % 3 else None, priority=n % 10)
        for n in range(1200)
    ]
    ids = app.schedule_many(iter(tasks))
    assert [ids[n] for n in (1, 2, 4)] == ["n1", "n2", "n4"]
    assert len(set(ids)) == 1200
    assert {queue: sum(states.values()) for queue, states in store.counts().items()} == {"a": 600, "b": 600}
    assert [app.get(ids[n]).data for n in (0, 599, 1199)] == [0, 599, 1199]


def test_one_wrong_task_among_many_keeps_all_from_being_written(app: App, store: Store) -> None:
    for wrong in (
        NewTask(datetime(2030, 1, 1), 1),
        NewTask(at(1), {1: object()}),
        NewTask(at(1), 1, queue="a:b"),
        NewTask(at(1), 1, id="-x"),
        NewTask(at(1), 1, id=""),
        NewTask(at(1), 1, priority=10),
        NewTask(at(1), 1, priority=True),
    ):
        with pytest.raises(BadInput):
            app.schedule_many([NewTask(at(1), 1), wrong])
    assert store.counts() == {}


@pytest.mark.parametrize("data", [b"", b"\x00\xff\x80", b"x" * 70_000], ids=["none", "binary", "long"])
def test_bytes_are_kept_as_they_are(app: App, hands: Callable[..., Hands], data: bytes) -> None:
    app.schedule_task(at(-1), data, id="raw")
    assert app.get("raw").data == data
    (task,) = hands().reserve()
    assert task.data == data


def test_data_over_the_limit_is_refused_and_data_at_the_limit_is_not(store: Store) -> None:
    app = app_on(store, max_data_bytes=1000)
    app.schedule_task(at(1), b"x" * 1000, id="at-the-limit")
    for over in (b"x" * 1001, "x" * 999):
        with pytest.raises(BadInput, match="has 1001 bytes, the limit is 1000"):
            app.schedule_task(at(1), over)


def test_now_is_the_time_of_the_server(app: App, clock: FixedClock) -> None:
    clock.pass_ms(123)
    found = app.get(app.schedule_task(None, 1))
    assert found.state == "ready"
    assert found.due == datetime.fromtimestamp((START_MS + 123) / 1000, UTC)
