"""Child processes of one parent: started, watched, started anew when they die, and stopped with it."""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from oncue.cli.failure import NO, OK, UNUSABLE
from oncue.cli.signals import Signals
from oncue.common import notify
from oncue.common.clock import monotonic_s
from oncue.common.faults import Backoff
from oncue.common.wait import Nudge

_log = logging.getLogger("oncue.processes")
_LIVED_S = 10.0
"""A child that lived so long was no failed start: its next restart comes without delay."""

_MOST_PAUSE_S = 10.0
_CALM_S = 1.0
"""How long killed children may take to be gone."""


@dataclass
class Child:
    """One child by its name; ``words`` follow `oncue` on its command line."""

    name: str
    words: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    line: socket.socket | None = None
    ready: bool = False
    started_at: float = 0.0
    start_at: float | None = 0.0
    backoff: Backoff = field(default_factory=lambda: Backoff(_MOST_PAUSE_S))

    def start(self, env: Mapping[str, str]) -> None:
        """In a session of its own: Ctrl-C at the terminal reaches the parent alone, which stops all in order."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "oncue", *self.words]
        command += ["--name", self.name, "--lifeline", str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self.line, self.ready, self.start_at, self.started_at = ours, False, None, monotonic_s()

    def listen(self) -> bool:
        """Hears whether the child is at work; True the first time that it is."""
        if self.line is None:
            return False
        try:
            heard = self.line.recv(16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            heard = b""
        if not heard:
            self.hang_up()
            return False
        self.ready = True
        return True

    def hang_up(self) -> None:
        """Closes this side of its lifeline: a child that still runs stops then."""
        if self.line is not None:
            self.line.close()
            self.line = None


class Supervisor:
    """``run`` is the main thread of the parent. It sleeps until a child dies, a restart is due, or a signal comes."""

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        *,
        stop_within_s: float,
        also: Callable[[], None] = lambda: None,
        watched: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        """``also`` is called at each wake, and ``watched`` gives descriptors whose readability wakes."""
        self._env = {**os.environ, **(env or {})}
        # The children are not the unit's main process: what they said would be dropped, or taken for ours.
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
            self._env.pop(name, None)
        self._stop_within_s = stop_within_s
        self._also = also
        self._watched = watched
        self._children: list[Child] = []
        self._nudge = Nudge()
        self._announced = False

    def add(self, name: str, words: Sequence[str]) -> None:
        """One more child, started by ``run``."""
        self._children.append(Child(name, words))

    def run(self, at_work: str = "") -> int:
        """Until a signal says stop (0, or 1 for a second one), or a child says that it can never work (2)."""
        signals = Signals(self._nudge)
        # The handler does nothing: a signal that has one is a nudge, and that is what wakes the main thread.
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        code = OK
        try:
            while not signals.stops and code == OK:
                self._also()
                code = self._look_after()
                self._announce(at_work)
                if code == OK:
                    self._nudge.wait_s(self._wait_s(), *self._files())
        finally:
            code = max(code, self._stop(signals))
        return code

    def _look_after(self) -> int:
        now = monotonic_s()
        for child in self._children:
            child.listen()
            if child.process is not None and (code := child.process.poll()) is not None:
                if code == UNUSABLE:
                    return UNUSABLE
                self._bury(child, code, now)
            if child.process is None and child.start_at is not None and child.start_at <= now:
                child.start(self._env)
        return OK

    def _bury(self, child: Child, code: int, now: float) -> None:
        if now - child.started_at >= _LIVED_S:
            child.backoff = Backoff(_MOST_PAUSE_S)
        pause_s = child.backoff.pause_s()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        _log.warning("%s %s; starting it anew in %.0f ms", child.name, how, pause_s * 1000)
        child.hang_up()
        child.process, child.ready, child.start_at = None, False, now + pause_s

    def _announce(self, at_work: str) -> None:
        notify.watchdog()
        if not self._announced and all(child.ready for child in self._children):
            self._announced = True
            text = at_work or f"{len(self._children)} processes at work"
            _log.info("%s", text)
            notify.ready(text)

    def _wait_s(self) -> float | None:
        now = monotonic_s()
        waits = [max(0.0, child.start_at - now) for child in self._children if child.start_at is not None]
        period_s = notify.watchdog_period_s()
        return min([*waits, *([] if period_s is None else [period_s])], default=None)

    def _files(self) -> list[int]:
        lines = [
            child.line.fileno() for child in self._children if child.line is not None and not child.ready
        ]
        return [*lines, *self._watched()]

    def _stop(self, signals: Signals) -> int:
        notify.stopping("stopping", self._stop_within_s)
        self._send(signal.SIGTERM)
        if self._gone(signals, self._stop_within_s):
            return OK
        # A second signal, or a child that does not end: its tasks run again when their leases end.
        self._send(signal.SIGKILL)
        self._gone(None, _CALM_S)
        return NO

    def _send(self, number: signal.Signals) -> None:
        for child in self._children:
            if child.process is not None and child.process.poll() is None:
                child.process.send_signal(number)

    def _gone(self, signals: Signals | None, within_s: float) -> bool:
        ends = monotonic_s() + within_s
        while any(child.process is not None and child.process.poll() is None for child in self._children):
            left = ends - monotonic_s()
            if left <= 0 or (signals is not None and signals.stops > 1):
                return False
            self._nudge.wait_s(left)
        return True
