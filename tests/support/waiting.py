"""Waiting for a condition, never for a length of time: the only place in the tests that polls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Short enough not to show in a test's run time, long enough to leave the processor to what is waited for.
_PAUSE_S = 0.005
_never = threading.Event()


def eventually(condition: Callable[[], T | None], timeout_s: float = 10, what: str = "the condition") -> T:
    """Call `condition` until its answer is truthy and return that; AssertionError after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while True:
        # Seen before the look: a machine that stands still through all the time has had no look after that yet.
        is_last = time.monotonic() > deadline
        if answer := condition():
            return answer
        if is_last:
            raise AssertionError(f"{what}: not within {timeout_s} s, last answer {answer!r}")
        pause(_PAUSE_S)


def pause(seconds: float) -> None:
    """Let time pass, for the few tests whose subject is that nothing happens meanwhile."""
    _never.wait(seconds)
