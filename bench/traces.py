"""Reads what the handlers have left (bench/work.py), from the measuring process."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.work import MARK, SLOT


class Mark(NamedTuple):
    """One start of one task."""

    number: int
    started_s: float
    pid: int


class Count(NamedTuple):
    """How many no-op tasks ran, and when the first and the last of them did, in s."""

    number: int
    first_s: float
    last_s: float


def marks(directory: Path) -> list[Mark]:
    """All marks so far, in the order written."""
    path = directory / "marks"
    body = path.read_bytes() if path.exists() else b""
    whole = len(body) // MARK.size * MARK.size
    return [Mark(number, ns / 1e9, pid) for number, ns, pid in MARK.iter_unpack(body[:whole])]


def count(directory: Path) -> Count:
    """The sum over all slots."""
    number, first, last = 0, 0, 0
    for path in directory.glob("tally-*"):
        for mine, began, ended in SLOT.iter_unpack(path.read_bytes()):
            if mine:
                number += mine
                first = min(first or began, began)
                last = max(last, ended)
    return Count(number, first / 1e9, last / 1e9)


def wait(done: Callable[[], bool], timeout_s: float, pause_s: float = 0.02) -> bool:
    """Waits until ``done``; False after ``timeout_s``."""
    ends = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > ends:
            return False
        time.sleep(pause_s)
    return True
