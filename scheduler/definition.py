"""A schedule's definition: as stored, and as the duties use it."""

import hashlib
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from oncue.common.configtypes import ScheduleConfig
from oncue.common.errors import BadInput, CronError
from oncue.common.keys import queue_name, schedule_name
from oncue.common.retry import storable
from oncue.common.rule import Rule
from oncue.common.task import instant
from oncue.common.timing_checks import MAX_CATCH_UP
from oncue.common.walltime import wall_clock
from oncue.common.work import read_work

HASH_BYTES = 32
"""A stored definition is its hash in so many hexadecimal digits, then JSON."""

_KEYS = {key.name for key in fields(ScheduleConfig)} - {"name"} | {"source"}


def rule_of(config: ScheduleConfig) -> Rule:
    """The rule of a definition, also of one that is not enabled: somebody may resume it. Raises CronError."""
    return Rule(config.name, msgspec.structs.replace(config.timing, enabled=True))


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition as fired: ``hash`` guards against an edit between look and tick.

    ``source`` names the file that it came from, so that the file can take it back; "" if a program made it.
    """

    name: str
    hash: bytes
    config: ScheduleConfig
    source: str
    rule: Rule

    @property
    def every_ms(self) -> int | None:
        """The time from the end of a run to the next tick, where ticks count from there."""
        config = self.config
        return round(config.every_s * 1000) if config.from_end and config.every_s else None

    @property
    def overlap(self) -> str:
        """What becomes of a tick or a trigger while a run goes on; runs from whose end the ticks count never overlap."""
        return "skip" if self.config.from_end else self.config.overlap

    @property
    def rules(self) -> bytes:
        """The digest of the rules of its zone by which it plans."""
        return self.rule.clock.rules.digest

    @property
    def planned_by(self) -> tuple[bytes, bytes]:
        """The hash of its settings, and the rules of its zone: all that its ticks depend on beside what was planned last."""
        return self.hash, self.rules

    def renewed(self) -> "Definition":
        """The same by the rules that this process knows now."""
        if self.rule.clock is wall_clock(self.config.timezone):
            return self
        return replace(self, rule=checked(self.config))

    def wall(self, planned_ms: int) -> str:
        """What scripts are told of the wall clock at a planned instant, so that no local time is decided about twice."""
        return f"{self.rule.clock.reading(planned_ms // 1000)} {self.config.timezone}"

    def told(self, planned_ms: int | None) -> list[int | str]:
        """What scripts are told of a tick, or of none: planned instant, instant in the timetable, time after a run's end."""
        every = "" if self.every_ms is None else self.every_ms
        return ["", "", every] if planned_ms is None else [planned_ms, self.rule.runs_at(planned_ms), every]

    def stored(self) -> bytes:
        """The JSON that stands after the hash."""
        config = self.config
        usual = {
            "cron": config.cron,
            "timezone": config.timezone,
            "queue": config.queue,
            "data": config.data,
            "priority": config.priority,
            "source": self.source,
        }
        return msgspec.json.encode(usual | config.options())


def hash_of(config: ScheduleConfig, source: str) -> bytes:
    """What stands before the JSON: the same settings from the same file have the same hash in every process."""
    text = f"{config.definition_hash} {source}"
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_BYTES].encode()


def defined(config: ScheduleConfig, source: str) -> Definition:
    """The definition that a file, or with an empty ``source`` a program, gives. Raises CronError and BadInput."""
    return Definition(config.name, hash_of(config, source), config, source, checked(config))


def read(name: str, text: bytes) -> Definition:
    """A definition from the store; raises CronError or BadInput in one sentence if this process cannot use it."""
    entries = _entries(name, text)
    if unknown := sorted(entries.keys() - _KEYS):
        # Left aside, it would run at other times, or otherwise, than whoever wrote it has said.
        raise BadInput(f"schedule {name}: its key {unknown[0]!r:.60} is unknown here: a newer oncue wrote it")
    try:
        source = msgspec.convert(entries.get("source", ""), str)
        config = msgspec.convert(entries | {"name": name}, ScheduleConfig)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise BadInput(_cannot_be_read(name, error)) from None
    return Definition(name, text[:HASH_BYTES], config, source, checked(config))


def zone_of(text: bytes) -> str | None:
    """The zone that a definition from the store names, readable or not."""
    try:
        zone = _entries("", text).get("timezone")
    except BadInput:
        return None
    return zone if isinstance(zone, str) else None


def every_ms_of(text: bytes) -> int | None:
    """How long after the end of a run the next tick comes by a definition from the store, readable or not; None where it
    does not count from there.
    """
    try:
        entries = _entries("", text)
        every_s = msgspec.convert(entries.get("every_s"), float | None)
    except (BadInput, msgspec.ValidationError):
        return None
    return round(every_s * 1000) if every_s and entries.get("from_end") is True else None


def _entries(name: str, text: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text[HASH_BYTES:], type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadInput(_cannot_be_read(name, error)) from None


def _cannot_be_read(name: str, error: Exception) -> str:
    return f"schedule {name}: its stored definition cannot be read ({error})"


def checked(config: ScheduleConfig) -> Rule:
    """The rule, if all settings can be used; raises CronError and BadInput."""
    schedule_name(config.name)
    for name, low, high in (("priority", 0, 9), ("catch_up_max", 1, MAX_CATCH_UP)):
        value = getattr(config, name)
        if not low <= value <= high:
            raise BadInput(f"schedule {config.name}: its {name} is {value}; allowed: {low} to {high}")
    queue_name(config.queue)
    storable(config.retry)
    if config.runs != "task":
        read_work(config.runs, config.data)
    try:
        return rule_of(config)
    except (ValueError, OverflowError) as error:
        if isinstance(error, (BadInput, CronError)):
            raise
        raise BadInput(f"schedule {config.name}: {error}") from None


def tick_id(name: str, planned_ms: int) -> str:
    """The id of a tick's task: the same from every scheduler, so that one instant makes one task."""
    # Ticks that count from the end of a run have milliseconds.
    fraction = f".{planned_ms % 1000:03}" if planned_ms % 1000 else ""
    return f"{short(name)}@{instant(planned_ms).strftime('%Y-%m-%dT%H:%M:%S')}{fraction}Z"


def short(name: str) -> str:
    """A schedule's name as it begins the ids of its tasks."""
    # An id has at most 128 characters; a long name is told from its like by a hash.
    if len(name) <= 100:
        return name
    return f"{name[:80]}.{hashlib.sha256(name.encode()).hexdigest()[:16]}"
