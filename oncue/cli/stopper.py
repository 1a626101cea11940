"""Stopper: sees to it that a process which was told to stop ends in time, though a handler keeps the interpreter's lock.

C code may keep that lock for good (a regular expression can). Then no thread of Python runs in this process any more, the
main one with its signals included; what runs is the interpreter's signal handler in C, which writes each signal's number
to a descriptor. Behind that descriptor is a process of its own, which kills this one when its time is over.
"""

import contextlib
import logging
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

from oncue.common.wait import Nudge

_log = logging.getLogger("oncue.role")
_PROCESS = Path(__file__).with_name("stopperprocess.py")


class Stopper:
    """``ensure`` is for other threads, the rest for the main thread.

    Its process is started for the first task: a worker that has run nothing is kept by nobody, and need not pay for it.
    """

    def __init__(self, stop_s: float, hand_back_s: float) -> None:
        """``stop_s``: how long handlers may go on after a signal; ``hand_back_s``: how long what follows may take."""
        self._times_s = (stop_s, hand_back_s)
        self._pipe: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._nudge: Nudge | None = None
        self._wanted = False
        self._begun = threading.Event()

    def watch_over(self, nudge: Nudge) -> None:
        """``nudge``: what wakes the main thread, which then calls ``look_after``."""
        self._nudge = nudge

    def ensure(self) -> None:
        """Returns when it is there. Once a handler has begun, the main thread might not run any more to start it."""
        self._wanted = True
        if self._nudge is not None:
            self._nudge.send()
            self._begun.wait()

    def look_after(self) -> list[int]:
        """Starts it where it is wanted; the descriptors whose readiness calls for another look."""
        assert self._nudge is not None
        if self._wanted and not self._begun.is_set():
            try:
                self._begin(self._nudge)
            except OSError as error:
                _log.warning(
                    "a handler that keeps the interpreter could keep this worker from stopping: %s", error
                )
            self._begun.set()
        if self._pipe is not None and self._is_gone(self._pipe):
            self._pipe = None
            self._nudge.on_signals()
        return [] if self._pipe is None else [self._pipe]

    def _begin(self, nudge: Nudge) -> None:
        """Signals go to it from now on, and from it as nudges to the main thread."""
        theirs, ours = os.pipe()
        os.set_blocking(ours, False)
        given = (os.getpid(), nudge.far_end(), *self._times_s)
        try:
            # A session of its own: Ctrl-C at a terminal is not meant for it.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROCESS), *map(str, given)],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                env={},
                cwd="/",
                pass_fds=(nudge.far_end(),),
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
        self._pipe = ours

    def _is_gone(self, pipe: int) -> bool:
        """Whether somebody has killed it: signals have to go another way then."""
        poller = select.poll()
        poller.register(pipe, 0)
        if not poller.poll(0):
            return False
        assert self._process is not None
        self._process.wait()
        return True

    def stopping(self) -> None:
        """To be called when the stop begins: says, when the handlers' time is over, that threads still run here."""
        self._begun.set()
        if self._pipe is not None:
            timer = threading.Timer(self._times_s[0], _still_runs, [self._pipe])
            timer.daemon = True
            timer.start()


def _still_runs(pipe: int) -> None:
    with contextlib.suppress(OSError):
        os.write(pipe, b"\0")
