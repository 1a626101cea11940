"""Calls of the scripts that deal with tasks, built by their contracts."""

from __future__ import annotations

from collections.abc import Sequence

from oncue.common.keys import page_of
from oncue.common.shard import KeyTable, slot
from tests.lua.calls import Arg, Call, Shard
from tests.lua.instants import KEEP, LEASE
from tests.lua.tasks import Asked, Held, Task


class TaskCalls(Shard):
    """The methods named like files in lua/ build one call each."""

    def schedule(self, now: int, *new: Task) -> Call:
        k = self.keys
        table = KeyTable(
            k.records, k.runs, k.timetable, k.counts, k.bands, k.seq, k.armed, k.notify, k.claims
        )
        args: list[Arg] = [now]
        for task in new:
            args += (task.id, task.record, table.add(*slot(k, now, task.due, task.band, task.queue)))
        return self.call("schedule", [*table.keys, *self._former(*new)], args)

    def schedule_one(self, task: Task) -> Call:
        k = self.keys
        fixed = [k.records, k.runs, k.counts, k.seq, k.page(page_of(task.due))]
        return self.call("schedule_one", [*fixed, *self._former(task)], [task.id, task.record])

    def _former(self, *new: Task) -> list[bytes]:
        """Where former tasks of the same ids may have left results."""
        return [self.keys.result(task.id) for task in new if task.nonce]

    def open_page(self, now: int, page: int, *buckets: bytes, most: int = 200) -> Call:
        k = self.keys
        fixed = [k.records, k.runs, k.timetable, k.counts, k.bands, k.stale, k.armed, k.notify, k.page(page)]
        for name in buckets:
            fixed += (k.segment(name), *self.lists(name))
        return self.call("open_page", fixed, [now, f"p{page}", most, *buckets])

    def promote(self, now: int, slots: Sequence[tuple[str, int]] = (("q", 5),), *buckets: bytes) -> Call:
        k = self.keys
        keys = [k.timetable, k.counts, k.bands, k.stale, k.armed, k.notify]
        args: list[Arg] = [now, len(slots)]
        for queue, band in slots:
            keys += (k.ready(queue, band), k.wake(queue))
            args += (queue, band)
        return self.call("promote", [*keys, *map(k.segment, buckets)], [*args, *buckets])

    def reserve(
        self,
        now: int,
        *asked: Asked,
        most: int = 10,
        most_bytes: int = 1 << 20,
        lease: int = LEASE,
        keep: int = KEEP,
        segments: Sequence[bytes] = (),
    ) -> Call:
        k = self.keys
        asked = asked or (Asked(),)
        keys = [
            k.records,
            k.runs,
            k.timetable,
            k.counts,
            k.bands,
            k.served,
            k.seq,
            k.armed,
            k.notify,
            k.finished,
            k.errors,
            k.followers,
        ]
        args: list[Arg] = [now, lease, most, most_bytes, keep, len(asked)]
        for name, weight, bands in asked:
            keys += (k.wake(name), *(k.ready(name, int(band)) for band in bands))
            args += (name, str(weight), bands)
        return self.call("reserve", [*keys, *map(k.segment, segments)], [*args, *segments])

    def complete(
        self, now: int, *held: Held, keep: int = KEEP, kept: dict[str, tuple[bytes, int]] | None = None
    ) -> Call:
        """`kept`: results, and for how long in ms, by task."""
        k = self.keys
        keys = [
            k.runs,
            k.timetable,
            k.counts,
            k.records,
            k.finished,
            k.errors,
            k.armed,
            k.notify,
            k.followers,
        ]
        results = [task for task in held if task.id in (kept or {})]
        args: list[Arg] = [now, keep, len(results)]
        for task in results:
            args += (held.index(task) + 1, *(kept or {})[task.id])
        given = [arg for task in held for arg in task.args]
        return self.call("complete", [*keys, *(k.result(task.id) for task in results)], [*args, *given])

    def commit(self, now: int, held: Held, *commands: Sequence[Arg], keep: int = KEEP) -> Call:
        """`commands` name their key second."""
        k = self.keys
        keys = [
            k.runs,
            k.timetable,
            k.counts,
            k.records,
            k.finished,
            k.errors,
            k.armed,
            k.notify,
            k.followers,
        ]
        own = [key for _, key, *_ in commands if isinstance(key, bytes)]
        args = [arg for command in commands for arg in (len(command), *command)]
        return self.call("commit", [*keys, *own], [now, keep, *held.args, *args])

    def abandon(self, now: int, *held: Held, keep: int = KEEP) -> Call:
        k = self.keys
        keys = [
            k.runs,
            k.timetable,
            k.counts,
            k.records,
            k.finished,
            k.errors,
            k.armed,
            k.notify,
            k.followers,
        ]
        return self.call("abandon", keys, [now, keep, *(arg for task in held for arg in task.args)])

    def retry(
        self, now: int, due: int, *held: Held, error: str = '{"type":"Boom"}', counted: str = "failed"
    ) -> Call:
        k = self.keys
        fixed = (k.runs, k.timetable, k.counts, k.records, k.bands, k.errors, k.armed, k.notify)
        table = KeyTable(*fixed, k.finished, k.followers)
        args: list[Arg] = [now, KEEP]
        for task in held:
            at = table.add(*slot(k, now, due, task.band, task.queue, alone=True))
            args += (*task.args, due, error, at, counted)
        return self.call("retry", table.keys, args)

    def bury(self, now: int, *held: Held, error: str = '{"type":"Boom"}', counted: str = "failed") -> Call:
        k = self.keys
        keys = [k.runs, k.timetable, k.counts, k.dead, k.errors, k.records, k.dead_bytes, k.armed, k.notify]
        keys.append(k.followers)
        args = [arg for task in held for arg in (*task.args, error, counted)]
        return self.call("bury", keys, [now, *args])

    def release(self, now: int, *held: Held) -> Call:
        k = self.keys
        keys = [k.runs, k.timetable, k.counts, k.records, k.bands, k.errors, k.armed, k.notify]
        keys += (k.finished, k.followers)
        for task in held:
            keys += (k.ready(task.queue, task.band), k.wake(task.queue))
        return self.call("release", keys, [now, KEEP, *(arg for task in held for arg in task.args)])

    def renew(self, now: int, *held: Held, lease: int = LEASE) -> Call:
        args = [arg for task in held for arg in task.args]
        return self.call("renew", [self.keys.runs, self.keys.timetable], [now, lease, *args])

    def reclaim(self, now: int, *leases: bytes, allowed: int = 3) -> Call:
        k = self.keys
        keys = [k.runs, k.timetable, k.counts, k.records, k.bands, k.dead, k.errors, k.armed, k.notify]
        keys += (k.dead_bytes, k.followers, k.finished)
        for member in leases:
            queue = member[2:].partition(b":")[0].decode()
            keys += (k.ready(queue, int(member[1:2])), k.wake(queue))
        return self.call("reclaim", keys, [now, KEEP, allowed, '{"type":"Lost"}', *leases])

    def guard(self, now: int, *queues: str) -> Call:
        k = self.keys
        return self.call(
            "guard", [k.timetable, k.counts, k.armed, k.notify, *map(k.wake, queues)], [now, *queues]
        )

    def sweep(self, now: int, most: int = 1000) -> Call:
        k = self.keys
        keys = [k.runs, k.timetable, k.finished, k.armed, k.notify, k.claims, k.holding]
        return self.call("sweep", keys, [now, most])

    @property
    def dead_keys(self) -> list[bytes]:
        k = self.keys
        first = [k.records, k.runs, k.timetable, k.counts, k.dead, k.dead_bytes, k.errors]
        return [*first, k.finished, k.armed, k.notify]

    def purge(self, now: int, *ids: str) -> Call:
        return self.call("purge", self.dead_keys, [now, KEEP, *ids])

    def trim(self, now: int, most: int = 100, age: int = 0, number: int = 0, size: int = 0) -> Call:
        return self.call("trim", self.dead_keys, [now, KEEP, most, age, number, size])

    def redrive(self, now: int, *tasks: Task, into: str = "", at: int = 0) -> Call:
        k = self.keys
        fixed = (k.records, k.runs, k.timetable, k.counts, k.bands, k.seq, k.dead, k.dead_bytes, k.errors)
        table = KeyTable(*fixed, k.armed, k.notify, k.claims)
        args: list[Arg] = [now, at or now]
        for task in tasks:
            queue = into or task.queue
            args += (task.id, queue, task.band, table.add(k.ready(queue, task.band), k.wake(queue)))
        return self.call("redrive", table.keys, args)

    def unique(self, now: int, task: Task, held_while: str = "waiting", until: int = 0) -> Call:
        k = self.keys
        fixed = [k.records, k.runs, k.timetable, k.counts, k.bands, k.seq, k.armed, k.notify, k.claims]
        keys = [*fixed, k.result(task.id), *slot(k, now, task.due, task.band, task.queue)]
        return self.call("unique", keys, [now, task.id, task.record, held_while, until])

    def debounce(
        self, now: int, task: Task, latest: int = 0, due: int | None = None, old: Task | None = None
    ) -> Call:
        """``due`` is that of the slot; ``old`` says where the task that waits is believed to be."""
        k = self.keys
        fixed = (k.records, k.runs, k.timetable, k.counts, k.bands, k.seq, k.armed, k.notify, k.claims)
        table = KeyTable(*fixed, k.stale, k.result(task.id))
        given = task.due if due is None else due
        index = table.add(*slot(k, now, given, task.band, task.queue))
        page = table.add(k.page(page_of(old.due))) if old else 0
        own = table.add(k.segment(old.bucket), k.ready_beside(old.bucket)) if old else 0
        return self.call("debounce", table.keys, [now, task.id, task.record, given, latest, index, page, own])

    def list_dead(self, order: str, instant: int | str, last: str = "", most: int = 100) -> Call:
        return self.call("list_dead", [self.keys.dead], [order, instant, last, most])

    def survey(self) -> Call:
        return self.call("survey", [self.keys.timetable, self.keys.armed, self.keys.notify], [])

    def locate(self, now: int, *ids: str, whole: bool = False, most_bytes: int = 1 << 20) -> Call:
        k = self.keys
        args: list[Arg] = [now, most_bytes if whole else 0, *ids]
        return self.call("locate", [k.records, k.runs, k.timetable, k.errors], args)

    def list_tasks(self, place: Arg = 0, most: int = 100, most_bytes: int = 1 << 20) -> Call:
        return self.call("list_tasks", [self.keys.records], [place, most, most_bytes])

    def cancel(self, now: int, *tasks: Task, keep: int = KEEP) -> Call:
        """Declares the page and the bucket that each task's due time, band and queue speak of."""
        k = self.keys
        table = KeyTable(
            *(k.records, k.runs, k.timetable, k.counts, k.stale, k.finished, k.errors, k.armed, k.notify),
            k.followers,
        )
        args: list[Arg] = [now, keep]
        for task in tasks:
            page, own = (
                table.add(k.page(page_of(task.due))),
                table.add(k.segment(task.bucket), k.ready_beside(task.bucket)),
            )
            args += (task.id, page, own)
        return self.call("cancel", table.keys, args)

    def reschedule(self, now: int, due: int, *tasks: Task) -> Call:
        """To one instant; declares the page and the bucket that each task's due time, band and queue speak of."""
        k = self.keys
        table = KeyTable(k.records, k.runs, k.timetable, k.counts, k.bands, k.stale, k.seq, k.armed, k.notify)
        args: list[Arg] = [now]
        for task in tasks:
            page, own = (
                table.add(k.page(page_of(task.due))),
                table.add(k.segment(task.bucket), k.ready_beside(task.bucket)),
            )
            args += (task.id, due, page, own, table.add(*slot(k, now, due, task.band, task.queue)))
        return self.call("reschedule", table.keys, args)

    @staticmethod
    def queue_and_band(member: bytes) -> tuple[str, int]:
        """Of a lone task's or a bucket's member."""
        if member[:1] == b"=":
            _, band, queue = member[1:].split(b":")
            return queue.decode(), int(band)
        return member[6:].partition(b":")[0].decode(), int(member[5:6])

    def lists(self, name: bytes) -> tuple[bytes, bytes]:
        queue, band = self.queue_and_band(name)
        return self.keys.ready(queue, band), self.keys.wake(queue)
