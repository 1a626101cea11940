"""What every handler of the benchmark does, for all peers alike: it leaves traces in files, never on the server.

A task's data is a text of 100 characters: a kind, a number, padding.

    n  no-op: counted in a slot of memory that the measuring process reads
    m  mark: one line with number, start and process
    s  slow: a mark, then it sleeps for so many seconds (the second number)
"""

import itertools
import mmap
import os
import struct
import threading
import time
from pathlib import Path

_making = threading.Lock()

SLOT = struct.Struct("<qqq")
SLOTS = 256
MARK = struct.Struct("<qqq")
DATA_BYTES = 100


def data(kind: str, number: int, seconds: float = 0) -> str:
    """The data of a task, ``DATA_BYTES`` long."""
    return f"{kind}{number} {seconds} ".ljust(DATA_BYTES, "x")


class Tally:
    """Counts runs: number, first and last instant in ns, a slot for each thread, so that threads never wait for each other."""

    def __init__(self, directory: str, owner: int) -> None:
        path = Path(directory) / f"tally-{owner}"
        size = SLOT.size * SLOTS
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(handle, size)
        self._memory = mmap.mmap(handle, size)
        os.close(handle)
        self._next = itertools.count()
        self._mine = threading.local()

    def hit(self) -> None:
        """Counts one run."""
        mine = self._mine
        try:
            at = mine.at
        except AttributeError:
            at = mine.at = next(self._next) * SLOT.size
        number, first, _ = SLOT.unpack_from(self._memory, at)
        now = time.time_ns()
        SLOT.pack_into(self._memory, at, number + 1, first or now, now)


_tally: Tally | None = None


def _forget() -> None:
    """A forked child counts in slots of its own."""
    global _tally
    _tally = None


os.register_at_fork(after_in_child=_forget)


def handle(text: str, owner: int | None = None) -> None:
    """The handler. ``owner``: whose slots to count in, where each task has a process of its own."""
    global _tally
    kind = text[0]
    if kind == "n":
        if _tally is None:
            with _making:
                _tally = _tally or Tally(os.environ["BENCH_OUT"], owner or os.getpid())
        _tally.hit()
        return
    started = time.time_ns()
    number, seconds = text[1:].split(" ")[:2]
    mark(int(number), started)
    if kind == "s":
        time.sleep(float(seconds))


def mark(number: int, started: int) -> None:
    """Writes one mark."""
    file = os.open(
        os.path.join(os.environ["BENCH_OUT"], "marks"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
    )
    os.write(file, MARK.pack(number, started, os.getpid()))
    os.close(file)
