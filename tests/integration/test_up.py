"""`oncue up` as a user sees it: real processes, a real terminal's signals."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from oncue.common.clock import monotonic_s
from tests.support.commands import ended
from tests.support.processes import Process, has_ended, words_of
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
APP = """
import oncue
app = oncue.App()

@app.handler("emails")
def email(task):
    pass
"""
SCHEDULES = 'schedules: {beat: {cron: "* * * * * *", queue: emails}}\n'
RUN = r"worker-1 +\| .* INFO oncue\.run emails {} late (-?\d+) ms, ran \d+ ms, attempt 1: done"
AT_WORK = r"\d processes at work"

Up = Callable[..., Process]


@pytest.fixture
def up(run_oncue: Up, tmp_path: Path) -> Up:
    """Starts `oncue up` over one data directory, with an app and a schedule of every second."""
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "oncue.yaml").write_text(SCHEDULES)
    # Short: the path of a socket in it must fit.
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}

    def start(*words: str, app: bool = True, config: bool = True) -> Process:
        given = [*(["shop:app"] if app else []), *(["--config", "oncue.yaml"] if config else [])]
        return run_oncue("up", *given, "--data-dir", tmp_path / "d", *words, cwd=tmp_path, env=env)

    return start


def children_named(process: Process, role: str) -> list[psutil.Process]:
    return [child for child in process.children() if role in words_of(child)[3:4]]


def oncue(run_oncue: Up, tmp_path: Path, *words: str) -> str:
    """A command of the same user, who names no server: the running `oncue up` is found."""
    end = ended(run_oncue, *words, cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "state")})
    assert end.code == 0, end.output
    return end.output


def test_runs_are_shown_on_time_and_ctrl_c_stops_all_of_it_in_two_seconds(up: Up, tmp_path: Path) -> None:
    process = up()
    process.wait_for_line(rf"data: +{tmp_path / 'd'} ")
    process.wait_for_line(rf"producers: +unix://{tmp_path / 'd'}/valkey.sock")
    process.wait_for_line(r"schedules: +beat +\* \* \* \* \* \*  \(UTC\) -> emails, next 20")
    process.wait_for_line(AT_WORK)

    def late_ms() -> list[int]:
        return [int(ms) for ms in re.findall(RUN.format(r"beat@\S+Z"), process.output)]

    # The first may be the tick that came while the processes were starting.
    eventually(lambda: len(late_ms()) >= 3, what="three runs")
    # Any of them may meet a moment in which the machine is busy.
    eventually(lambda: min(late_ms()) < 100, what="a run on time")
    assert min(late_ms()) >= 0
    everything = process.children()
    assert len(everything) == 4
    took_s = [ended_after(process)]
    eventually(lambda: all(has_ended(child) for child in everything), what="the end of all of it")
    assert "Traceback" not in process.output
    while min(took_s) >= 2 and len(took_s) < 3:
        again = up()
        again.wait_for_line(AT_WORK)
        took_s.append(ended_after(again))
    assert min(took_s) < 2


def ended_after(process: Process) -> float:
    """How many seconds it takes after Ctrl-C."""
    began = monotonic_s()
    process.interrupt()
    assert process.wait() == 0
    return monotonic_s() - began


def test_a_second_start_goes_on_where_the_first_stopped(up: Up, run_oncue: Up, tmp_path: Path) -> None:
    first = up(config=False)
    first.wait_for_line(AT_WORK)
    oncue(run_oncue, tmp_path, "schedule", "emails", "null", "--in", "8s", "--id", "later")
    first.interrupt()
    assert first.wait() == 0
    second = up(config=False)
    second.wait_for_line(RUN.format("later"))
    assert "1" in oncue(run_oncue, tmp_path, "stats")


def test_a_child_that_is_killed_is_started_anew(up: Up) -> None:
    process = up(config=False)
    process.wait_for_line(AT_WORK)
    (worker,) = children_named(process, "worker")
    worker.send_signal(signal.SIGKILL)
    process.wait_for_line(r"worker-1 was killed by signal 9; starting it anew in \d+ ms")
    eventually(lambda: process.output.count("worker-1    | ") >= 2, what="a second worker")
    (other,) = children_named(process, "worker")
    assert other.pid != worker.pid
    process.interrupt()
    assert process.wait() == 0


@pytest.mark.parametrize("adopted", [False, True])
def test_a_server_that_dies_is_started_anew_with_its_data(
    up: Up, run_oncue: Up, tmp_path: Path, adopted: bool
) -> None:
    process = up(config=False)
    process.wait_for_line(AT_WORK)
    server = next(child for child in process.children() if "valkey" in child.name())
    if adopted:
        process.kill()
        process = up(config=False)
        process.wait_for_line(AT_WORK)
        assert not [child for child in process.children() if "valkey" in child.name()]
    oncue(run_oncue, tmp_path, "schedule", "emails", "null", "--in", "2s", "--id", "kept")
    server.send_signal(signal.SIGKILL)
    process.wait_for_line("the server has died")
    process.wait_for_line(RUN.format("kept"))
    process.interrupt()
    assert process.wait() == 0


def test_children_end_with_a_parent_that_is_killed_and_the_server_is_adopted(up: Up) -> None:
    process = up()
    process.wait_for_line(AT_WORK)
    everything = process.children()
    server = next(child for child in everything if "valkey" in child.name())
    process.kill()
    eventually(
        lambda: [child for child in everything if not has_ended(child)] == [server], what="the children's end"
    )
    again = up()
    again.wait_for_line(AT_WORK)
    again.interrupt()
    assert again.wait() == 0
    eventually(lambda: has_ended(server), what="the adopted server's end")


def test_it_works_without_an_app_and_says_so(up: Up) -> None:
    process = up(app=False)
    process.wait_for_line(r"workers: +none: give MODULE:APP")
    process.wait_for_line("2 processes at work")
    process.term()
    assert process.wait() == 0


def test_an_app_that_cannot_be_imported_ends_all_of_it_with_code_2(run_oncue: Up, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("import nowhere\n")
    process = run_oncue("up", "shop:app", "--data-dir", tmp_path / "d", cwd=tmp_path)
    assert process.wait() == 2
    assert "shop cannot be imported" in process.output
    assert "No module named 'nowhere'" in process.output
    assert "Traceback" not in process.output


def test_a_file_for_a_server_with_a_login_is_refused(run_oncue: Up, tmp_path: Path) -> None:
    (tmp_path / "oncue.yaml").write_text('password: "hunter2"\n')
    end = ended(run_oncue, "up", "--config", "oncue.yaml", "--data-dir", tmp_path / "d", cwd=tmp_path)
    assert end.code == 2
    assert "no login: take username and password out of" in end.output
    assert "hunter2" not in end.output


def test_a_second_signal_ends_a_long_handler_but_not_the_order(up: Up, run_oncue: Up, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APP.replace("pass", "__import__('threading').Event().wait()"))
    process = up(config=False)
    process.wait_for_line(AT_WORK)
    oncue(run_oncue, tmp_path, "schedule", "emails", "null", "--id", "endless")
    # The store says so: the log tells of a run at its end alone.
    eventually(lambda: "leased" in oncue(run_oncue, tmp_path, "task", "show", "endless"), what="the run")
    everything = process.children()
    process.interrupt()
    process.wait_for_line("stopping: takes nothing more")
    process.interrupt()
    assert process.wait() == 1
    eventually(lambda: all(has_ended(child) for child in everything), what="the end of all of it")


def test_the_example_of_make_run_runs_schedules_and_delayed_tasks(run_oncue: Up, tmp_path: Path) -> None:
    words = ("up", "examples.app:app", "--config", "examples/oncue.yaml", "--data-dir", tmp_path / "d")
    process = run_oncue(*words, cwd=ROOT, env={"XDG_STATE_HOME": str(tmp_path / "state")})
    process.wait_for_line(r"oncue\.run heartbeat heartbeat@\S+ late \d+ ms, .*: done")
    process.wait_for_line(r"oncue\.run reports report@\S+ late \d+ ms, .*: done", 30)
    process.wait_for_line(r"oncue\.run emails report@\S+-0 late -?\d+ ms, .*: done")
    process.interrupt()
    assert process.wait() == 0
