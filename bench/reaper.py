"""Ends what a killed benchmark has left: it outlives its parent just long enough to end the parent's process groups.

Lines on standard input: ``+GROUP`` for one that was started, ``-GROUP`` for one that has ended.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress


def reap() -> None:
    """Follows the lines until the parent is gone, then ends the groups that are left."""
    # Ctrl-C is for the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


class Reaper:
    """The process, from the parent's side; started with the first group."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def tell(self, sign: str, group: int) -> None:
        """``+`` or ``-`` and a process group."""
        if self._process is None:
            command = [sys.executable, "-m", "bench.reaper"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, text=True, start_new_session=True
            )
        assert self._process.stdin is not None
        self._process.stdin.write(f"{sign}{group}\n")
        self._process.stdin.flush()


if __name__ == "__main__":
    reap()
