"""Replan: ticks get the instant that the rules in force give them, when rules of a zone have changed.

What was decided about a local time is not decided again: the next tick comes later both on the clock of the world and on
the wall (docs/decisions/0015).
"""

import logging
from collections.abc import Collection, Mapping, Sequence

from oncue.common.errors import BadInput, CronError
from oncue.common.shard import Shard
from oncue.common.task import instant
from oncue.scheduler.definition import Definition
from oncue.scheduler.schedule_calls import MOST_SET_BACK_MS, decided_ms, next_planned, number_of
from oncue.scheduler.standing import Stored, all_stored, find
from oncue.scheduler.zones import MARK, claim, zone_of_mark

CHUNK = 100
_log = logging.getLogger("oncue.schedules")


def begin(shard: Shard) -> None:
    """What a scheduler does first, and when tz data may be new: its rules against those in force, and what is undone."""
    found: list[bytes] = shard.command("HKEYS", shard.keys.zones)
    fields = [field.decode(errors="replace") for field in found]
    undone = {field for field in fields if field.startswith(MARK)}
    names = {field for field in fields if field[:1] not in ("=", MARK)}
    _replan_zones(shard, claim(shard, names) | undone)


def settle(shard: Shard, names: Collection[str]) -> None:
    """Before anything is planned in these zones: everybody by the same rules. Raises what the connection raises."""
    _replan_zones(shard, claim(shard, names))


def replan(shard: Shard, names: Collection[str]) -> None:
    """The ticks of some schedules, where they were planned by other rules, or put off."""
    _put_right(shard, [entry for name in names for entry in find(shard, name)])


def _replan_zones(shard: Shard, marks: Collection[str]) -> None:
    if not marks:
        return
    zones = {zone_of_mark(mark) for mark in marks}
    for chunk in all_stored(shard):
        for at in range(0, len(chunk), CHUNK):
            _put_right(shard, chunk[at : at + CHUNK], zones)
    shard.command("HDEL", shard.keys.zones, *marks)


def _put_right(shard: Shard, entries: Sequence[Stored], zones: Collection[str] | None = None) -> None:
    keys, now = shard.keys, shard.now_ms()
    fixed = [keys.timetable, keys.schedules, keys.zones, keys.armed, keys.notify]
    args: list[bytes | str | int] = []
    told = []
    for entry in entries:
        definition = None if entry.at_ms is None else _read(entry)
        if definition is None or (zones is not None and definition.config.timezone not in zones):
            continue
        try:
            planned, at = _right(definition, entry.fields, now)
        except Exception:  # noqa: BLE001 - a fault of our own in one of them; the others get their instants
            _log.exception("schedule %s cannot be planned here: its next tick stays where it is", entry.name)
            continue
        fixed.append(keys.schedule(entry.name))
        args += (entry.name, definition.hash, definition.config.timezone, definition.rules, planned, at)
        args.append(entry.fields.get("through", ""))
        told.append((entry, at))
    if not told:
        return
    answers: list[int] = shard.call("replan", fixed, args)
    for (entry, at), answer in zip(told, answers, strict=True):
        if answer and isinstance(at, int) and at != entry.at_ms:
            _log.warning("schedule %s: its next tick is at %s now", entry.name, instant(at).isoformat())


def _right(definition: Definition, fields: Mapping[str, str], now_ms: int) -> tuple[int | str, int | str]:
    if definition.rule.from_end:
        return "stays", ""
    decided = decided_ms(definition, fields.get("through"), fields.get("wall"))
    marks = (decided, number_of(fields.get("since")))
    # What lies far ahead was written by a clock that was wrong.
    after_ms = max((mark for mark in marks if 0 < mark <= now_ms + MOST_SET_BACK_MS), default=now_ms)
    planned, at, _ = definition.told(next_planned(definition, after_ms, decided, fields.get("planned")))
    return planned, at


def _read(entry: Stored) -> Definition | None:
    try:
        return entry.read()
    except (BadInput, CronError):
        return None
