"""Calls of the Lua scripts, built by their contracts: `lua.schedule(NOW, task).run()`.

Nothing here reads a clock: each call is given its `now`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from oncue.common.keys import PAGE_MS, Keys, opens_at, page_of
from oncue.common.record import pack
from oncue.common.scripts import Client, script
from oncue.common.shard import KeyTable, slot

NOW = 28_333_334 * PAGE_MS
"""The instant, in ms, that the tests start from: the first of a page."""

LEASE = 15_000
KEEP = 60_000
MANY = 65
"""The smallest number of tasks that a bucket hands over by name."""

ZONE, RULES = "Europe/Berlin", "0123456789abcdef"
"""A zone, and the digest of its rules."""

Arg = bytes | str | int
Head = list[tuple[bytes, int]]


@dataclass(frozen=True)
class Call:
    """One call, ready to be made, as often as a test wants."""

    client: Client
    name: str
    keys: tuple[bytes, ...]
    args: tuple[Arg, ...]

    def run(self) -> Any:
        return script(self.name)(self.client, self.keys, self.args)

    def given(self, *, keys: Sequence[bytes] | None = None, args: Sequence[Arg] | None = None) -> Call:
        """The same call with other keys or arguments."""
        return replace(
            self,
            keys=self.keys if keys is None else tuple(keys),
            args=self.args if args is None else tuple(args),
        )


class Task(NamedTuple):
    """A task to be scheduled."""

    id: str
    due: int = NOW
    queue: str = "q"
    band: int = 5
    data: bytes = b"1"
    nonce: bytes = b""
    expires: int = 0
    claim: bytes = b""

    @property
    def record(self) -> bytes:
        return pack(
            self.due,
            self.band,
            self.queue,
            (self.data, True),
            self.nonce,
            expires_ms=self.expires,
            claim=self.claim,
        )

    @property
    def bucket(self) -> bytes:
        return bucket(self.due, self.band, self.queue)


class Tick(NamedTuple):
    """What `fire` is told of one planned instant, or of a stretch of missed ones."""

    kind: str
    planned: int
    what: str
    record: bytes | int
    number: int = 0


def fired(task: Task, planned: int, kind: str = "fire") -> Tick:
    """A tick that becomes this task, or is skipped."""
    return Tick(kind, planned, task.id, task.record)


class Held(NamedTuple):
    """A task in a worker's hands, as `reserve` gave it."""

    id: str
    token: int
    queue: str = "q"
    band: int = 5
    attempts: int = 0
    failed: int = 0
    lost: int = 0
    due: int = NOW
    throttled: int = 0

    @property
    def args(self) -> tuple[Arg, ...]:
        return self.id, self.token, self.queue, self.band

    @property
    def lease(self) -> bytes:
        """Its member of the timetable."""
        return f"l{self.band}{self.queue}:{self.id}".encode()


class Asked(NamedTuple):
    """A queue that `reserve` is asked for, with the bands whose lists are declared."""

    name: str = "q"
    weight: float = 1
    bands: str = "0123456789"


class Reserved(NamedTuple):
    """What `reserve` answers."""

    tasks: list[Held]
    needs: list[bytes]
    references: list[bytes]

    @property
    def ids(self) -> list[str]:
        return [task.id for task in self.tasks]


def tasks(number: int, due: int = NOW, queue: str = "q", band: int = 5, prefix: str = "t") -> list[Task]:
    """So many tasks of one instant."""
    return [Task(f"{prefix}{n}", due, queue, band) for n in range(number)]


def bucket(due: int, band: int = 5, queue: str = "q") -> bytes:
    """The name of a bucket: its member of the timetable, and the reference to it once it is a segment."""
    return f"={due}:{band}:{queue}".encode()


def head(flat: Sequence[bytes]) -> Head:
    return [(flat[i], int(flat[i + 1])) for i in range(0, len(flat), 2)]


class Lua:
    """The scripts on one shard. The methods named like files in lua/ build one call each; the others make them."""

    def __init__(self, client: Any, namespace: str) -> None:
        self.client = client
        self.keys = Keys(namespace, 0)

    def call(self, name: str, keys: Iterable[bytes], args: Iterable[Arg]) -> Call:
        return Call(self.client, name, tuple(keys), tuple(args))

    # ---- one call each

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

    def debounced(self, now: int, task: Task, wait: int = 0) -> str:
        """As producers call it, until the task stands where it ought to; its id."""
        due, old = task.due, None
        latest = now + wait if wait else 0
        while True:
            what, value = self.debounce(now, task, latest, due, old).run()
            if what in (b"id", b"taken"):
                return str(value.decode())
            if what == b"due":
                due = int(value)
            elif what == b"page":
                self.open_whole_page(now, int(value[1:]))
            else:
                at, band, queue = value[1:].decode().split(":")
                old = Task("", int(at), queue, int(band))

    def list_dead(self, order: str, instant: int | str, last: str = "", most: int = 100) -> Call:
        return self.call("list_dead", [self.keys.dead], [order, instant, last, most])

    def fire(
        self,
        now: int,
        name: str,
        planned: int,
        following: int | None,
        task: Task,
        known: str = "h1",
        *,
        overlap: str = "skip",
        every: int | None = None,
    ) -> Call:
        """One tick, on time."""
        return self.fire_all(
            now, name, planned, following, fired(task, planned), known=known, overlap=overlap, every=every
        )

    def fire_all(
        self,
        now: int,
        name: str,
        planned: int,
        following: int | None,
        *ticks: Tick,
        known: str = "h1",
        overlap: str = "skip",
        every: int | None = None,
        queue: str = "q",
        band: int = 5,
        rules: str = RULES,
    ) -> Call:
        k = self.keys
        fixed = [k.timetable, k.schedules, k.records, k.runs, k.counts, k.bands, k.seq, k.armed, k.notify]
        fixed += [k.followers, k.finished, k.zones, k.schedule(name), k.history(name)]
        keys = [*fixed, k.ready(queue, band), k.wake(queue)]
        last, after = ("" if number is None else number for number in (following, every))
        args: list[Arg] = [
            now,
            name,
            planned,
            known,
            last,
            last,
            after,
            overlap,
            KEEP,
            ZONE,
            rules,
            f"7 {ZONE}",
        ]
        return self.call("fire", keys, [*args, *(arg for tick in ticks for arg in tick)])

    def trigger(
        self,
        now: int,
        name: str,
        *tasks: Task,
        known: str = "h1",
        what: str = "triggered",
        overlap: str = "line",
        forced: bool = False,
        queue: str = "q",
        band: int = 5,
    ) -> Call:
        k = self.keys
        keys = [k.schedules, k.records, k.runs, k.timetable, k.counts, k.bands, k.seq, k.armed, k.notify]
        keys += [k.followers, k.schedule(name), k.history(name), k.backfilled(name)]
        args: list[Arg] = [now, name, known, what, overlap, int(forced)]
        args += (arg for task in tasks for arg in (task.due, task.id, task.record))
        keys += [k.ready(queue, band), k.wake(queue), k.claims, *(k.result(task.id) for task in tasks)]
        return self.call("trigger", keys, args)

    def put_schedule(
        self,
        name: str,
        tick: int | None,
        known: str = "h1",
        definition: str = "{}",
        *,
        now: int = NOW,
        replaces: str = "*",
        every: int | None = None,
        file: str = "",
        revision: str = "",
        rules: str = RULES,
        through: bytes | str | None = None,
    ) -> Call:
        k = self.keys
        keys = [k.timetable, k.schedules, k.records, k.runs, k.followers, k.armed, k.notify, k.revisions]
        keys.append(k.zones)
        at, after = ("" if number is None else number for number in (tick, every))
        args: list[Arg] = [
            now,
            file,
            revision,
            name,
            known,
            definition,
            replaces,
            at,
            at,
            after,
            "",
            ZONE,
            rules,
            self._through(name) if through is None else through,
        ]
        return self.call("put_schedule", [*keys, k.schedule(name)], args)

    def remove_schedule(
        self,
        name: str,
        known: str = "",
        *,
        for_good: bool = False,
        file: str = "",
        revision: str = "",
        moved: str = "",
        home: str = "",
        now: int = NOW,
    ) -> Call:
        k = self.keys
        keys = [k.timetable, k.schedules, k.followers, k.revisions]
        keys += [k.schedule(name), k.history(name), k.backfilled(name)]
        args: list[str | int] = [now, name, known, int(for_good), file, revision]
        return self.call("remove_schedule", keys, [*args, moved, home] if moved else args)

    def hand_over(
        self, name: str, known: str = "", *, file: str = "", revision: str = "", now: int = NOW
    ) -> Call:
        k = self.keys
        keys = [k.timetable, k.schedules, k.followers, k.revisions, k.schedule(name), k.history(name)]
        return self.call("hand_over", keys, [now, name, known, file, revision])

    def arrive(
        self,
        name: str,
        stored: bytes,
        fields: Mapping[str, str],
        *history: bytes,
        backfilled: Sequence[int] = (),
    ) -> Call:
        k = self.keys
        flat = [text for pair in fields.items() for text in pair]
        keys = [k.schedules, k.schedule(name), k.history(name), k.backfilled(name), k.revisions]
        args: list[str | bytes | int] = [
            name,
            stored,
            len(fields),
            len(history),
            *flat,
            *history,
            *backfilled,
        ]
        return self.call("arrive", keys, args)

    def put_off(self, now: int, name: str, tick: int, known: str, reason: str = "no") -> Call:
        k = self.keys
        keys = [k.timetable, k.schedules, k.armed, k.schedule(name)]
        return self.call("put_off", keys, [now, name, tick, known, reason])

    def claim_zones(self, *rules: tuple[str, str, str, str]) -> Call:
        """Each with name, digest, release and data."""
        return self.call("claim_zones", [self.keys.zones], [word for zone in rules for word in zone])

    def replan(
        self,
        name: str,
        planned: Arg,
        known: str = "h1",
        *,
        rules: str = RULES,
        through: bytes | str | None = None,
    ) -> Call:
        k = self.keys
        keys = [k.timetable, k.schedules, k.zones, k.armed, k.notify, k.schedule(name)]
        at = planned if isinstance(planned, int) else ""
        decided = self._through(name) if through is None else through
        return self.call("replan", keys, [name, known, ZONE, rules, planned, at, decided])

    def pause(self, now: int, name: str, who: str = "ada", why: str = "holidays") -> Call:
        k = self.keys
        return self.call(
            "pause", [k.timetable, k.schedules, k.followers, k.schedule(name)], [now, name, who, why]
        )

    def resume(
        self,
        now: int,
        name: str,
        tick: int | None,
        *skipped: tuple[int, int, int],
        known: str = "h1",
        every: int | None = None,
        stay: bool = False,
        rules: str = RULES,
        through: bytes | str | None = None,
    ) -> Call:
        k = self.keys
        keys = [k.timetable, k.schedules, k.records, k.runs, k.followers, k.armed, k.notify]
        keys += [k.zones, k.schedule(name), k.history(name)]
        at, after = ("" if number is None else number for number in (tick, every))
        args: list[Arg] = [now, name, known, at, at, after, "1" if stay else ""]
        args += (ZONE, rules, f"7 {ZONE}" if skipped else "")
        args.append(self._through(name) if through is None else through)
        args += (number for stretch in skipped for number in stretch)
        return self.call("resume", keys, args)

    def _through(self, name: str) -> bytes:
        """Up to which instant it has been decided about a schedule's ticks: what its caller has seen."""
        found: bytes | None = self.client.hget(self.keys.schedule(name), "through")
        return found or b""

    def claim_revision(self, file: str, revision: str, *, replaces: str = "", order: int | str = "") -> Call:
        args: list[Arg] = [file, revision, replaces, order]
        return self.call("claim_revision", [self.keys.revisions], args)

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

    # ---- what callers make of them

    def reserved(self, answer: Any) -> Reserved:
        first, flat, needs, references = answer
        found = []
        for n, at in enumerate(range(0, len(flat), 3)):
            task_id, record, run = flat[at : at + 3]
            name = record[13 : 13 + record[12]].decode()
            attempts, failed, lost, throttled = struct.unpack_from(">7xHHH6xH", run) if run else (0, 0, 0, 0)
            due = int.from_bytes(run[13:19] if run else record[5:11], "big")
            counted = attempts, failed, lost, due, throttled
            found.append(Held(task_id.decode(), first + n, name, record[11], *counted))
        return Reserved(found, needs, references)

    def take(
        self,
        now: int,
        *asked: Asked,
        most: int = 10,
        most_bytes: int = 1 << 20,
        lease: int = LEASE,
        segments: Sequence[bytes] = (),
    ) -> Reserved:
        """One reserve call."""
        return self.reserved(
            self.reserve(now, *asked, most=most, most_bytes=most_bytes, lease=lease, segments=segments).run()
        )

    def take_all(self, now: int, *asked: Asked, most: int = 1000) -> list[Held]:
        """Reserve calls as a worker makes them, each declaring what the one before asked for, until no token is left."""
        asked = asked or (Asked(),)
        found: list[Held] = []
        known: set[bytes] = set()
        while True:
            got = self.take(now, *asked, most=most, segments=sorted(known))
            found += got.tasks
            known = {*got.needs, *got.references}
            tokens = [self.client.lpop(self.keys.wake(queue.name)) for queue in asked]
            if not any(tokens):
                return found

    def schedule_alone(self, now: int, task: Task) -> int:
        """What a producer does with one task: the short way, and the other where that does not do."""
        if opens_at(page_of(task.due)) > now:
            answer = int(self.schedule_one(task).run())
            if answer >= 0:
                return answer
        return int(self.schedule(now, task).run()[0])

    def one(self, task_id: str, **options: Any) -> Held:
        """A task that has just been scheduled for NOW and reserved."""
        self.schedule(NOW, Task(task_id, **options)).run()
        (held,) = self.take_all(NOW, Asked(options.get("queue", "q")))
        return held

    def promote_due(self, now: int) -> Head:
        """What a scheduler does at a due time, until no task in the timetable is due. Returns the head."""
        known = head(self.survey().run()[1])
        while True:
            due = [member for member, at in known if at <= now and member[:1] in b"+="]
            if not due:
                return known
            slots = sorted({self.queue_and_band(member) for member in due})
            buckets = [member for member in due if member[:1] == b"="]
            known = head(self.promote(now, slots, *buckets).run())

    def open_whole_page(self, now: int, page: int) -> Head:
        """Opens a page as a scheduler does: each call declares what the one before asked for."""
        needs: list[bytes] = []
        while True:
            needs, flat = self.open_page(now, page, *needs).run()
            if not needs and f"p{page}".encode() not in flat:
                return head(flat)

    def cancel_wherever(self, now: int, task_id: str) -> str:
        """Cancels by the true due time, opening what has to be opened first."""
        return self._wherever(now, task_id, lambda task: self.cancel(now, task))

    def reschedule_wherever(self, now: int, task_id: str, due: int) -> str:
        """Moves by the true due time, opening what has to be opened first."""
        return self._wherever(now, task_id, lambda task: self.reschedule(now, due, task))

    def _wherever(self, now: int, task_id: str, call: Callable[[Task], Call]) -> str:
        (found,) = self.locate(now, task_id).run()
        task = Task(task_id)
        if found and found[3]:
            task = Task(task_id, found[1], found[3].decode(), found[2])
        while True:
            (answer,) = call(task).run()
            if answer[:1] != b"p":
                return str(answer.decode())
            self.open_whole_page(now, int(answer[1:]))

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

    # ---- what is there

    def schedule_state(self, name: str) -> dict[str, str]:
        """How a schedule stands."""
        found = self.client.hgetall(self.keys.schedule(name))
        return {field.decode(): value.decode() for field, value in found.items()}

    def history(self, name: str) -> list[dict[str, Any]]:
        """What became of a schedule's planned instants, the oldest first."""
        return [json.loads(entry) for entry in self.client.lrange(self.keys.history(name), 0, -1)][::-1]

    def timetable(self) -> dict[bytes, int]:
        found = self.client.zrange(self.keys.timetable, 0, -1, withscores=True)
        return {member: int(score) for member, score in found}

    def counts(self, queue: str = "q") -> dict[str, int]:
        """The counts of a queue that are not zero."""
        found = self.client.hgetall(self.keys.counts)
        return {
            field.decode().partition(":")[2]: int(number)
            for field, number in found.items()
            if field.startswith(queue.encode() + b":") and int(number)
        }

    def states(self, now: int, *ids: str) -> list[str]:
        return [found[0].decode() if found else "unknown" for found in self.locate(now, *ids).run()]

    def length(self, key: bytes) -> int:
        return int(self.client.llen(key))

    def names(self) -> set[bytes]:
        """All keys of the shard, without their prefix."""
        start = len(self.keys.prefix)
        return {key[start:] for key in self.client.scan_iter(match=self.keys.prefix + b"*", count=1000)}

    def notified(self) -> list[int]:
        """The instants on the notify list, oldest first."""
        return [int(fields[b"due"]) for _, fields in self.client.xrange(self.keys.notify)]


def far(now: int = NOW, pages: int = 3) -> int:
    """An instant whose page is still closed: so many pages ahead, and half a page in."""
    return (page_of(now) + pages) * PAGE_MS + PAGE_MS // 2


def opening(due: int) -> int:
    """The instant at which the page of `due` is opened."""
    return opens_at(page_of(due))
