"""The schedules of the store as people read them: for `oncue up` and `oncue cron list`."""

from typing import Any
from zoneinfo import ZoneInfo

from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.standing import ScheduleInfo, infos


def row(entry: ScheduleInfo) -> dict[str, Any]:
    """One schedule, faulty or not; `next` in its own zone, None where no tick comes."""
    config = entry.config
    return {
        "name": entry.name,
        "cron": config and config.cron,
        "timezone": config and config.timezone,
        "queue": config and config.queue,
        "next": _next(entry),
        "state": entry.state,
        "valid": entry.state != "invalid",
        "reason": entry.reason or None,
    }


def _next(entry: ScheduleInfo) -> str | None:
    # The zone of a faulty one may be the fault.
    if entry.next_ms is None or entry.config is None:
        return None
    return instant(entry.next_ms).astimezone(ZoneInfo(entry.config.timezone)).isoformat(timespec="seconds")


def schedule_lines(store: Store) -> list[str]:
    """One line for each schedule, faulty ones too. Raises what the store raises."""
    rows = [row(entry) for entry in infos(store) if entry.state != "removed"]
    widest = max((len(entry["name"]) for entry in rows), default=0)
    return [f"{entry['name']:<{widest}}  {_meaning(entry)}" for entry in rows]


def _meaning(entry: dict[str, Any]) -> str:
    if not entry["valid"]:
        return f"INVALID, will not fire: {entry['reason']}"
    state = "" if entry["state"] == "active" else f" ({entry['state']})"
    return (
        f"{entry['cron']}  ({entry['timezone']}) -> {entry['queue']}, next {entry['next'] or 'never'}{state}"
    )
