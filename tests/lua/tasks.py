"""Tasks as the tests of the scripts give them, ask for them and get them."""

from __future__ import annotations

from typing import NamedTuple

from oncue.common.record import pack
from tests.lua.calls import Arg
from tests.lua.instants import NOW

MANY = 65
"""The smallest number of tasks that a bucket hands over by name."""


class Task(NamedTuple):
    """A task to be scheduled."""

    id: str
    due: int = NOW
    queue: str = "q"
    band: int = 5
    data: bytes = b"1"
    nonce: bytes = b""
    expires: int = 0
    claim: bytes = b""

    @property
    def record(self) -> bytes:
        return pack(
            self.due,
            self.band,
            self.queue,
            (self.data, True),
            self.nonce,
            expires_ms=self.expires,
            claim=self.claim,
        )

    @property
    def bucket(self) -> bytes:
        return bucket(self.due, self.band, self.queue)


class Held(NamedTuple):
    """A task in a worker's hands, as `reserve` gave it."""

    id: str
    token: int
    queue: str = "q"
    band: int = 5
    attempts: int = 0
    failed: int = 0
    lost: int = 0
    due: int = NOW
    throttled: int = 0

    @property
    def args(self) -> tuple[Arg, ...]:
        return self.id, self.token, self.queue, self.band

    @property
    def lease(self) -> bytes:
        """Its member of the timetable."""
        return f"l{self.band}{self.queue}:{self.id}".encode()


class Asked(NamedTuple):
    """A queue that `reserve` is asked for, with the bands whose lists are declared."""

    name: str = "q"
    weight: float = 1
    bands: str = "0123456789"


class Reserved(NamedTuple):
    """What `reserve` answers."""

    tasks: list[Held]
    needs: list[bytes]
    references: list[bytes]

    @property
    def ids(self) -> list[str]:
        return [task.id for task in self.tasks]


def tasks(number: int, due: int = NOW, queue: str = "q", band: int = 5, prefix: str = "t") -> list[Task]:
    """So many tasks of one instant."""
    return [Task(f"{prefix}{n}", due, queue, band) for n in range(number)]


def bucket(due: int, band: int = 5, queue: str = "q") -> bytes:
    """The name of a bucket: its member of the timetable, and the reference to it once it is a segment."""
    return f"={due}:{band}:{queue}".encode()
