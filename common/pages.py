"""Opening a page of the far future: its tasks move into the timetable, in bounded steps that anybody may take."""

from collections.abc import Sequence

from oncue.common.shard import Shard

STEP = 200
"""How many entries one call moves at most."""

Head = list[tuple[bytes, int]]


def head_of(flat: Sequence[bytes]) -> Head:
    """The first members of a timetable with their instants in ms, from a script's flat answer."""
    return [(flat[i], int(float(flat[i + 1]))) for i in range(0, len(flat), 2)]


def open_page(shard: Shard, member: bytes) -> Head:
    """Opens the whole page that ``member`` (``p<page>``) names, and returns the head of the timetable.

    Entries whose buckets' keys were not declared stay; each answer names what the next call needs.
    """
    keys = shard.keys
    page = keys.page(int(member[1:]))
    needs: list[bytes] = []
    while True:
        slots = [key for reference in needs for key in _bucket_keys(shard, reference)]
        fixed = [
            keys.records,
            keys.runs,
            keys.timetable,
            keys.counts,
            keys.bands,
            keys.stale,
            keys.armed,
            keys.notify,
        ]
        answer = shard.call("open_page", [*fixed, page, *slots], [shard.now_ms(), member, STEP, *needs])
        needs = answer[0]
        if not needs:
            head = head_of(answer[1])
            if not any(found == member for found, _ in head):
                return head


def _bucket_keys(shard: Shard, reference: bytes) -> tuple[bytes, bytes, bytes]:
    _, band, queue = reference[1:].split(b":")
    keys = shard.keys
    name = queue.decode()
    return keys.segment(reference), keys.ready(name, int(band)), keys.wake(name)
