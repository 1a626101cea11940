"""Whoever looks at many tasks gets them in replies of bounded size, and no data that is not wanted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncue import App, NewTask
from oncue.common.store import Store
from tests.support.commands import Ended
from tests.support.fixtures import live_store
from tests.support.product import Hands, app_on
from tests.support.servers import RedisServer

store = live_store()

NUMBER, LARGE = 40, "x" * 1_000_000
FEW_BYTES, SOME_BYTES = 100_000, 20_000_000
"""What names and states of these tasks may cost; and a page of one, with those that stand in a bucket with it."""

Sent = Callable[[], int]


@pytest.fixture
def app(store: Store) -> App:
    app = app_on(store)
    for _ in range(NUMBER):
        app.schedule_many([NewTask(None, LARGE)])
    return app


@pytest.fixture
def sent(valkey: RedisServer) -> Sent:
    """How many bytes the server has sent to anybody since it was asked last."""
    client, last = valkey.client(), 0

    def since() -> int:
        nonlocal last
        before, last = last, int(client.info("stats")["total_net_output_bytes"])
        return last - before

    return since


def bury_all(store: Store) -> None:
    hands = Hands(store, ["default"])
    while tasks := hands.reserve():
        for task in tasks:
            hands.bury(task)


def test_a_page_of_one_task_does_not_bring_those_that_stand_beside_it(app: App, sent: Sent) -> None:
    sent()
    page = app.list(limit=1)
    assert page.tasks[0].data == LARGE
    assert sent() < SOME_BYTES


def test_who_follows_the_cursors_meets_every_large_task(app: App) -> None:
    found: set[str] = set()
    page = app.list(limit=3)
    while page.cursor:
        found |= {task.id for task in page.tasks if task.data == LARGE}
        page = app.list(limit=3, cursor=page.cursor)
    assert len(found | {task.id for task in page.tasks}) == NUMBER


def test_states_without_data_bring_no_data(app: App, sent: Sent, oncue: Callable[..., Ended]) -> None:
    sent()
    page = app.list(with_data=False)
    assert sent() < FEW_BYTES
    assert [(task.state, task.data) for task in page.tasks] == [("ready", None)] * NUMBER
    listed = oncue("task", "list")
    assert listed.output.count(" ready ") == NUMBER
    assert sent() < FEW_BYTES


def test_a_page_of_one_dead_task_does_not_bring_those_behind_it(app: App, store: Store, sent: Sent) -> None:
    bury_all(store)
    sent()
    page = app.dead.list(limit=1)
    assert [task.data for task in page.tasks] == [LARGE]
    assert sent() < SOME_BYTES
    assert len(app.dead.list(cursor=page.cursor).tasks) == NUMBER - 1


def test_dead_tasks_are_changed_without_a_look_at_their_data(app: App, store: Store, sent: Sent) -> None:
    bury_all(store)
    sent()
    assert app.dead.redrive_many(queue="default") == NUMBER
    assert sent() < FEW_BYTES
    bury_all(store)
    sent()
    assert app.dead.purge_many() == NUMBER
    assert sent() < FEW_BYTES
