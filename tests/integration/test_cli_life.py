"""Commands that move, list, redrive and purge tasks: what they print, what they ask, and their exit codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable

from oncue import App, NewTask
from tests.support.commands import Ended
from tests.support.fixtures import app_by_url
from tests.support.processes import Process
from tests.support.product import Hands
from tests.support.terminal import all_shown

app = app_by_url()

Start = Callable[..., Process]
Run = Callable[..., Ended]


def bury(app: App, *names: str, queue: str = "emails") -> None:
    worker = Hands(app.store, [queue])
    app.schedule_many([NewTask(None, {"n": name}, queue, name) for name in names])
    for task in worker.reserve():
        worker.bury(task, TimeoutError("[red]no[/red] answer"))


def fed(app: App, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with that on its stdin."""
    env = {**os.environ, "ONCUE_URL": str(app.given["url"]), "ONCUE_NAMESPACE": app.given["namespace"]}
    command = [sys.executable, "-m", "oncue", *words]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=env, check=False, timeout=60
    )


def test_a_task_gets_another_time_and_is_run_now(oncue: Run, app: App) -> None:
    task_id = app.schedule_task(4e9, 1)
    moved = oncue("task", "reschedule", task_id, "--at", "2035-01-01T00:00:00Z")
    assert (moved.code, moved.output) == (0, "moved: 1, due: 2035-01-01T00:00:00.000+00:00\n")
    (told,) = oncue("task", "run", task_id, "--json").json
    assert (told["id"], told["ok"], told["answer"]) == (task_id, True, "moved")
    assert app.get(task_id).state == "ready"
    assert oncue("task", "reschedule", "never", "--in", "5m").code == 1
    assert oncue("task", "reschedule", task_id).code == 2


def test_many_tasks_are_dealt_with_each_with_an_answer_and_one_refusal_is_code_1(
    oncue: Run, app: App
) -> None:
    app.schedule_many([NewTask(4e9, n, id=f"t{n}") for n in range(3)])
    done = Hands(app.store, ["default"])
    app.schedule_task(None, 1, id="done")
    done.complete(*done.reserve())
    moved = oncue("task", "reschedule", "t0", "t1", "--in", "90s")
    assert moved.code == 0
    assert moved.output.startswith("moved: 2, due: ")
    some = oncue("task", "run", "t0", "done", "never", "t2")
    assert some.code == 1
    lines = some.output.splitlines()
    assert lines[:2] == ["done: it is done", "never: there is no such task, or it finished some time ago"]
    assert lines[2].startswith("moved: 2 of 4, due: ")
    refused = oncue("task", "cancel", "t0", "t1")
    assert (refused.code, "give --yes" in refused.output, app.get("t1").state) == (2, True, "delayed")
    cancelled = oncue("task", "cancel", "t0", "done", "t1", "t0", "--yes", "--json")
    assert cancelled.code == 1
    assert cancelled.json == [
        {"id": "t0", "ok": True, "answer": "cancelled"},
        {"id": "done", "ok": False, "answer": "done"},
        {"id": "t1", "ok": True, "answer": "cancelled"},
    ]


def test_ids_come_from_stdin_one_a_line(app: App) -> None:
    ids = app.schedule_many([NewTask(4e9, n) for n in range(1200)])
    listed = "\n".join(["", *ids, "  "])
    assert fed(app, listed, "task", "cancel", "-").returncode == 2
    end = fed(app, listed, "task", "cancel", "-", "--yes")
    assert (end.returncode, end.stdout) == (0, "cancelled: 1200\n")
    assert {app.get(task_id).state for task_id in ids[::300]} == {"cancelled"}
    assert fed(app, "", "task", "run", "-").stdout.startswith("moved: 0, due: ")
    wrong = fed(app, "fine\nno id\n", "task", "run", "-")
    assert (wrong.returncode, "'no id' is not a task id" in wrong.stderr) == (2, True)
    bury(app, "one", "two")
    end = fed(app, "one\nnever\n", "dead", "redrive", "-", "--json")
    assert (end.returncode, [told["answer"] for told in json.loads(end.stdout)]) == (
        1,
        ["redriven", "unknown"],
    )
    assert fed(app, "two\n", "dead", "purge", "-", "--yes").stdout == "purged: 1\n"


def test_a_terminal_is_asked_and_sees_how_far_it_is(app: App) -> None:
    ids = app.schedule_many([NewTask(4e9, n) for n in range(1200)])
    env = {**os.environ, "ONCUE_URL": str(app.given["url"]), "ONCUE_NAMESPACE": app.given["namespace"]}
    command = [sys.executable, "-m", "oncue", "task", "cancel", *ids]
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        try:
            os.write(ours, answer)
            end = subprocess.run(
                command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=env, check=False, timeout=60
            )
        finally:
            seen = all_shown(ours, theirs)
            os.close(ours)
        assert (end.returncode, b"1200 tasks will be cancelled for good. Go on? [y/N]" in seen) == (
            code,
            True,
        )
    assert (end.stdout, b"/1200" in seen) == (b"cancelled: 1200\n", True)


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
