"""Batch handlers: whole batches in one call, an answer for each task, and no failure that spreads to its neighbours."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import oncue
from oncue import App, BadInput, NewTask, Task
from oncue.common.store import Store
from oncue.worker.inline import InlineWorker
from tests.support.product import START_MS, app_on, opened, running
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

SOON = START_MS / 1000 - 1
POLICY = {"backoff": "fixed", "first_s": 60, "jitter": 0, "max_attempts": 3}


def states(app: App, number: int) -> list[str]:
    return [app.get(f"t{n}").state for n in range(number)]


def run(
    app: App, store: Store, number: int, handler: Callable[[list[Task]], object], **settings: Any
) -> None:
    app.batch_handler(retry=POLICY, **settings)(handler)
    app.schedule_many([NewTask(SOON, n, id=f"t{n}") for n in range(number)])
    InlineWorker(store, app.handlers).run_ready()


def test_a_batch_of_which_nothing_is_said_is_done(app: App, store: Store) -> None:
    sizes: list[int] = []
    run(app, store, 25, lambda tasks: sizes.append(len(tasks)), max_size=10)
    assert sizes == [10, 10, 5]
    assert states(app, 25) == ["done"] * 25


def test_one_failing_item_does_not_fail_the_rest(app: App, store: Store) -> None:
    def handler(tasks: list[Task]) -> None:
        tasks[1].fail("no such address")
        tasks[2].fail(oncue.Bury("never again"))

    run(app, store, 4, handler)
    assert states(app, 4) == ["done", "delayed", "dead", "done"]
    found = app.get("t1")
    assert found.error is not None
    assert (found.error["message"], found.failed) == ("no such address", 1)


def test_answers_may_come_as_a_list_in_order_or_by_id(app: App, store: Store) -> None:
    run(app, store, 3, lambda tasks: [ValueError("no"), None, oncue.Cancelled()])
    assert states(app, 3) == ["delayed", "done", "cancelled"]
    other = app_on(store)
    other.batch_handler("other", keep_result_s=60)(lambda tasks: {"b": oncue.Snooze(5), "c": {"sum": 3}})
    other.schedule_many([NewTask(SOON, 1, "other", id=id) for id in "abc"])
    InlineWorker(store, other.handlers).run_ready()
    found = [other.get(id) for id in "abc"]
    assert [(one.state, one.result) for one in found] == [
        ("done", None),
        ("delayed", None),
        ("done", {"sum": 3}),
    ]


@pytest.mark.parametrize(
    "answer", [[None], {"stranger": None}, "done", 3], ids=["too few", "strange id", "text", "number"]
)
def test_an_answer_that_cannot_be_read_fails_the_batch_by_policy(
    app: App, store: Store, answer: object
) -> None:
    run(app, store, 2, lambda tasks: answer)
    assert states(app, 2) == ["delayed"] * 2
    found = app.get("t0")
    assert found.error is not None
    assert found.error["type"] == "BadInput"


def test_an_exception_fails_all_of_a_batch_each_by_its_own_policy(app: App, store: Store) -> None:
    def handler(tasks: list[Task]) -> None:
        raise ConnectionError("the database is away")

    app.batch_handler(retry=POLICY)(handler)
    app.schedule_task(SOON, 1, id="t0")
    app.schedule_task(SOON, 1, id="t1", retry={"max_attempts": 1})
    InlineWorker(store, app.handlers).run_ready()
    assert states(app, 2) == ["delayed", "dead"]


def test_a_batch_size_that_cannot_be_is_refused() -> None:
    for size in (0, -1, 501, True, 1.5, None, False):
        with pytest.raises(BadInput, match=f"max_size is {size};"):
            App().batch_handler(max_size=size)(print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_worker_fills_batches_and_runs_other_queues_beside(valkey: RedisServer, namespace: str) -> None:
    sizes: list[int] = []
    plain: list[object] = []
    lock = threading.Lock()

    def many(tasks: list[Task]) -> None:
        with lock:
            sizes.append(len(tasks))

    with opened(valkey, namespace) as store:
        app = app_on(store)
        app.batch_handler("events", max_size=200)(many)
        app.handler("other")(lambda task: plain.append(task.data))
        app.schedule_many([NewTask(1, n, "events") for n in range(1000)])
        app.schedule_many([NewTask(1, n, "other") for n in range(50)])
        with running(store, handlers=app.handlers):
            eventually(lambda: store.counts()["events"].get("done") == 1000, 20)
            eventually(lambda: store.counts()["other"].get("done") == 50, 20)
    assert sizes == [200] * 5
    assert sorted(plain) == list(range(50))  # type: ignore[type-var]


def test_a_batch_that_is_not_full_waits_for_more_but_not_for_ever(
    valkey: RedisServer, namespace: str
) -> None:
    batches: list[list[object]] = []

    def handler(tasks: list[Task]) -> None:
        batches.append([task.data for task in tasks])

    with opened(valkey, namespace) as store:
        app = app_on(store)
        app.batch_handler("patient", max_size=3, max_wait_s=600)(handler)
        app.batch_handler("hasty", max_size=3, max_wait_s=0.5)(handler)
        with running(store, handlers=app.handlers):
            for n in range(3):
                app.schedule_task(None, n, "patient")
            eventually(lambda: len(batches) == 1, 20)
            app.schedule_task(None, 3, "hasty")
            eventually(lambda: len(batches) == 2, 20)
    assert batches == [[0, 1, 2], [3]]


def test_a_worker_that_stops_keeps_no_batch_that_gathers(valkey: RedisServer, namespace: str) -> None:
    with opened(valkey, namespace) as store:
        app = app_on(store)
        app.batch_handler("events", max_size=3, max_wait_s=600)(lambda tasks: None)
        with running(store, handlers=app.handlers):
            app.schedule_task(None, 1, "events", id="one")
            eventually(lambda: app.get("one").state == "leased", 10)
        assert app.get("one").state in ("done", "ready")
