"""Allowance: whether a worker may run commands, or call URLs, and which.

Two things on purpose. A list says which, and stands in the file, which many hosts share; only the worker that is
started so may run any. Who can write to the store decides neither.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from oncue.common.errors import BadInput
from oncue.common.work import check_url


@dataclass(frozen=True, slots=True)
class Allowance:
    """``on``: this process may. ``only``: these, as patterns of paths or beginnings of URLs; None: any."""

    on: bool = False
    only: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return str(self.on).lower()

    def allows_program(self, path: str) -> bool:
        """Whether the program of this absolute path may be run."""
        if not self.on or self.only is None:
            return self.on
        # What .. means depends on links: a path with it is nobody's.
        way = PurePosixPath(path)
        return ".." not in way.parts and any(way.match(pattern) for pattern in self.only)

    def allows_url(self, url: str) -> bool:
        """Whether this URL may be called."""
        if not self.on or self.only is None:
            return self.on
        return any(_begins(url, start) for start in self.only)


NOTHING = Allowance()


def of(values: Iterable[bool | tuple[str, ...]]) -> Allowance:
    """What the file, the variables and the flags say, in rising order: a list stays what it is, whoever turns it on."""
    on, only = False, None
    for value in values:
        if isinstance(value, tuple):
            only = value
        else:
            on = value
    return Allowance(on, only)


def check_pattern(pattern: str) -> None:
    """Raises BadInput for what is no absolute path or pattern of one."""
    if not pattern.startswith("/") or ".." in PurePosixPath(pattern).parts:
        raise BadInput(f"found {pattern!r:.80}; allowed: absolute paths, and patterns such as /opt/jobs/*")


def check_start(start: str) -> None:
    """Raises BadInput for what is no beginning of a URL with its whole host."""
    try:
        check_url(start)
    except ValueError as error:
        raise BadInput(str(error)) from None
    if not urlsplit(start).path:
        raise BadInput("found a URL that ends where its host may go on; put a / behind the host")


def _begins(url: str, start: str) -> bool:
    ours, theirs = urlsplit(start), urlsplit(url)
    same_place = (ours.scheme, ours.hostname, ours.port) == (theirs.scheme, theirs.hostname, theirs.port)
    shown = f"{theirs.path}?{theirs.query}" if theirs.query else theirs.path
    wanted = f"{ours.path}?{ours.query}" if ours.query else ours.path
    return same_place and shown.startswith(wanted)
