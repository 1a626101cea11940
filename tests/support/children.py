"""The processes that tests start: each is ended by its own pid, also when a test or a fixture fails."""

from __future__ import annotations

import atexit
import contextlib
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import reaper

_started: set[subprocess.Popen[bytes]] = set()


def spawn(
    command: Sequence[str], output: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start `command` with both outputs appended to the file `output`, in a session of its own."""
    with output.open("ab") as sink:
        # A session of its own: Ctrl-C in the terminal that runs the tests must reach pytest alone.
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    _started.add(child)
    reaper.watch(child.pid)
    return child


def end(child: subprocess.Popen[bytes], *, grace_s: float = 10) -> None:
    """SIGTERM, then SIGKILL after `grace_s` seconds; a process that is gone already is no error."""
    if child.poll() is None:
        # A stopped process does not act on SIGTERM before it is continued.
        for number in (signal.SIGTERM, signal.SIGCONT):
            child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace_s)
    kill(child)


def kill(child: subprocess.Popen[bytes]) -> None:
    """SIGKILL and reap."""
    child.kill()
    child.wait()
    _started.discard(child)


@atexit.register
def _end_all() -> None:
    for child in tuple(_started):
        kill(child)
