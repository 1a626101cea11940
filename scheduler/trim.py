"""Trim: keeps the dead within bounds of age, number and bytes; the oldest are purged."""

from collections.abc import Sequence
from typing import NamedTuple

from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard

KINDS = b"d"
STEP = 200


class Bounds(NamedTuple):
    """How many dead tasks are kept, in each shard; 0 is no bound. ``keep_ms``: how long a purge is remembered."""

    max_age_ms: int = 0
    max_count: int = 0
    max_bytes: int = 0
    keep_ms: int = 60_000


class Trim:
    """The duty, with its bounds."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def __call__(self, shard: Shard, members: Sequence[bytes] = ()) -> Head:
        """Purges up to ``STEP`` tasks beyond the bounds; where there are more, the head says so. The newest head."""
        bounds, keys = self._bounds, shard.keys
        first = (
            keys.records,
            keys.runs,
            keys.timetable,
            keys.counts,
            keys.dead,
            keys.dead_bytes,
            keys.errors,
        )
        args = (shard.now_ms(), bounds.keep_ms, STEP, bounds.max_age_ms, bounds.max_count, bounds.max_bytes)
        return head_of(shard.call("trim", (*first, keys.finished, keys.armed, keys.notify), args))
