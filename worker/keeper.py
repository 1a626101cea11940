"""The keeper's process: ends the process groups of a worker's commands, should the worker die without doing so.

Run by its path, as `python -I -S worker/keeper.py MARK PLACE`: it imports next to nothing, so it starts in some 10 ms.
The worker holds the other end of its standard input, and writes `+PID` for a group that begins, `-PID` for one that has
ended.

A worker that dies between starting a command and writing so is covered, too: every command has MARK among its variables.
Only a child that has not become its program yet has none of its own. It has closed its copy of the pipe before, so the
pipe's end does not wait for it, and on a busy machine it may stand still there for long. Up to exec it shares the memory
of the worker, whose variables are at PLACE, where the kernel puts those of hardly any other; and during exec it has none.
As long as there is such a process, another look is needed.
"""

import os
import signal
import sys
import time

TYPE_CHECKING = False  # the module typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = "/proc"
_LOOKS = 100
_UNSURE_LOOKS = 1000
_PAUSE_S = 0.01

# In /proc/PID/stat, counted from the state, which follows the name.
_STATE, _FLAGS, _VARIABLES, _VARIABLES_END = 0, 6, 47, 48
_NO_PROGRAM = 0x00200000 | 0x00000004
"""Flags of a thread of the kernel, and of a process that is ending: neither will have a program."""


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
    mark, place = sys.argv[1:]
    end(groups, mark.encode(), place.encode())


def place_of_variables() -> str:
    """PLACE, of the process that asks; "" on a host without /proc, where the groups that were noted are all that can end."""
    try:
        return _about("self")[_VARIABLES].decode()
    except FileNotFoundError:
        return ""


def end(groups: set[int], mark: bytes, place: bytes) -> None:
    """Ends these groups, and all processes that have the mark."""
    looks = unsure_looks = 0
    while looks < _LOOKS and unsure_looks < _UNSURE_LOOKS:
        for group in groups:
            try:  # noqa: SIM105 - contextlib would triple the time that this takes to start
                os.killpg(group, signal.SIGKILL)
            except OSError:
                pass
        # What was killed may have started something since it was looked for.
        found = set(_marked(mark, place))
        groups = found - {0}
        if groups:
            looks += 1
        elif found:
            unsure_looks += 1
            time.sleep(_PAUSE_S)
        else:
            return


def _marked(mark: bytes, place: bytes) -> "Iterator[int]":
    """The groups of all processes that have this variable, and 0 for each of which that cannot be said yet."""
    for name in os.listdir(_PROC):
        if name.isdigit():
            try:
                # In this order: what has become its program by now has its variables when those are read.
                about = _about(name)
                if about[_STATE] in b"ZX" or int(about[_FLAGS]) & _NO_PROGRAM:
                    continue
                variables = _read(name, "environ")
                if mark in variables.split(b"\0"):
                    yield os.getpgid(int(name))
                elif about[_VARIABLES] == place or (not variables and not _has_none(about)):
                    yield 0
            except OSError:
                # Another user's, or gone.
                continue


def _has_none(about: list[bytes]) -> bool:
    """Whether it was given no variables; zeros are of one that is in the middle of exec."""
    return about[_VARIABLES] == about[_VARIABLES_END] != b"0"


def _about(name: str) -> list[bytes]:
    return _read(name, "stat").rpartition(b")")[2].split()


def _read(name: str, what: str) -> bytes:
    with open(f"{_PROC}/{name}/{what}", "rb") as file:
        return file.read()


if __name__ == "__main__":
    main()
