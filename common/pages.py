"""Opening a page of the far future: its tasks move into the timetable, in bounded steps that anybody may take."""

from collections.abc import Sequence

from oncue.common.due import LAST_MS
from oncue.common.shard import Shard

STEP = 100
"""How many entries one call moves at most: some 2 ms of the server, for which others wait."""

Head = list[tuple[bytes, int]]


def head_of(flat: Sequence[bytes]) -> Head:
    """The first members of a timetable with their instants in ms, from a script's flat answer."""
    return [(flat[i], _instant(flat[i + 1])) for i in range(0, len(flat), 2)]


def _instant(score: bytes) -> int:
    # Clamped, because a score that no oncue has written may be infinite.
    return int(min(max(float(score), 0.0), LAST_MS))


def open_step(shard: Shard, member: bytes, needs: Sequence[bytes]) -> tuple[list[bytes], Head]:
    """Moves the next entries of the page that ``member`` (``p<page>``) names.

    Returns the references of the buckets whose keys the next step needs, to be given to it, and the newest head.
    Entries whose buckets' keys were not declared stay.
    """
    keys = shard.keys
    fixed = (
        keys.records,
        keys.runs,
        keys.timetable,
        keys.counts,
        keys.bands,
        keys.stale,
        keys.armed,
        keys.notify,
    )
    slots = [key for reference in needs for key in _bucket_keys(shard, reference)]
    args: list[bytes | str | int] = [shard.now_ms(), member, STEP, *needs]
    wanted, flat = shard.call("open_page", [*fixed, keys.page(int(member[1:])), *slots], args)
    return wanted, head_of(flat)


def open_page(shard: Shard, member: bytes) -> None:
    """Opens a page to its end: for a cancel that meets a half-open one."""
    needs: list[bytes] = []
    while True:
        needs, head = open_step(shard, member, needs)
        if not needs and all(found != member for found, _ in head):
            return


def _bucket_keys(shard: Shard, reference: bytes) -> tuple[bytes, bytes, bytes]:
    keys, queue = shard.keys, reference.rpartition(b":")[2].decode()
    return keys.segment(reference), keys.ready_beside(reference), keys.wake(queue)
