"""Schedules that run commands, with real workers and real processes: nothing runs unasked, nothing is left behind."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from oncue import App
from oncue.common.task import TaskInfo
from tests.support.commands import ended
from tests.support.fixtures import app_by_url
from tests.support.processes import Process, has_ended
from tests.support.waiting import eventually, pause

app = app_by_url()

Start = Callable[..., Process]
NO_RETRY = {"max_attempts": 1}
SLEEPER = "sleep 1000 & echo $! >inner; echo begun; wait"


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    return {**env, "ONCUE_KEEP_FINISHED_S": "600"}


def run(app: App, data: object, queue: str = "commands") -> str:
    return app.schedule_task(None, data, queue=queue, retry=NO_RETRY)


def state(app: App, task: str, wanted: str, within_s: float = 15) -> TaskInfo:
    def found() -> TaskInfo | None:
        known = app.get(task)
        return known if known.state == wanted else None

    return eventually(found, within_s, f"{wanted}; it is {app.get(task)}")


def inner(folder: Path) -> psutil.Process:
    """The grandchild that `SLEEPER` has started."""
    path = folder / "inner"
    eventually(lambda: path.exists() and path.read_text().strip(), what="the grandchild")
    return psutil.Process(int(path.read_text()))


def test_a_schedule_of_the_file_runs_a_program_without_any_app(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App
) -> None:
    (tmp_path / "key").write_text("secret words\n")
    file = tmp_path / "oncue.yaml"
    file.write_text(
        "schedules:\n  list:\n    cron: '* * * * * *'\n"
        f"    command: [sh, -c, 'echo $ONCUE_SCHEDULE $ONCUE_PLANNED $A $B, ${{ONCUE_URL-none}}; pwd']\n"
        f"    env: {{A: one, B: {{file: {tmp_path}/key}}}}\n    cwd: {tmp_path}\n    overlap: allow\n"
    )
    run_oncue("scheduler", "--config", file, env=env)
    worker = run_oncue("worker", "--allow-commands", "--config", file, env=env)
    task = worker.wait_for_line(r"oncue.run commands (list@\S+) .*: done")[1]
    output = app.get(task).result["output"]
    planned = task.removeprefix("list@").removesuffix("Z")
    assert output == f"list {planned}+00:00 one secret words, none\n{tmp_path}\n"
    worker.term()
    assert worker.wait() == 0


def test_the_exit_code_decides_and_the_output_is_told(
    run_oncue: Start, env: dict[str, str], app: App
) -> None:
    worker = run_oncue("worker", "--allow-commands", env=env)
    done = run(app, {"command": ["echo", "hello"]})
    assert state(app, done, "done").result == {"exit_code": 0, "output": "hello\n", "output_bytes": 6}
    bad = run(app, {"command": "echo to stderr >&2; exit 3", "shell": True})
    error = state(app, bad, "dead").error
    assert error is not None
    assert error["message"] == "exit code 3; its output:\nto stderr"
    worker.wait_for_line(rf"{bad} after .* exit code 3, 10 bytes of output, the last line: 'to stderr'")
    absent = run(app, {"command": ["no-such-program"]})
    assert "there is no program no-such-program in PATH" in str(state(app, absent, "dead").error)
    signalled = run(app, {"command": "kill -9 $$", "shell": True})
    assert "was ended by signal 9" in str(state(app, signalled, "dead").error)
    unusable: list[Any] = [None, {"command": 5}, {"command": []}, {"command": ["a"], "comand": 1}, [1]]
    for nonsense in unusable:
        assert "does not describe a command" in str(state(app, run(app, nonsense), "dead").error)


def test_a_failed_command_is_tried_again_by_its_policy(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App
) -> None:
    run_oncue("worker", "--allow-commands", env=env)
    policy = {"max_attempts": 3, "backoff": "fixed", "first_s": 0}
    data = {"command": "echo x >>tries; test $(wc -l <tries) = 3", "shell": True, "cwd": str(tmp_path)}
    task = app.schedule_task(None, data, queue="commands", retry={**policy, "immediate": 3})
    assert state(app, task, "done").attempts == 3
    assert (tmp_path / "tries").read_text() == "x\n" * 3


def test_output_is_kept_up_to_a_bound_the_last_part(run_oncue: Start, env: dict[str, str], app: App) -> None:
    worker = run_oncue("worker", "--allow-commands", env=env)
    loud = {"command": "yes | head -c 50000000; echo end", "shell": True, "output_limit_bytes": 8}
    result = state(app, run(app, loud), "done").result
    assert result == {"exit_code": 0, "output": "y\ny\nend\n", "output_bytes": 50_000_004}
    assert worker.rss_bytes() < 60 * 1024 * 1024
    none = {"command": ["echo", "x"], "output_limit_bytes": 0}
    assert state(app, run(app, none), "done").result["output"] == ""


def test_a_time_limit_ends_the_whole_group(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App
) -> None:
    worker = run_oncue("worker", "--allow-commands", env=env)
    data = {"command": SLEEPER, "shell": True, "cwd": str(tmp_path), "timeout_s": 3}
    task = run(app, data)
    grandchild = inner(tmp_path)
    error = str(state(app, task, "dead").error)
    assert "ran longer than its limit of 3 s, and was ended" in error
    assert "begun" in error
    # It has been sent SIGKILL by now, as those below have, and needs a moment to die of it.
    eventually(lambda: has_ended(grandchild), what="the end of the grandchild")

    def only_the_keeper_is_left() -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return [child.status() for child in worker.children()] == [psutil.STATUS_SLEEPING]
        return False

    eventually(only_the_keeper_is_left, what="a worker with no child but its keeper, and no zombie")


def test_what_a_command_leaves_behind_ends_with_it(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App
) -> None:
    run_oncue("worker", "--allow-commands", env=env)
    data = {"command": "sleep 1000 & echo $! >inner", "shell": True, "cwd": str(tmp_path)}
    state(app, run(app, data), "done")
    pid = int((tmp_path / "inner").read_text())

    def is_gone() -> bool:
        try:
            return has_ended(psutil.Process(pid))
        except psutil.NoSuchProcess:
            return True

    eventually(is_gone, what="the end of what was left")


def test_a_worker_that_stops_ends_its_commands_in_time_and_hands_their_tasks_back(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App
) -> None:
    worker = run_oncue("worker", "--allow-commands", "--stop-timeout-s", "1", env=env)
    task = run(app, {"command": f"trap '' TERM; {SLEEPER}; wait", "shell": True, "cwd": str(tmp_path)})
    grandchild = inner(tmp_path)
    worker.term()
    # Neither the command nor its grandchild would ever end by itself.
    assert worker.wait() == 0
    eventually(lambda: has_ended(grandchild), what="the end of the grandchild")
    known = app.get(task)
    assert (known.state, known.failed, known.lost) == ("ready", 0, 0)


@pytest.mark.parametrize("how", ["killed", "told twice"])
def test_no_command_outlives_its_worker_however_that_ends(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App, how: str
) -> None:
    worker = run_oncue("worker", "--allow-commands", env=env)
    run(app, {"command": SLEEPER, "shell": True, "cwd": str(tmp_path)})
    grandchild = inner(tmp_path)
    if how == "killed":
        worker.child.kill()
    else:
        worker.term()
        worker.wait_for_line("stopping: takes nothing more")
        worker.term()
    worker.wait()
    eventually(lambda: has_ended(grandchild), what="the end of the grandchild")


def test_a_cancelled_command_ends(run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App) -> None:
    run_oncue("worker", "--allow-commands", "--lease-s", "1", env=env)
    task = run(app, {"command": SLEEPER, "shell": True, "cwd": str(tmp_path)})
    grandchild = inner(tmp_path)
    assert not app.cancel(task)
    state(app, task, "cancelled")
    eventually(lambda: has_ended(grandchild), what="the end of the grandchild")


def test_a_worker_that_does_not_allow_commands_takes_none(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App
) -> None:
    (tmp_path / "shop.py").write_text(
        "import oncue\napp = oncue.App()\n@app.handler('x')\ndef x(task):\n    print('x ran', flush=True)\n"
    )
    file = tmp_path / "oncue.yaml"
    file.write_text("allow_commands: [/usr/bin/*]\n")
    worker = run_oncue("worker", "shop:app", "--config", file, env=env, cwd=tmp_path)
    task = run(app, {"command": ["touch", str(tmp_path / "touched")]})
    run(app, {"command": ["true"]}, queue="x")
    # To a handler of the app it is data like any other.
    worker.wait_for_line("x ran")
    worker.wait_for_line("without --allow-commands it counts for nothing here")
    assert app.get(task).state == "ready"
    assert not (tmp_path / "touched").exists()


def test_a_list_limits_the_programs(run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    for path in (jobs / "good", tmp_path / "bad"):
        path.write_text("#!/bin/sh\necho ran\n")
        path.chmod(0o755)
    file = tmp_path / "oncue.yaml"
    file.write_text(f"allow_commands: [{jobs}/*]\n")
    run_oncue("worker", "--allow-commands", "--config", file, env=env)
    by_path = {"command": [str(jobs / "good")]}
    by_name = {"command": ["good"], "env": {"PATH": str(jobs)}}
    for good in (by_path, by_name, {"command": ["./good"], "cwd": str(jobs)}):
        assert state(app, run(app, good), "done").result["output"] == "ran\n"
    for word in (str(tmp_path / "bad"), f"{jobs}/../bad", "sh"):
        assert "may not be run by this worker" in str(state(app, run(app, {"command": [word]}), "dead").error)
    shell = run(app, {"command": "true", "shell": True})
    assert "/bin/sh may not be run" in str(state(app, shell, "dead").error)


def test_a_worker_that_could_mistake_its_queues_does_not_start(run_oncue: Start, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "import oncue\napp = oncue.App()\napp.handler('commands')(print)\napp.handler('jobs')(print)\n"
    )
    file = tmp_path / "oncue.yaml"
    file.write_text("schedules: {a: {every: 1m, command: [x], queue: jobs}}\n")
    words = ("worker", "shop:app", "--allow-commands")
    end = ended(run_oncue, *words, cwd=tmp_path)
    assert (end.code, end.output.count("\n")) == (2, 1)
    assert "queue commands has a handler in the app, and holds commands" in end.output
    file.write_text(
        "schedules: {a: {every: 1m, command: [x], queue: j}, b: {every: 1m, http: {url: 'http://h/'}, queue: j}}\n"
    )
    end = ended(run_oncue, "worker", "--allow-http", "--config", file, cwd=tmp_path)
    assert "queue j has commands and calls in the file" in end.output
    end = ended(run_oncue, "worker", cwd=tmp_path)
    assert (end.code, end.output.count("\n")) == (2, 1)
    assert "give MODULE:APP, such as shop.tasks:app" in end.output


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 5, 10])
def test_a_worker_killed_while_it_starts_a_command_leaves_none(
    run_oncue: Start, tmp_path: Path, env: dict[str, str], app: App, delay_ms: int
) -> None:
    worker = run_oncue("worker", "--allow-commands", "--concurrency", "1", env=env)
    worker.wait_for_line("at work")
    # A number that no other run of the tests on this machine sleeps for.
    seconds = f"1000.{uuid.uuid4().int}"
    task = run(app, {"command": f"echo x >began; exec sleep {seconds}", "shell": True, "cwd": str(tmp_path)})
    eventually(lambda: app.get(task).state == "leased", what="the start")
    pause(delay_ms / 1000)
    worker.child.kill()
    worker.wait()

    def left() -> list[psutil.Process]:
        found = psutil.process_iter(["cmdline"])
        return [process for process in found if process.info["cmdline"] == ["sleep", seconds]]

    eventually(lambda: not left(), what="the end of the command")
