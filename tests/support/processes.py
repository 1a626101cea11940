"""A command of the product as a real process, with its output, its signals and its cost."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.support import children
from tests.support.waiting import eventually

_ROOT = Path(__file__).resolve().parents[2]


class Process:
    """`python -m oncue *args`, or any other `command`, with both outputs in the file `output`.

    `env` is added to the environment of the tests, from which all ONCUE_ settings are taken out.
    """

    def __init__(
        self,
        args: Sequence[str | Path],
        output: Path,
        env: Mapping[str, str] | None = None,
        *,
        command: Sequence[str | Path] = (sys.executable, "-m", "oncue"),
        cwd: Path | None = None,
    ) -> None:
        self._command = [str(word) for word in (*command, *args)]
        self.output_file = output
        self._cwd = cwd
        self._env = {**_environment(), **(env or {})}
        self._child: subprocess.Popen[bytes] | None = None
        self._orphans: list[psutil.Process] = []

    def start(self) -> Self:
        self._child = children.spawn(self._command, self.output_file, cwd=self._cwd, env=self._env)
        return self

    @property
    def child(self) -> subprocess.Popen[bytes]:
        assert self._child is not None, "the process was not started"
        return self._child

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def running(self) -> bool:
        return self.child.poll() is None

    @property
    def output(self) -> str:
        """Everything printed so far, to both outputs."""
        return self.output_file.read_text(errors="replace")

    def wait_for_line(self, pattern: str, timeout_s: float = 15) -> re.Match[str]:
        """The first match of `pattern` in the output; fails early, with the output, if the process ends before."""
        try:
            return eventually(lambda: self._match(pattern), timeout_s, f"a line like {pattern!r}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output[-4000:]}") from None

    def _match(self, pattern: str) -> re.Match[str] | None:
        # Asked before the look at the output: what a process prints last is there when it has ended.
        running = self.running
        match = re.search(pattern, self.output, re.MULTILINE)
        if match is None and not running:
            raise AssertionError(f"ended with code {self.child.returncode} without a line like {pattern!r}")
        return match

    def wait(self, timeout_s: float = 15) -> int:
        """The exit code; negative for the signal that ended it."""
        try:
            return self.child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout_s} s\n{self.output[-4000:]}") from None

    def kill(self) -> None:
        """SIGKILL and wait; what it had started lives on, until the end of the test."""
        self._orphans += self.children() if self.running else []
        children.kill(self.child)

    def term(self) -> None:
        self.child.send_signal(signal.SIGTERM)

    def interrupt(self) -> None:
        """Ctrl-C at a terminal: SIGINT to the process and to all in its group."""
        os.killpg(self.pid, signal.SIGINT)

    def pause(self) -> None:
        self.child.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.child.send_signal(signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """All processes that it started, and theirs."""
        return psutil.Process(self.pid).children(recursive=True)

    def rss_bytes(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)

    def cpu_seconds(self) -> float:
        """User and system time of this process so far, its children left out."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def end(self) -> None:
        """For teardown: end it and what it started, each by its pid; no error if it is gone."""
        if self._child is None:
            return
        self._orphans += self.children() if self.running else []
        children.end(self._child)
        for process in self._orphans:
            # psutil compares the start time, so a pid that was given to another process meanwhile is left alone.
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def has_ended(process: psutil.Process) -> bool:
    """Also of one that nobody has waited for yet, and of one that goes while it is looked at."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def words_of(process: psutil.Process) -> list[str]:
    """The command line; none of a process that has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONCUE_")}
    paths = [str(_ROOT), kept.get("PYTHONPATH", "")]
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}
