"""Processes that tests start are heard, measured and ended."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.processes import Process, has_ended, words_of
from tests.support.waiting import eventually

_PYTHON = (sys.executable, "-c")
_WAITING = "import signal; print('pid here', flush=True); signal.pause()"


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Process]:
    with Process([_WAITING], tmp_path / "output", command=_PYTHON) as process:
        process.wait_for_line("^pid here$")
        yield process


@pytest.mark.parametrize(
    ("order", "number"), [("kill", signal.SIGKILL), ("term", signal.SIGTERM), ("interrupt", signal.SIGINT)]
)
def test_a_signal_is_the_one_ordered(waiting: Process, order: str, number: signal.Signals) -> None:
    getattr(waiting, order)()
    assert waiting.wait() == -number


def test_a_process_shows_its_memory(waiting: Process) -> None:
    assert 1_000_000 < waiting.rss_bytes() < 200_000_000


def test_a_process_shows_its_time(tmp_path: Path) -> None:
    # By the clock that is shown, which counts in ticks: a fast machine starts Python within the first one.
    busy = f"import os\nwhile sum(os.times()[:2]) < 0.1: pass\n{_WAITING}"
    with Process([busy], tmp_path / "output", command=_PYTHON) as process:
        process.wait_for_line("^pid here$")
        assert 0.1 <= process.cpu_seconds() < 5


def test_an_early_end_is_told_with_the_output(tmp_path: Path) -> None:
    with (
        Process(["raise SystemExit('no luck')"], tmp_path / "output", command=_PYTHON) as process,
        pytest.raises(AssertionError, match=r"(?s)ended with code 1 .*no luck"),
    ):
        process.wait_for_line("ready", timeout_s=30)


def test_the_end_takes_the_children_along(tmp_path: Path) -> None:
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {_WAITING!r}]).wait()"
    with Process([parent], tmp_path / "output", command=_PYTHON) as process:
        process.wait_for_line("pid here")
        (child,) = process.children()
    eventually(lambda: has_ended(child))


def test_the_end_of_a_process_is_told_also_where_it_comes_between_two_looks(
    waiting: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = psutil.Process(waiting.pid)
    assert not has_ended(process)
    assert words_of(process)[-1] == _WAITING
    waiting.child.kill()
    eventually(lambda: has_ended(process), what="a zombie")
    waiting.wait()
    assert has_ended(process)
    monkeypatch.setattr(process, "is_running", lambda: True)
    assert has_ended(process)
    assert words_of(process) == []


def test_servers_end_also_when_the_tests_die_without_a_last_word(tmp_path: Path) -> None:
    dying = (
        "import os; from pathlib import Path; from tests.support.servers import RedisServer\n"
        f"server = RedisServer('valkey', Path({str(tmp_path)!r})).start(); print('pid', server.pid, flush=True)\n"
        "os._exit(1)"
    )
    with Process([dying], tmp_path / "output", command=_PYTHON) as process:
        server = int(process.wait_for_line(r"^pid (\d+)$")[1])
        eventually(lambda: not psutil.pid_exists(server), what="the end of the server")
