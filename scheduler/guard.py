"""Guard: replaces wake tokens that somebody took and died with, so no ready work waits beside idle workers."""

from collections.abc import Sequence

from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard

KINDS = b"g"


def guard(shard: Shard, members: Sequence[bytes]) -> Head:
    """Looks after the wake-ups of the queues of ``members`` (``g<queue>``). The newest head."""
    keys = shard.keys
    queues = [member[1:].decode() for member in members]
    fixed = (keys.timetable, keys.counts, keys.armed, keys.notify)
    wakes = [keys.wake(queue) for queue in queues]
    return head_of(shard.call("guard", [*fixed, *wakes], [shard.now_ms(), *queues]))
