"""The schedules of the store as people read them: for `oncue up` and `oncue cron list`."""

from zoneinfo import ZoneInfo

from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.schedules import Listed, listed


def next_tick(entry: Listed) -> str:
    """The next tick in the schedule's own zone, with its offset; "never" where none comes."""
    if entry.next_ms is None or entry.stored is None or entry.reason:
        return "never"
    return instant(entry.next_ms).astimezone(ZoneInfo(entry.stored.timezone)).isoformat(timespec="seconds")


def schedule_lines(store: Store) -> list[str]:
    """One line for each schedule, faulty ones too. Raises what the store raises."""
    entries = listed(store)
    widest = max((len(entry.name) for entry in entries), default=0)
    return [f"{entry.name:<{widest}}  {_meaning(entry)}" for entry in entries]


def _meaning(entry: Listed) -> str:
    if entry.reason or entry.stored is None:
        return f"INVALID, will not fire: {entry.reason}"
    stored = entry.stored
    return f"{stored.cron}  ({stored.timezone}) -> {stored.queue}, next {next_tick(entry)}"
