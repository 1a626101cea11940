"""The dates on which a schedule does not run: single dates, ranges, cron expressions, named calendars.

A date is excluded as a whole, whatever the time: what is tested is the date that the schedule's zone shows at the
planned instant. Dates are whole days since 1970-01-01.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache

from oncue.common.cron_calendar import Days
from oncue.common.cron_expression import read_expression
from oncue.common.cron_warnings import warn_of_excluded
from oncue.common.errors import CronError
from oncue.common.localtime import date_of, meant_date, no_such_day, read_date
from oncue.common.walltime import DAY, LAST_SECOND

FURTHEST = 400
"""How many days a tick may be moved."""

LAST_DAY = LAST_SECOND // DAY
_EVERY_KIND_OF_YEAR = range(11_323, 11_323 + 28 * 365 + 7)  # 2001 to 2028
_NO_TIME = frozenset({"*", "0"})
_FIELDS = 5  # of a cron expression, at least; no other entry has so many words
_LONGEST_SWAPPED = 183
_ENTRIES = 31  # looked at for the end of a stretch: a month of single days, or ranges of any length
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
        self._open: dict[range, bool] = {}

    def has(self, day: int) -> bool:
        """Whether `day` is excluded."""
        return self._range(day) is not None or any(days.has(day) for days in self._days)

    def stretch(self, day: int) -> int:
        """The end of the excluded stretch at `day`, or of its part that a few entries tell; `day` itself if it has none."""
        for _ in range(_ENTRIES):
            range_ = self._range(day)
            if range_ is not None:
                day = range_[1] + 1
            elif any(days.has(day) for days in self._days):
                day += 1
            else:
                return day
        return day if self._is_open(range(7)) else LAST_DAY + 1

    def workday(self, day: int, step: int) -> int | None:
        """The nearest Monday-to-Friday day that is not excluded, from `day` on in steps of 1 or -1; None if far away."""
        end = min(day + FURTHEST * step, LAST_DAY)
        while (end - day) * step > 0 and self._is_open(range(5)):
            range_ = self._range(day)
            if range_ is not None:
                day = range_[1] + 1 if step > 0 else range_[0] - 1
            elif weekday(day) < 5 and not any(days.has(day) for days in self._days):
                return day
            else:
                day += step
        return None

    def _is_open(self, weekdays: range) -> bool:
        """Whether the cron expressions leave any date on one of these days of the week, in any kind of year."""
        known = self._open.get(weekdays)
        if known is None:
            days = (day for day in _EVERY_KIND_OF_YEAR if weekday(day) in weekdays)
            known = self._open[weekdays] = any(not any(rule.has(day) for rule in self._days) for day in days)
        return known

    def _range(self, day: int) -> tuple[int, int] | None:
        """First and last day of the range that holds `day`."""
        at = bisect_right(self._first, day) - 1
        return (self._first[at], self._last[at]) if at >= 0 and day <= self._last[at] else None


def read_excluded(entries: tuple[str, ...], calendars: Mapping[str, tuple[str, ...]]) -> Excluded:
    """The dates that `entries` mean, with the calendars that they name. Raises CronError (field "exclude")."""
    own = [entry for entry in entries if entry not in calendars]
    named = [item for entry in entries for item in calendars.get(entry, ())]
    return _excluded((*own, *named))


def warn_of_entries(entries: Iterable[str], calendars: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Sentences about what the entries, and the calendars that they name, are allowed to say but seldom mean."""
    warnings = []
    for entry in entries:
        for text in calendars.get(entry, (entry,)):
            if len(text.split()) >= _FIELDS:
                place = f"calendar {entry}, {text!r}" if entry in calendars else repr(text)
                warnings += [f"exclude: {place}: {said}" for said in warn_of_excluded(read_expression(text))]
    return warnings


def weekday(day: int) -> int:
    """0 is Monday."""
    return (day + 3) % 7


def check_entry(entry: str) -> None:
    """Raises CronError (field "exclude") for what is no date, range or cron expression of dates."""
    _read(entry)


def is_name(entry: str) -> bool:
    """Whether an entry of `exclude` can only be the name of a calendar."""
    plain = not entry.startswith("@") and not any(sign in entry for sign in " \t/*")
    return plain and read_date(entry) is None


def meant_entry(entry: str) -> str:
    """The date or range of dates that an entry was meant as; "" for anything else."""
    if meant := meant_date(entry):
        return meant
    first, _, last = entry.partition("/")
    begin, end = meant_date(first.strip()), meant_date(last.strip())
    if not begin or not end:
        return ""
    return f"{begin}/{end}" if begin <= end else _swapped(begin, end)


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
    if why := no_such_day(entry):
        raise _refusal(entry, why, "range")
    if is_name(entry):
        raise _refusal(entry, f"there is no calendar of that name; {_ALLOWED}", "name")
    start, slash, end = entry.partition("/")
    if slash and " " not in entry.strip() and not entry.startswith("*"):
        return _range(entry, start, end)
    return _days(entry)


def _range(entry: str, start: str, end: str) -> tuple[int, int]:
    first, last = read_date(start), read_date(end)
    if first is None or last is None:
        raise _refusal(entry, no_such_day(start) or no_such_day(end) or _ALLOWED, "syntax")
    if first > last:
        swapped = _swapped(start, end)
        advice = "the range ends before it begins" + (f"; write {swapped}" if swapped else "")
        raise _refusal(entry, advice, "order")
    return first, last


def _swapped(first: str, last: str) -> str:
    """A range the other way round; "" where that were most of a year, which is a slip of the year instead."""
    days = (read_date(first) or 0) - (read_date(last) or 0)
    return f"{last}/{first}" if days <= _LONGEST_SWAPPED else ""


def _days(entry: str) -> Days:
    try:
        expression = read_expression(entry)
    except CronError as error:
        raise CronError(f"exclude: {error}", field="exclude", code=error.code) from None
    if not expression.fields:
        raise _refusal(entry, "an interval has no dates; " + _ALLOWED, "alias")
    second, minute, hour, day_of_month, month, day_of_week = expression.fields
    if not {second.text, minute.text, hour.text} <= _NO_TIME:
        dates = f"{day_of_month.text} {month.text} {day_of_week.text}"
        rest = ", and this would be every date; remove it" if dates == "* * *" else f"; write '* * {dates}'"
        raise _refusal(entry, f"whole dates are excluded{rest}", "range")
    return Days(day_of_month, month, day_of_week, both=False)


def _refusal(entry: object, advice: str, code: str) -> CronError:
    return CronError(f"exclude: found {entry!r:.60}; {advice}", field="exclude", code=code)
