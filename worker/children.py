"""Children: processes that run handlers of ``isolation="process"``, so that a limit can end whatever they do.

As many as run at once, made at need and kept for the next task. A child that is killed fails its task, and no other.
"""

import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec

from oncue.common.answers import Cancelled, Interrupt, TimedOut
from oncue.common.clock import monotonic_s
from oncue.common.errors import BadInput
from oncue.common.retry import RetryPolicy
from oncue.common.task import Task
from oncue.worker import frames
from oncue.worker.child import read_outcome
from oncue.worker.outcome import Outcome

STARTS_WITHIN_S = 60.0
"""How long a child may take to import the app."""

_NOT_THEIRS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
_TOLD = ("url", "username", "password", "password_file", "ca_file", "namespace", "shards", "max_data_bytes")


class ChildDied(Interrupt):
    """The process that ran the handler ended before it had answered. Counts as a failed attempt."""


class _Child:
    """One child process and its pipes."""

    def __init__(self, app_name: str, settings: dict[str, Any]) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        theirs_line, self._line = os.pipe()
        theirs = (theirs_in, theirs_out, theirs_line)
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_THEIRS}
        command = [sys.executable, "-m", "oncue.worker.child", app_name, *map(str, theirs)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=theirs, env=environment, start_new_session=True
            )
        finally:
            for number in theirs:
                os.close(number)
        self._questions: BinaryIO = os.fdopen(ours_out, "wb")
        self._answers: BinaryIO = os.fdopen(ours_in, "rb")
        frames.send(self._questions, settings)

    def ask(self, head: dict[str, Any], body: bytes, within_s: float | None) -> tuple[dict[str, Any], bytes]:
        """The answer to one question; raises TimedOut and Gone."""
        frames.send(self._questions, head, body)
        return self.answer(within_s)

    def answer(self, within_s: float | None) -> tuple[dict[str, Any], bytes]:
        poller = select.poll()
        poller.register(self._answers, select.POLLIN)
        # A child answers a frame in one go; one that stops in the middle is killed with its worker at the latest.
        if not poller.poll(None if within_s is None else max(1, round(within_s * 1000))):
            raise TimedOut
        return frames.receive(self._answers)

    def end(self) -> str:
        """Kills it, if it still runs, and says how it ended."""
        self._process.kill()
        code = self._process.wait()
        os.close(self._line)
        for pipe in (self._questions, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Ends it from another thread than that which asks it; that one tidies up."""
        self._process.kill()


class Children:
    """All child processes of one worker; ``run`` is called from handler threads."""

    def __init__(
        self, app_name: str, config: Mapping[str, Any], policies: Mapping[str, RetryPolicy] | None = None
    ) -> None:
        """``config``: fields of a Config, of which the children get those that a producer needs."""
        told = {name: config[name] for name in _TOLD if name in config}
        stored = {queue: policy.storable() for queue, policy in (policies or {}).items()}
        self._app_name = app_name
        self._settings = {"config": told, "policies": stored}
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._ended = False

    def run(self, task: Task, now_ms: int, timeout_s: float | None) -> Outcome:
        """Runs a task in a child, which is killed when the task is cancelled. Raises TimedOut, Cancelled and ChildDied."""
        child = self._taken()
        began = monotonic_s()
        cancelled = threading.Event()

        def cancel() -> None:
            cancelled.set()
            child.kill()

        try:
            task.on_cancel(cancel)
            try:
                answer = child.ask(*_question(task, now_ms), timeout_s)
            finally:
                task.on_cancel(None)
            outcome = read_outcome(task, *answer)
        except (TimedOut, frames.Gone, KeyError) as error:
            how = self._lost(child)
            if cancelled.is_set():
                raise Cancelled from None
            if isinstance(error, TimedOut):
                raise TimedOut(f"ran longer than its limit of {timeout_s:g} s, and was killed") from None
            raise ChildDied(
                f"the process that ran the handler {how} after {monotonic_s() - began:.1f} s"
            ) from None
        if cancelled.is_set():
            # It has answered in the last moment, and no other task may be given to it.
            self._lost(child)
            return outcome
        with self._lock:
            self._busy.discard(child)
            self._idle.append(child)
        return outcome

    def _taken(self) -> _Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.poll() is None:
                    self._busy.add(child)
                    return child
                child.end()
            if self._ended:
                raise ChildDied("the worker stops")
            child = _Child(self._app_name, self._settings)
            self._busy.add(child)
        try:
            child.answer(STARTS_WITHIN_S)
        except (TimedOut, frames.Gone):
            how = self._lost(child)
            raise ChildDied(f"a process for the handler did not start: it {how}") from None
        return child

    def _lost(self, child: _Child) -> str:
        with self._lock:
            self._busy.discard(child)
        return child.end()

    def stop(self) -> None:
        """Kills all of them; tasks that run in them are to be handed back before."""
        with self._lock:
            self._ended = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for child in busy:
            child.kill()
        for child in idle:
            child.end()


def _question(task: Task, now_ms: int) -> tuple[dict[str, Any], bytes]:
    names = (
        "id",
        "queue",
        "due_ms",
        "attempt",
        "failed",
        "lost",
        "throttled",
        "priority",
        "token",
        "options",
    )
    head = {name: getattr(task, name) for name in names}
    raw = isinstance(task.data, bytes)
    return {**head, "now_ms": now_ms, "raw": raw}, task.data if raw else msgspec.json.encode(task.data)


def needed(isolated: list[str], children: Children | None) -> Children | None:
    """``children``, where any queue needs them; raises BadInput if there are none then."""
    if isolated and children is None:
        raise BadInput(
            f"the handler of queue {isolated[0]} runs in a process of its own: start it with `oncue worker MODULE:APP`"
        )
    return children if isolated else None
