"""Reclaim: tasks whose lease has ended, because their worker died or hangs, become ready again."""

import json
from collections.abc import Sequence

from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard

KINDS = b"l"

LOST_ALLOWED = 5
"""How many leases a task may lose: one that kills worker after worker must end somewhere."""


def reclaim(shard: Shard, members: Sequence[bytes]) -> Head:
    """Takes back the leases of ``members`` (``l<band><queue>:<id>``) that have ended by now. The newest head."""
    keys = shard.keys
    lists: list[bytes] = []
    for member in members:
        queue = member[2 : member.index(b":")].decode()
        lists += (keys.ready(queue, int(member[1:2])), keys.wake(queue))
    fixed = (
        keys.runs,
        keys.timetable,
        keys.counts,
        keys.records,
        keys.bands,
        keys.dead,
        keys.errors,
        keys.armed,
        keys.notify,
    )
    now = shard.now_ms()
    answer = shard.call("reclaim", [*fixed, *lists], [now, LOST_ALLOWED, _reason(now), *members])
    return head_of(answer)


def _reason(now_ms: int) -> str:
    message = f"its worker died or hung {LOST_ALLOWED + 1} times in a row, each time losing the lease"
    return json.dumps({"type": "LeaseLost", "message": message, "traceback": "", "at_ms": now_ms})
