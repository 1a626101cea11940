"""Reclaim: tasks whose lease has ended, because their worker died or hangs, become ready again."""

import json
from collections.abc import Mapping, Sequence

from oncue.common.pages import Head, head_of
from oncue.common.retry import RetryPolicy
from oncue.common.shard import Shard

KINDS = b"l"


class Reclaim:
    """A task may lose so many leases, by its queue: one that kills worker after worker must end somewhere."""

    def __init__(self, max_lost: Mapping[str, int], keep_finished_ms: int = 60_000) -> None:
        """``max_lost`` by queue, each with the default of retry policies; ``keep_finished_ms``: see ``Fire``."""
        self._max_lost = max_lost
        self._keep_ms = keep_finished_ms
        self._usual = RetryPolicy().max_lost

    def __call__(self, shard: Shard, members: Sequence[bytes]) -> Head:
        """Takes back the leases of ``members`` (``l<band><queue>:<id>``) that have ended by now. The newest head."""
        groups: dict[int, list[bytes]] = {}
        for member in members:
            groups.setdefault(self._max_lost.get(_queue(member), self._usual), []).append(member)
        heads = [_reclaim(shard, group, self._keep_ms, allowed) for allowed, group in groups.items()]
        return heads[-1]


def _reclaim(shard: Shard, members: Sequence[bytes], keep_ms: int, allowed: int) -> Head:
    keys = shard.keys
    lists: list[bytes] = []
    for member in members:
        queue = _queue(member)
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
        keys.dead_bytes,
        keys.followers,
        keys.finished,
    )
    now = shard.now_ms()
    args: list[bytes | str | int] = [now, keep_ms, allowed, _reason(now, allowed), *members]
    return head_of(shard.call("reclaim", [*fixed, *lists], args))


def _queue(member: bytes) -> str:
    return member[2 : member.index(b":")].decode()


def _reason(now_ms: int, allowed: int) -> str:
    message = f"its worker died or hung {allowed + 1} times, each time losing the lease"
    return json.dumps({"type": "LeaseLost", "message": message, "traceback": "", "at_ms": now_ms})
