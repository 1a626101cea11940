"""Commands that move, list, redrive and purge tasks: what they print, what they ask, and their exit codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oncue import App, NewTask
from tests.support.commands import Ended, ended
from tests.support.processes import Process
from tests.support.product import Hands
from tests.support.servers import RedisServer

Start = Callable[..., Process]
Run = Callable[..., Ended]


@pytest.fixture
def oncue(run_oncue: Start, valkey: RedisServer, namespace: str) -> Run:
    env = {"ONCUE_URL": valkey.url, "ONCUE_NAMESPACE": namespace, "LC_ALL": "C"}
    return lambda *words, **more: ended(run_oncue, *words, env={**env, **more})


@pytest.fixture
def app(valkey: RedisServer, namespace: str) -> Iterator[App]:
    producer = App(valkey.url, namespace=namespace)
    yield producer
    producer.close()


def bury(app: App, *names: str, queue: str = "emails") -> None:
    worker = Hands(app.store, [queue])
    app.schedule_many([NewTask(None, {"n": name}, queue, name) for name in names])
    for task in worker.reserve():
        worker.bury(task, TimeoutError("[red]no[/red] answer"))


def test_a_task_gets_another_time_and_is_run_now(oncue: Run, app: App) -> None:
    task_id = app.schedule_task(4e9, 1)
    moved = oncue("task", "reschedule", task_id, "--at", "2035-01-01T00:00:00Z")
    assert (moved.code, moved.output) == (0, "due: 2035-01-01T00:00:00.000+00:00\n")
    assert oncue("task", "run", task_id, "--json").json["state"] == "ready"
    assert oncue("task", "reschedule", "never", "--in", "5m").code == 1
    assert oncue("task", "reschedule", task_id).code == 2


def test_tasks_are_listed_by_queue_state_and_time(oncue: Run, app: App) -> None:
    for n in range(5):
        app.schedule_task(4e9 + n, n, "a", id=f"later{n}")
    app.schedule_task(None, 1, "b", id="ready")
    assert {task["id"] for task in oncue("task", "list", "--json").json["tasks"]} == {
        "ready",
        *(f"later{n}" for n in range(5)),
    }
    found = oncue("task", "list", "--queue", "a", "--from", "4000000003", "--json").json["tasks"]
    assert sorted(task["id"] for task in found) == ["later3", "later4"]
    assert oncue("task", "list", "--state", "ready").output.split()[-5:-3] == ["ready", "b"]
    assert oncue("task", "list", "--state", "gone").code == 2


def test_the_dead_are_listed_and_shown_with_their_errors(oncue: Run, app: App) -> None:
    bury(app, "one", "two")
    listed = oncue("dead", "list").output.splitlines()
    assert [line.split()[0] for line in listed] == ["ID", "two", "one"]
    assert listed[1].endswith("TimeoutError: [red]no[/red] answer")
    first = oncue("dead", "list", "--oldest", "--limit", "1", "--json").json
    assert [task["id"] for task in first["tasks"]] == ["one"]
    assert (
        oncue("dead", "list", "--oldest", "--cursor", first["cursor"], "--json").json["tasks"][0]["id"]
        == "two"
    )
    shown = oncue("dead", "show", "one").output
    assert 'data:      {"n": "one"}' in shown
    assert "    TimeoutError: [red]no[/red] answer" in shown
    assert oncue("dead", "show", "never").code == 1


def test_the_dead_are_redriven_and_purged_when_somebody_says_yes(oncue: Run, app: App) -> None:
    bury(app, "one", "two", "three", "four")
    refused = oncue("dead", "purge", "--all")
    assert refused.code == 2
    assert "--yes" in refused.output
    assert oncue("dead", "purge").code == 2
    assert oncue("dead", "redrive", "one", "--into", "other").output == "redriven: 1\n"
    assert app.get("one").queue == "other"
    assert oncue("dead", "redrive", "one").code == 1
    assert oncue("dead", "redrive", "--error", "KeyError", "--yes").output == "redriven: 0\n"
    assert oncue("dead", "purge", "two", "--yes").output == "purged: 1\n"
    assert oncue("dead", "redrive", "--queue", "emails", "--yes", "--json").json == {"redriven": 2}
    assert app.get("three").state == "ready"
