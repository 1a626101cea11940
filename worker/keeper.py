"""The keeper's process: ends the process groups of a worker's commands, should the worker die without doing so.

Run by its path, as `python -I -S worker/keeper.py MARK`: it imports next to nothing, so it starts in some 10 ms. The
worker holds the other end of its standard input, and writes `+PID` for a group that begins, `-PID` for one that has ended.

A worker that dies between starting a command and writing so is covered, too: every command has MARK among its variables,
and the pipe does not end before the last child of the worker has become its program, since until then the child holds a
copy of it.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # the module typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKS = 100


def main() -> None:
    """Keeps until the worker's end of the pipe is closed, by whatever death."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    mark = sys.argv[1].encode()
    for _ in range(_LOOKS):
        for group in groups:
            try:  # noqa: SIM105 - contextlib would triple the time that this takes to start
                os.killpg(group, signal.SIGKILL)
            except OSError:
                pass
        # What was killed may have started something since it was looked for.
        groups = set(_marked(mark))
        if not groups:
            return


def _marked(mark: bytes) -> "Iterator[int]":
    """The groups of all processes that have this variable, zombies excepted, which have none."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        yield os.getpgid(int(name))
            except OSError:
                # Another user's, or gone.
                continue


if __name__ == "__main__":
    main()
