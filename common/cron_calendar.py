"""The calendar of a cron expression on naive wall time: which readings match, and the next one.

A reading is a wall time in whole seconds since 1970-01-01, as if its zone were UTC; clock changes are not known here.
"""

import calendar
from collections.abc import Callable, Iterable
from datetime import date
from functools import lru_cache

from oncue.common.cron_fields import Field, Mark

_DAY = 86_400
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LAST_YEAR = 9999
_LAST_DAY = date.max.toordinal() - _EPOCH_DAY
# The Gregorian calendar repeats every 28 years outside the centuries, so these hold every kind of year there is:
# a date that is not among them never comes.
_EVERY_KIND_OF_YEAR = range(2001, 2029)
_MONTHS_KEPT = 64


class Days:
    """The day rule: day-of-month OR day-of-week, AND if either starts with `*` or is `?` (Debian's cron), or `both`."""

    def __init__(self, day_of_month: Field, month: Field, day_of_week: Field, both: bool) -> None:
        self._day_of_month, self._month, self._day_of_week = day_of_month, month, day_of_week
        self._both = both or day_of_month.starred or day_of_week.starred
        self._masks: dict[int, int] = {}

    def ever(self) -> bool:
        """Whether any date matches at all."""
        months = self._month.values
        return any(self._build(year, month) for year in _EVERY_KIND_OF_YEAR for month in months)

    def has(self, day: int) -> bool:
        """Whether a day, in days since 1970-01-01, matches."""
        if day > _LAST_DAY:
            return False
        at = date.fromordinal(day + _EPOCH_DAY)
        return bool(self._mask(at.year, at.month) >> at.day & 1)

    def at_or_after(self, day: int) -> int | None:
        """The first matching day from `day` on, both in days since 1970-01-01; None past the year 9999."""
        start = date.fromordinal(day + _EPOCH_DAY)
        mask = self._mask(start.year, start.month) >> start.day
        if mask:
            return day + _lowest(mask)
        year, month = start.year, start.month
        while year <= _LAST_YEAR:
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
            if year <= _LAST_YEAR and (mask := self._mask(year, month)):
                return date(year, month, _lowest(mask)).toordinal() - _EPOCH_DAY
        return None

    def _mask(self, year: int, month: int) -> int:
        """The matching days of a month, one bit a day, from bit 1."""
        if month not in self._month.values:
            return 0
        key = year * 12 + month
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) >= _MONTHS_KEPT:
                self._masks.clear()
            mask = self._masks[key] = self._build(year, month)
        return mask

    def _build(self, year: int, month: int) -> int:
        first, length = _month(year, month)
        by_date = _bits(self._day_of_month.values)
        weekdays = self._day_of_week.values
        by_weekday = _bits(day for day in range(1, length + 1) if (first + day - 1) % 7 in weekdays)
        by_date |= _bits(_marked(mark, first, length) for mark in self._day_of_month.marks)
        by_weekday |= _bits(_marked(mark, first, length) for mark in self._day_of_week.marks)
        days = by_date & by_weekday if self._both else by_date | by_weekday
        return days & ((2 << length) - 2)


class Calendar:
    """All six fields: days and times of day."""

    def __init__(self, fields: tuple[Field, ...], *, both_days: bool) -> None:
        second, minute, hour, day_of_month, month, day_of_week = fields
        self.days = Days(day_of_month, month, day_of_week, both_days)
        self._seconds = _following(second.values, 60)
        self._minutes = _following(minute.values, 60)
        self._hours = _following(hour.values, 24)

    def at_or_after(self, reading: int) -> int | None:
        """The first matching reading from `reading` on; None past the year 9999."""
        day, second = divmod(reading, _DAY)
        found = self.days.at_or_after(day)
        if found == day:
            time = self._time_at_or_after(second)
            if time is not None:
                return day * _DAY + time
            found = self.days.at_or_after(day + 1)
        return None if found is None else found * _DAY + self._first_from_hour(0)

    def _time_at_or_after(self, second_of_day: int) -> int | None:
        minute_of_day, second = divmod(second_of_day, 60)
        hour, minute = divmod(minute_of_day, 60)
        if self._hours[hour] == hour:
            if self._minutes[minute] == minute and self._seconds[second] >= 0:
                return minute_of_day * 60 + self._seconds[second]
            if self._minutes[minute + 1] >= 0:
                return hour * 3600 + self._minutes[minute + 1] * 60 + self._seconds[0]
        return self._first_from_hour(hour + 1) if self._hours[hour + 1] >= 0 else None

    def _first_from_hour(self, hour: int) -> int:
        return self._hours[hour] * 3600 + self._minutes[0] * 60 + self._seconds[0]


@lru_cache(maxsize=1024)
def _following(values: frozenset[int], size: int) -> tuple[int, ...]:
    """For each place 0..size the first value from there on, or -1: a look-up instead of a search per tick."""
    return tuple(min((value for value in values if value >= place), default=-1) for place in range(size + 1))


@lru_cache(maxsize=4096)
def _month(year: int, month: int) -> tuple[int, int]:
    """Weekday of the first (0 is Sunday) and number of days."""
    first, length = calendar.monthrange(year, month)
    return (first + 1) % 7, length


def _bits(days: Iterable[int]) -> int:
    bits = 0
    for day in days:
        bits |= 1 << day
    return bits


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _marked(mark: Mark, first: int, length: int) -> int:
    """The day of the month that a mark means, or 0 (no day) where the month has none."""
    return _MARKS[mark.kind](mark, first, length)


def _last(_mark: Mark, _first: int, length: int) -> int:
    return length


def _last_workday(_mark: Mark, first: int, length: int) -> int:
    return _nearest_workday(Mark("nearest-workday", length), first, length)


def _nearest_workday(mark: Mark, first: int, length: int) -> int:
    """The weekday nearest to a day, never out of its month; 31W in a short month starts from its last day."""
    day = min(mark.day, length)
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _last_weekday(mark: Mark, first: int, length: int) -> int:
    return length - (first + length - 1 - mark.day) % 7


def _nth_weekday(mark: Mark, first: int, length: int) -> int:
    day = 1 + (mark.day - first) % 7 + 7 * (mark.nth - 1)
    return day if day <= length else 0


_MARKS: dict[str, Callable[[Mark, int, int], int]] = {
    "last": _last,
    "last-workday": _last_workday,
    "nearest-workday": _nearest_workday,
    "last-weekday": _last_weekday,
    "nth-weekday": _nth_weekday,
}
