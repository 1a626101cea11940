"""A process group: one command in a session of its own, attended by the thread that has started it.

Nothing here polls: the thread sleeps until there is output, an end (a pidfd), somebody's wish, or a limit.
"""

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from oncue.common.clock import monotonic_s
from oncue.common.wait import Nudge
from oncue.worker.keeper import place_of_variables

_CHUNK = 65_536
_KEEPER = Path(__file__).with_name("keeper.py")


class Ending(NamedTuple):
    """Why a group is ended, and the monotonic seconds of its SIGTERM and its SIGKILL."""

    why: str
    term_at: float
    kill_at: float


class Ended(NamedTuple):
    """How a group has ended: exit code (negative for a signal), the last output, its whole length, who ended it."""

    code: int
    output: bytes
    length: int
    why: str


class Keeper:
    """The process that ends the groups of this worker, should it die; started before the first of them.

    ``mark``: the variable, with its value, that every command of this worker carries.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()
        self.mark = ("ONCUE_KEEPER", secrets.token_hex(8))

    def begin(self) -> None:
        """To be called before a command is started."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = self._started()

    def add(self, group: int) -> None:
        """Notes a group that has begun."""
        with self._lock:
            self._groups.add(group)
            self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Notes that a group has ended; to be called before its number can be given to another."""
        with self._lock:
            self._groups.discard(group)
            self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        if self._process is None or not self._write(line):
            self._process = self._started()
            self._write("".join(f"+{group}\n" for group in self._groups))

    def _write(self, text: str) -> bool:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode())
        except BrokenPipeError:
            # Somebody has killed it.
            self._process.wait()
            return False
        return True

    def _started(self) -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        # A session of its own: Ctrl-C at a terminal is not meant for it.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), "=".join(self.mark), place_of_variables()],
            stdin=subprocess.PIPE,
            stdout=null,
            stderr=null,
            env={},
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )


class Group:
    """One command; ``end`` may be called from any thread until ``attend`` has returned."""

    def __init__(
        self,
        program: str,
        words: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        output_limit_bytes: int,
        keeper: Keeper,
    ) -> None:
        """Starts it. Raises OSError."""
        self._keeper = keeper
        self._limit = output_limit_bytes
        self._kept = bytearray()
        self._length = 0
        self._lock = threading.Lock()
        self._endings: list[Ending] = []
        self._nudge: Nudge | None = Nudge()
        keeper.begin()
        try:
            self._process = subprocess.Popen(
                list(words),
                executable=program,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**env, **dict([keeper.mark])},
                cwd=cwd,
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            self._nudge.close()
            raise
        keeper.add(self._process.pid)

    def end(self, ending: Ending) -> None:
        """Ends it at the instants given, or earlier where others said so."""
        with self._lock:
            self._endings.append(ending)
            if self._nudge is not None:
                self._nudge.send()

    def attend(self) -> Ended:
        """Stays with it until it has ended. What it has left running in its group then ends with it."""
        process = self._process
        assert process.stdout is not None
        output = process.stdout.fileno()
        os.set_blocking(output, False)
        watch = os.pidfd_open(process.pid)
        try:
            why = self._watch(watch, output)
            # Not reaped yet, the dead leader holds the group's number: no signal can hit another one.
            self._signal(signal.SIGKILL)
            self._read(output)
        finally:
            os.close(watch)
            process.stdout.close()
            with self._lock:
                nudge, self._nudge = self._nudge, None
            assert nudge is not None
            nudge.close()
            self._signal(signal.SIGKILL)
            self._keeper.remove(process.pid)
            code = process.wait()
        return Ended(code, bytes(self._kept[-self._limit :]) if self._limit else b"", self._length, why)

    def _watch(self, watch: int, output: int) -> str:
        assert self._nudge is not None
        poller = select.poll()
        for number in (watch, output, self._nudge.fileno()):
            poller.register(number, select.POLLIN)
        why, signals = "", [signal.SIGTERM, signal.SIGKILL]
        while True:
            why, wait_s = self._due(why, signals)
            came = [
                number for number, _ in poller.poll(None if wait_s is None else max(0, wait_s * 1000 + 1))
            ]
            if output in came and not self._read(output):
                poller.unregister(output)
            if watch in came:
                return why
            if self._nudge.fileno() in came:
                self._nudge.clear()

    def _due(self, why: str, signals: list[signal.Signals]) -> tuple[str, float | None]:
        """Sends the signals whose time has come; why the group is being ended, and the time until the next signal in s."""
        with self._lock:
            endings = list(self._endings)
        while endings and signals:
            first = min(endings, key=lambda ending: ending.term_at)
            at = first.term_at if len(signals) > 1 else min(ending.kill_at for ending in endings)
            wait_s = at - monotonic_s()
            if wait_s > 0:
                return why, wait_s
            why = why or first.why
            self._signal(signals.pop(0))
        return why, None

    def _read(self, output: int) -> bool:
        """Reads what there is, one look; False at the end of the output."""
        try:
            chunk = os.read(output, _CHUNK)
        except BlockingIOError:
            return True
        self._length += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._limit + _CHUNK:
            del self._kept[: len(self._kept) - self._limit]
        return bool(chunk)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
