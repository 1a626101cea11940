"""The dates on which a schedule does not run: single dates, ranges, cron expressions, named calendars.

A date is excluded as a whole, whatever the time: what is tested is the date that the schedule's zone shows at the
planned instant. Dates are whole days since 1970-01-01.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache

from oncue.common.cron_calendar import Days
from oncue.common.cron_expression import read_expression
from oncue.common.errors import CronError
from oncue.common.localtime import date_of, read_date

_NO_TIME = frozenset({"*", "0"})
_FURTHEST = 400  # days that a tick may be moved
_ALLOWED = (
    "allowed are dates 2026-12-25, ranges 2026-12-24/2026-12-26, cron expressions of dates such as '* * 25 12 *', "
    "and names of calendars"
)


class Excluded:
    """A set of dates."""

    def __init__(self, ranges: Iterable[tuple[int, int]], days: Iterable[Days]) -> None:
        """`ranges` hold first and last day; `days` are the day rules of cron expressions."""
        merged = merged_ranges(ranges)
        self._first, self._last = [first for first, _ in merged], [last for _, last in merged]
        self._days = list(days)

    def has(self, day: int) -> bool:
        """Whether `day` is excluded."""
        return self.stretch(day) > day

    def stretch(self, day: int) -> int:
        """The end of the excluded stretch at `day` as far as one entry tells it; `day` itself if it is not excluded."""
        at = bisect_right(self._first, day) - 1
        if at >= 0 and day <= self._last[at]:
            return self._last[at] + 1
        return day + 1 if any(days.has(day) for days in self._days) else day

    def workday(self, day: int, step: int) -> int | None:
        """The nearest Monday-to-Friday day that is not excluded, from `day` on in steps of 1 or -1; None if far away."""
        for near in range(day, day + _FURTHEST * step, step):
            if (near + 3) % 7 < 5 and not self.has(near):
                return near
        return None


def read_excluded(entries: tuple[str, ...], calendars: Mapping[str, tuple[str, ...]]) -> Excluded:
    """The dates that `entries` mean, with the calendars that they name. Raises CronError (field "exclude")."""
    own = [entry for entry in entries if entry not in calendars]
    named = [item for entry in entries for item in calendars.get(entry, ())]
    return _excluded((*own, *named))


def check_entry(entry: str) -> None:
    """Raises CronError (field "exclude") for what is no date, range or cron expression of dates."""
    _read(entry)


def is_name(entry: str) -> bool:
    """Whether an entry of `exclude` can only be the name of a calendar."""
    plain = not entry.startswith("@") and not any(sign in entry for sign in " \t/*")
    return plain and read_date(entry) is None


def range_text(first: int, last: int) -> str:
    """The entry that means the days from `first` to `last`."""
    return f"{date_of(first)}" if first == last else f"{date_of(first)}/{date_of(last)}"


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same days in rising ranges that do not touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged


# Thousands of schedules may name the same calendar.
@lru_cache(maxsize=256)
def _excluded(entries: tuple[str, ...]) -> Excluded:
    read = [_read(entry) for entry in entries]
    return Excluded(
        (item for item in read if isinstance(item, tuple)), (item for item in read if isinstance(item, Days))
    )


def _read(entry: object) -> tuple[int, int] | Days:
    if not isinstance(entry, str):
        raise _refusal(entry, _ALLOWED, "type")
    day = read_date(entry)
    if day is not None:
        return day, day
    if is_name(entry):
        raise _refusal(entry, f"there is no calendar of that name; {_ALLOWED}", "name")
    start, slash, end = entry.partition("/")
    if slash and " " not in entry.strip() and not entry.startswith("*"):
        return _range(entry, start, end)
    return _days(entry)


def _range(entry: str, start: str, end: str) -> tuple[int, int]:
    first, last = read_date(start), read_date(end)
    if first is None or last is None:
        raise _refusal(entry, _ALLOWED, "syntax")
    if first > last:
        raise _refusal(entry, f"the range ends before it begins; write {end}/{start}", "order")
    return first, last


def _days(entry: str) -> Days:
    try:
        expression = read_expression(entry)
    except CronError as error:
        raise CronError(f"exclude: {error}", field="exclude", code=error.code) from None
    if not expression.fields:
        raise _refusal(entry, "an interval has no dates; " + _ALLOWED, "alias")
    second, minute, hour, day_of_month, month, day_of_week = expression.fields
    if not {second.text, minute.text, hour.text} <= _NO_TIME:
        advice = f"whole dates are excluded; write '* * {day_of_month.text} {month.text} {day_of_week.text}'"
        raise _refusal(entry, advice, "range")
    return Days(day_of_month, month, day_of_week, both=False)


def _refusal(entry: object, advice: str, code: str) -> CronError:
    return CronError(f"exclude: found {entry!r:.60}; {advice}", field="exclude", code=code)
