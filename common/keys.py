"""Every key of the store, one function each: its type in the comment, the hash tag written once.

All keys of a shard share the hash tag ``{namespace:shard}``, on a single server and on a cluster alike, so every
script's keys live on one node. To change a key's name or type: change it here and in ``docs/protocol.md`` (a test
compares the two), whose last part says what else goes into that commit.
"""

import re
import zlib

from oncue.common.errors import BadInput

PAGE_MS = 60_000
"""Length of a page of time, in milliseconds."""

_QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SCHEDULE = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{1,32}")


def queue_name(name: object) -> str:
    """``name`` if it is a usable queue name; raises BadInput. Braces would break the hash tag, ``:`` the members."""
    if not isinstance(name, str) or not _QUEUE.fullmatch(name):
        raise BadInput(f"{name!r} is not a queue name: use 1 to 64 of the characters A-Z a-z 0-9 _ . -")
    return name


def schedule_name(name: str) -> str:
    """``name`` if it is a usable name of a schedule; raises BadInput."""
    if not _SCHEDULE.fullmatch(name):
        raise BadInput(
            f"{name!r:.200} is not a schedule's name: use 1 to 128 of the characters A-Z a-z 0-9 _ . -"
        )
    return name


def shard_of(queue: str, shards: int) -> int:
    """The shard that a queue lives in: the same in every process, whatever its hash seed."""
    return zlib.crc32(queue.encode()) % shards


def page_of(due_ms: int) -> int:
    """The page of time that an instant lies in."""
    return due_ms // PAGE_MS


def opens_at(page: int) -> int:
    """The instant, in ms, at which a page is opened: one page ahead of its first instant."""
    return (page - 1) * PAGE_MS


class Keys:
    """The keys of one shard, as bytes: the fixed ones are attributes, since every call needs them."""

    def __init__(self, namespace: str, shard: int) -> None:
        if not _NAMESPACE.fullmatch(namespace):
            raise BadInput(
                f"{namespace!r} is not a namespace: use 1 to 32 of the characters A-Z a-z 0-9 _ . -"
            )
        prefix = self.prefix = f"{{{namespace}:{shard}}}:".encode()
        self.records = prefix + b"records"  # hash: id -> record (see common/record.py)
        self.runs = prefix + b"runs"  # hash: id -> what changes, from the first reservation on
        self.errors = prefix + b"errors"  # hash: id -> its last failures, up to ten, a line of JSON each
        self.timetable = prefix + b"timetable"  # sorted set: all that happens later, by instant in ms
        self.stale = prefix + b"stale"  # hash: page or bucket -> how many of its entries are cancelled
        self.bands = prefix + b"bands"  # hash: queue -> bit mask of its bands that may hold ready tasks
        self.served = prefix + b"served"  # hash: queue -> virtual time of fair queueing; "" -> its clock
        self.counts = prefix + b"counts"  # hash: queue:state -> number of tasks
        self.finished = prefix + b"finished"  # list: keep-until instant and id of done and cancelled tasks
        self.dead = prefix + b"dead"  # sorted set: ids of dead tasks by the instant of their burial in ms
        self.claims = prefix + b"claims"  # hash: kind, queue and key -> instant, and the task made for it
        self.holding = prefix + b"holding"  # sorted set: ids of done tasks that hold a key, by its end in ms
        self.dead_bytes = prefix + b"dead_bytes"  # string: bytes of the records and errors of dead tasks
        self.schedules = prefix + b"schedules"  # hash: name -> definition hash and definition (JSON)
        self.followers = prefix + b"followers"  # hash: id of a task -> what its end lets go; ends of lines
        self.revisions = prefix + b"revisions"  # hash: revisions of files, in their order; notes of moves
        self.zones = prefix + b"zones"  # hash: rules of the time zones in force, and their data
        self.seq = prefix + b"seq"  # string: counter behind placements and fencing tokens
        self.armed = prefix + b"armed"  # string: instant in ms at which all schedulers wake, at the latest
        self.notify = prefix + b"notify"  # stream, capped: the notify list

    def schedule(self, name: str) -> bytes:
        """Hash: how a schedule stands: its state, counts, planned instant, last tick."""
        return b"%sschedule:%s" % (self.prefix, name.encode())

    def history(self, name: str) -> bytes:
        """List: what became of a schedule's last planned instants, JSON, the newest first."""
        return b"%shistory:%s" % (self.prefix, name.encode())

    def backfilled(self, name: str) -> bytes:
        """Sorted set: planned instants that were run by hand afterwards."""
        return b"%sbackfilled:%s" % (self.prefix, name.encode())

    def page(self, page: int) -> bytes:
        """List: entries of the tasks due in that page of time."""
        return b"%spage:%d" % (self.prefix, page)

    def bucket(self, due_ms: int, band: int, queue: str) -> bytes:
        """List: entries of the tasks of one queue and band that share a due instant; once promoted, a segment."""
        return b"%sbucket:%d:%d:%s" % (self.prefix, due_ms, band, queue.encode())

    def segment(self, reference: bytes) -> bytes:
        """The bucket that a reference ``=due:band:queue`` in a ready list or timetable speaks of."""
        return b"%sbucket:%s" % (self.prefix, reference[1:])

    def ready_beside(self, reference: bytes) -> bytes:
        """The ready list of the queue and band that a reference ``=due:band:queue`` speaks of."""
        _, band, queue = reference[1:].split(b":", 2)
        return b"%sready:%s:%s" % (self.prefix, queue, band)

    def ready(self, queue: str, band: int) -> bytes:
        """List: entries of ready tasks, and references to whole buckets handed over by name."""
        return b"%sready:%s:%d" % (self.prefix, queue.encode(), band)

    def result(self, task_id: str) -> bytes:
        """String: the result of a done task (see common/result.py); the server drops it when its time is over."""
        return b"%sresult:%s" % (self.prefix, task_id.encode())

    def wake(self, queue: str) -> bytes:
        """List: the wake list of a queue; a token while it may hold ready tasks (several after a guard), else absent."""
        return b"%swake:%s" % (self.prefix, queue.encode())
