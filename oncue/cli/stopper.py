"""Stopper: sees to it that a process which was told to stop ends in time, though a handler keeps the interpreter's lock.

C code may keep that lock for good (a regular expression can). Then no thread of Python runs in this process any more, the
main one with its signals included; what runs is the interpreter's signal handler in C, which writes each signal's number
to a descriptor. Behind that descriptor is a process of its own, which kills this one when its time is over.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

from oncue.common.wait import Nudge

_PROCESS = Path(__file__).with_name("stopperprocess.py")


class Stopper:
    """``begin`` and ``is_gone`` are for the main thread."""

    def __init__(self, stop_s: float, hand_back_s: float) -> None:
        """``stop_s``: how long handlers may go on after a signal; ``hand_back_s``: how long what follows may take."""
        self._times_s = (stop_s, hand_back_s)
        self._pipe = -1
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, nudge: Nudge) -> None:
        """Starts it. Signals go to it from now on, and from it as nudges to the main thread."""
        theirs, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
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
        signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)

    def fileno(self) -> int:
        """What ends a wait when it is gone."""
        return self._pipe

    def is_gone(self) -> bool:
        """Whether somebody has killed it: signals have to go another way then."""
        poller = select.poll()
        poller.register(self._pipe, 0)
        if not poller.poll(0):
            return False
        assert self._process is not None
        self._process.wait()
        return True

    def stopping(self) -> None:
        """To be called when the stop begins: says, when the handlers' time is over, that threads still run here."""
        timer = threading.Timer(self._times_s[0], self._still_runs)
        timer.daemon = True
        timer.start()

    def _still_runs(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._pipe, b"\0")
