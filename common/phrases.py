"""Phrases that cron expressions and recurrence rules share when they are told in words."""

from collections.abc import Iterable

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def listed(words: Iterable[str]) -> str:
    """One word or more in a row: `1, 2 and 3`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def fixed_times(gap: str) -> str:
    """What clock changes do to fixed times of the wall clock; `gap` as a schedule has it: run or skip."""
    skipped = "does not run" if gap == "skip" else "runs right after it"
    return f"fixed times: a time skipped by a clock change {skipped}, a repeated time runs once"
