"""The schedules of the store as people read them: for `oncue up` and `oncue cron list`."""

from typing import Any
from zoneinfo import ZoneInfo

from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.schedules import Listed, listed


def row(entry: Listed) -> dict[str, Any]:
    """One schedule, faulty or not; `next` in its own zone, None where no tick comes."""
    stored = entry.stored
    return {
        "name": entry.name,
        "cron": stored and stored.cron,
        "timezone": stored and stored.timezone,
        "queue": stored and stored.queue,
        "next": _next(entry),
        "valid": not entry.reason,
        "reason": entry.reason or None,
    }


def _next(entry: Listed) -> str | None:
    # The zone of a faulty one may be the fault.
    if entry.next_ms is None or entry.stored is None or entry.reason:
        return None
    return instant(entry.next_ms).astimezone(ZoneInfo(entry.stored.timezone)).isoformat(timespec="seconds")


def schedule_lines(store: Store) -> list[str]:
    """One line for each schedule, faulty ones too. Raises what the store raises."""
    rows = [row(entry) for entry in listed(store)]
    widest = max((len(entry["name"]) for entry in rows), default=0)
    return [f"{entry['name']:<{widest}}  {_meaning(entry)}" for entry in rows]


def _meaning(entry: dict[str, Any]) -> str:
    if not entry["valid"]:
        return f"INVALID, will not fire: {entry['reason']}"
    return f"{entry['cron']}  ({entry['timezone']}) -> {entry['queue']}, next {entry['next'] or 'never'}"
