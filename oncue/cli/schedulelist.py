"""The schedules of the store as people read them: for `oncue up`, `oncue cron list` and whatever changes one."""

from collections.abc import Sequence
from typing import Any

from oncue.cli.failure import printable
from oncue.cli.output import time_cell
from oncue.common.configtypes import ScheduleConfig
from oncue.common.duration import words_of
from oncue.common.rule_words import explain_bounds
from oncue.common.store import Store
from oncue.common.task import instant
from oncue.common.walltime import wall_clock
from oncue.scheduler.standing import ScheduleInfo, infos

TABLE = ("name", "when", "timezone", "queue", "next", "last", "late", "missed", "state")


def row(entry: ScheduleInfo) -> dict[str, Any]:
    """One schedule, faulty or not; times in its own zone, None where there is none."""
    config = entry.config
    return {
        "name": entry.name,
        "cron": config and config.cron,
        "when": config and limited(config),
        "runs": config and config.runs,
        "start": config and config.start,
        "end": config and config.end,
        "count": config and config.count,
        "timezone": config and config.timezone,
        "queue": config and config.queue,
        "next": shown(entry.next_ms, config),
        "next_run": shown(entry.next_run_ms, config),
        "last": shown(entry.last_ms, config),
        "last_task": entry.last_task,
        "late_ms": entry.late_ms,
        "fired": entry.fired,
        "skipped": entry.skipped,
        "missed": entry.missed,
        "triggered": entry.triggered,
        "backfilled": entry.backfilled,
        "state": entry.state,
        "valid": entry.state != "invalid",
        "reason": entry.reason or None,
        "by": entry.by or None,
        "why": entry.why or None,
        "source": entry.source or None,
    }


def cells(entry: dict[str, Any]) -> list[object]:
    """The same as a row of a table with the heads of ``TABLE``; a reason is long, and stands below: ``reasons``."""
    times = {name: time_cell(entry[name]) for name in ("next", "last")}
    state = entry["state"] if entry["reason"] else state_words(entry)
    told = entry | times | {"late": late_words(entry.get("late_ms")), "state": state}
    return ["-" if told.get(name) is None else told[name] for name in TABLE]


def reasons(rows: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each schedule that cannot be used or read."""
    return [printable(f"{entry['name']}: {state_words(entry)}") for entry in rows if entry["reason"]]


def state_words(entry: dict[str, Any]) -> str:
    """The state with its reason: `paused by ada: audit`."""
    if entry["state"] == "invalid":
        return f"invalid: {entry['reason']}"
    if entry["reason"]:
        return f"{entry['state']}, cannot be read here: {entry['reason']}"
    if entry["state"] != "paused":
        return str(entry["state"])
    by = f" by {entry['by']}" if entry["by"] else ""
    return f"paused{by}" + (f": {entry['why']}" if entry["why"] else "")


def written(config: ScheduleConfig) -> str:
    """What says when: the expression, `every 90m` in words, or the rrule."""
    if config.every_s is not None:
        return f"every {words_of(config.every_s)}" + (" from the end" if config.from_end else "")
    return config.cron or config.rrule or ""


def limited(config: ScheduleConfig) -> str:
    """The same with its limits: `every 1 day; from 2026-12-01 on; 14 times`."""
    return written(config) + explain_bounds(config.timing)


def shown(ms: int | None, config: ScheduleConfig | None, other_zone: str | None = None) -> str | None:
    """An instant in the schedule's zone, ISO 8601; None for none. One that cannot be read has ``other_zone``."""
    # The zone of a faulty one may be the fault.
    zone = config.timezone if config else other_zone
    if ms is None or zone is None:
        return None
    finest = "milliseconds" if ms % 1000 else "seconds"
    return instant(ms).astimezone(wall_clock(zone).zone).isoformat(timespec=finest)


def late_words(ms: int | None) -> str | None:
    """How late a tick was: `12 ms`, or in whole seconds `1 minute 5 seconds`."""
    if ms is None or ms < 1000:
        return None if ms is None else f"{ms} ms"
    return words_of(ms // 1000)


def schedule_lines(store: Store) -> list[str]:
    """One line for each schedule, faulty ones too. Raises what the store raises."""
    rows = [row(entry) for entry in infos(store) if entry.state != "removed"]
    widest = max((len(entry["name"]) for entry in rows), default=0)
    return [f"{entry['name']:<{widest}}  {_meaning(entry)}" for entry in rows]


def _meaning(entry: dict[str, Any]) -> str:
    if not entry["valid"]:
        return f"INVALID, will not fire: {entry['reason']}"
    if entry["reason"]:
        return f"left to other schedulers, cannot be read here: {entry['reason']}"
    state = "" if entry["state"] == "active" else f" ({entry['state']})"
    return (
        f"{entry['when']}  ({entry['timezone']}) -> {entry['queue']}, next {entry['next'] or 'never'}{state}"
    )
