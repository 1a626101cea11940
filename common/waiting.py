"""Calls about waiting tasks by id. Where each of them stands decides which keys a call needs, so it is learned first; it
may change before the call comes, and then the answer says what is true now."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from oncue.common.keys import page_of, queue_name
from oncue.common.shard import KeyTable, Shard, slot

REPLY_BYTES = 1 << 20
"""How many bytes of records and errors one reply brings at most, beside those of one task."""

Arg = bytes | str | int
_ANY = "surrogateescape"
"""What others wrote into the store as a queue's name goes back there as it was."""


class Sought(NamedTuple):
    """A task as it was found: it is believed to wait for that due time, in that band and queue."""

    id: str
    due_ms: int
    band: int
    queue: str
    found: list[Any]

    @property
    def bucket(self) -> bytes:
        """The name of the bucket that it would be in."""
        return b"=%d:%d:%s" % (self.due_ms, self.band, self.queue.encode(errors=_ANY))

    def at(self, bucket: bytes) -> "Sought":
        """The same task where a script says that it is."""
        due, band, queue = bucket[1:].split(b":", 2)
        return self._replace(due_ms=int(due), band=int(band), queue=queue.decode(errors=_ANY))


def sought(task_id: str, found: list[Any]) -> Sought:
    """A task by what ``locate`` has found of it."""
    # A finished task has no queue any more: no key is declared for it, and none is needed.
    _, due_ms, band, queue = found[:4]
    return Sought(task_id, due_ms, band, queue.decode(errors=_ANY), found)


def locate(shard: Shard, ids: Sequence[str], *, whole: bool = False) -> list[list[Any]]:
    """What the store knows of tasks (lua/locate.lua); nothing for an unknown one.

    ``whole``: with records and errors, and then perhaps only of the first ones: ``Store.known`` asks for the others.
    """
    keys = shard.keys
    fixed = (keys.records, keys.runs, keys.timetable, keys.errors)
    answers: list[list[Any]] = shard.call(
        "locate", fixed, [shard.now_ms(), REPLY_BYTES if whole else 0, *ids]
    )
    return answers


def cancel(shard: Shard, tasks: Sequence[Sought], keep_ms: int) -> list[bytes]:
    """One call of lua/cancel.lua."""
    keys = shard.keys
    table = KeyTable(
        keys.records,
        keys.runs,
        keys.timetable,
        keys.counts,
        keys.stale,
        keys.finished,
        keys.errors,
        keys.armed,
        keys.notify,
        keys.followers,
    )
    args: list[Arg] = [shard.now_ms(), keep_ms]
    for task in tasks:
        args += (task.id, *_lists(shard, table, task))
    answers: list[bytes] = shard.call("cancel", table.keys, args)
    return answers


def reschedule(shard: Shard, tasks: Sequence[Sought], due_ms: int) -> list[bytes]:
    """One call of lua/reschedule.lua, to one instant for all."""
    keys = shard.keys
    now = shard.now_ms()
    table = KeyTable(
        keys.records,
        keys.runs,
        keys.timetable,
        keys.counts,
        keys.bands,
        keys.stale,
        keys.seq,
        keys.armed,
        keys.notify,
    )
    args: list[Arg] = [now]
    for task in tasks:
        at = table.add(*slot(keys, now, due_ms, task.band, queue_name(task.queue))) if task.queue else 0
        args += (task.id, due_ms, *_lists(shard, table, task), at)
    answers: list[bytes] = shard.call("reschedule", table.keys, args)
    return answers


def _lists(shard: Shard, table: KeyTable, task: Sought) -> tuple[int, int]:
    keys = shard.keys
    page = table.add(keys.page(page_of(task.due_ms)))
    bucket = table.add(keys.segment(task.bucket), keys.ready_beside(task.bucket))
    return page, bucket
