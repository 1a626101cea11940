"""Limit: a function that takes too long, or whose task is cancelled, is interrupted by an exception in its own thread,
where Python allows it.

The exception comes between two instructions of Python code. A call that waits inside C (a long query, `time.sleep`,
a lock) is interrupted only when it returns, and what catches BaseException can swallow it: such handlers need
``isolation="process"``.
"""

import ctypes
import heapq
import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from oncue.common.answers import Cancelled, TimedOut
from oncue.common.clock import monotonic_s

_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


Interruption = type[TimedOut] | type[Cancelled]
OnCancel = Callable[[Callable[[], object] | None], None]
"""Has an action called once the task is cancelled; None takes it back. As ``Task.on_cancel``."""


class _Watch:
    """One call that may be interrupted, once for each reason."""

    __slots__ = ("lock", "running", "sent", "thread")

    def __init__(self) -> None:
        self.thread = ctypes.c_ulong(threading.get_ident())
        self.lock = threading.Lock()
        self.running = True
        self.sent: set[Interruption] = set()

    def interrupt(self, why: Interruption) -> None:
        with self.lock:
            if self.running and why not in self.sent:
                self.sent.add(why)
                _raise_in(self.thread, ctypes.py_object(why))

    def end(self) -> None:
        with self.lock:
            self.running = False
            # Sent and not yet raised: it must not hit what this thread does next. What others have sent, a limit around
            # this one say, stays.
            if self.sent:
                _raise_in(self.thread, None)


class Alarm:
    """One thread for all limits of a process, started with the first of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[tuple[float, int, _Watch]] = []
        self._number = itertools.count()
        self._thread: threading.Thread | None = None

    def set(self, watch: _Watch, timeout_s: float) -> None:
        """Interrupts the call of ``watch`` in so many seconds, if it still runs."""
        with self._changed:
            heapq.heappush(self._queue, (monotonic_s() + timeout_s, next(self._number), watch))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="oncue-alarm", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            self._next().interrupt(TimedOut)

    def _next(self) -> _Watch:
        with self._changed:
            while True:
                # Calls that have ended lie here until their time, or until they are first: a heap gives up no other.
                while self._queue and not self._queue[0][2].running:
                    heapq.heappop(self._queue)
                wait_s = self._queue[0][0] - monotonic_s() if self._queue else None
                if wait_s is not None and wait_s <= 0:
                    return heapq.heappop(self._queue)[2]
                self._changed.wait(wait_s)


_alarm = Alarm()


def call_within(
    timeout_s: float | None,
    function: Callable[[Any], object],
    argument: object,
    on_cancel: OnCancel | None = None,
) -> object:
    """``function(argument)``; raises TimedOut in it after ``timeout_s``, and Cancelled when ``on_cancel`` calls."""
    if timeout_s is None and on_cancel is None:
        return function(argument)
    watch = _Watch()
    try:
        return _watched(watch, timeout_s, partial(function, argument), on_cancel)
    except TimedOut:
        watch.end()
        # Raised by the function itself, or by a limit around this one.
        if TimedOut not in watch.sent:
            raise
        raise TimedOut(f"ran longer than its limit of {timeout_s:g} s") from None
    except Cancelled:
        watch.end()
        raise
    finally:
        if on_cancel is not None:
            on_cancel(None)


def _watched(
    watch: _Watch, timeout_s: float | None, call: Callable[[], object], on_cancel: OnCancel | None
) -> object:
    try:
        try:
            if timeout_s is not None:
                _alarm.set(watch, timeout_s)
            if on_cancel is not None:
                on_cancel(partial(watch.interrupt, Cancelled))
            return call()
        finally:
            watch.end()
    except (TimedOut, Cancelled):
        # One may have come in the middle of end(), and the other in the middle of this one. A third cannot come.
        watch.end()
        raise
