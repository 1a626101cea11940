"""Sweep: forgets done and cancelled tasks that have been remembered long enough."""

from collections.abc import Sequence

from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard

KINDS = b"f"
STEP = 500


def sweep(shard: Shard, members: Sequence[bytes]) -> Head:
    """Forgets up to ``STEP`` tasks; where there are more, the head says so. The newest head."""
    keys = shard.keys
    fixed = (keys.runs, keys.timetable, keys.finished, keys.armed, keys.notify)
    return head_of(shard.call("sweep", (*fixed, keys.claims, keys.holding), [shard.now_ms(), STEP]))
