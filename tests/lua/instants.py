"""The instants, in ms, that the tests of the scripts speak of: nothing there reads a clock."""

from __future__ import annotations

from oncue.common.keys import PAGE_MS, opens_at, page_of

NOW = 28_333_334 * PAGE_MS
"""The instant, in ms, that the tests start from: the first of a page."""

LEASE = 15_000
KEEP = 60_000


def far(now: int = NOW, pages: int = 3) -> int:
    """An instant whose page is still closed: so many pages ahead, and half a page in."""
    return (page_of(now) + pages) * PAGE_MS + PAGE_MS // 2


def opening(due: int) -> int:
    """The instant at which the page of `due` is opened."""
    return opens_at(page_of(due))
