"""Promote: move what is due to ready."""

from collections.abc import Sequence

from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard

KINDS = b"+="


def promote(shard: Shard, members: Sequence[bytes]) -> Head:
    """Moves due lone tasks and buckets to ready; ``members`` says whose keys are needed. The newest head."""
    keys = shard.keys
    pairs: dict[tuple[str, int], None] = {}
    buckets: list[bytes] = []
    for member in members:
        if member[:1] == b"=":
            buckets.append(member)
        pairs[queue_and_band(member)] = None
    lists = [key for queue, band in pairs for key in (keys.ready(queue, band), keys.wake(queue))]
    fixed = (keys.timetable, keys.counts, keys.bands, keys.stale, keys.armed, keys.notify)
    names = [name for queue, band in pairs for name in (queue, band)]
    segments = [keys.segment(member) for member in buckets]
    answer = shard.call(
        "promote", [*fixed, *lists, *segments], [shard.now_ms(), len(pairs), *names, *buckets]
    )
    return head_of(answer)


def queue_and_band(member: bytes) -> tuple[str, int]:
    """Whose a lone task (``+<placement><band><queue>:<id>``) or a bucket (``=<due>:<band>:<queue>``) is."""
    if member[:1] == b"=":
        _, band, queue = member[1:].split(b":")
        return queue.decode(), int(band)
    return member[6 : member.index(b":", 6)].decode(), int(member[5:6])
