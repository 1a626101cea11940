"""Ends what a benchmark or the tests started when they die without a last word: a time-out's os._exit, a SIGKILL.

Runs as a process of its own, fed through a pipe that only its parent holds; its end of file is the news of the death.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

import psutil

_starting = threading.Lock()
_reaper: subprocess.Popen[bytes] | None = None


def watch(pid: int) -> None:
    """End the process of this pid, and its descendants, if this process dies before it."""
    global _reaper
    with _starting:
        if _reaper is None:
            # A session of its own, or Ctrl-C in the terminal would end the reaper before its work begins.
            _reaper = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, start_new_session=True, bufsize=0
            )
        assert _reaper.stdin is not None
        # The start time tells this process from a later one that is given the same pid.
        _reaper.stdin.write(f"{pid} {psutil.Process(pid).create_time()}\n".encode())


def _reap() -> None:
    watched = [line.split() for line in sys.stdin]
    for pid, created in watched:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(int(pid))
            if process.create_time() == float(created):
                end(process)


def end(process: psutil.Process) -> None:
    """SIGKILL to a process and its descendants."""
    for member in (*process.children(recursive=True), process):
        # Each may end by itself, with those that were ended before it: the others must not live on for that.
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()


if __name__ == "__main__":
    _reap()
