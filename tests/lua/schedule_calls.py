"""Calls of the scripts that deal with schedules, built by their contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.lua.calls import Arg, Call, Shard
from tests.lua.instants import KEEP, NOW
from tests.lua.tasks import Task

ZONE, RULES = "Europe/Berlin", "0123456789abcdef"
"""A zone, and the digest of its rules."""


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


class ScheduleCalls(Shard):
    """The methods named like files in lua/ build one call each."""

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
        return self.call("put_schedule", [*keys, k.schedule(name), k.history(name)], args)

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
