"""The dates of a recurrence rule, expanded by python-dateutil from any date on, not from the first.

Two ideas keep each question cheap. The expansion starts at the period (year, month, week, day) that holds the date
asked for, in step with the first one. And it runs centuries ahead: the Gregorian calendar repeats after 400 years to
the weekday, so the same dates are found near the year 9999, where dateutil ends by itself. A rule whose next date
never comes costs at most some centuries, where dateutil would search for eight thousand years.
"""

from bisect import bisect_left
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from dateutil import rrule as dateutil

from oncue.common.localtime import EPOCH_DAY, date_of
from oncue.common.recurrence_text import Parts

_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
_LAST_YEAR = 9999
_LEAST_AHEAD = 100  # years that every search may look at; a longest INTERVAL is a century
_MOST_KEPT = 64
_FREQ: dict[str, Any] = {
    "YEARLY": dateutil.YEARLY,
    "MONTHLY": dateutil.MONTHLY,
    "WEEKLY": dateutil.WEEKLY,
    # What repeats within the day has dates like a daily rule.
    "DAILY": dateutil.DAILY,
    "HOURLY": dateutil.DAILY,
    "MINUTELY": dateutil.DAILY,
}
_DATE_PARTS = ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS")


class RuleDates:
    """The dates of a rule as days since 1970-01-01, without its COUNT and UNTIL."""

    def __init__(self, parts: Parts, first: int) -> None:
        self._first = date_of(first)
        self._freq = _FREQ[parts.freq]
        self._interval = parts.interval if parts.freq not in ("HOURLY", "MINUTELY") else 1
        self._week_start = parts.week_start
        self._options = _options(parts, self._first)
        self._known: tuple[int, tuple[int, ...]] = (0, ())

    def at_or_after(self, day: int) -> int | None:
        """The first date from `day` on; None where none comes within the next centuries."""
        day = max(day, self._first.toordinal() - EPOCH_DAY)
        start, days = self._known
        if not (days and start <= day <= days[-1]):
            # Whoever goes on from date to date is given more of them at a time.
            near = bool(days) and start <= day <= days[-1] + _CYCLE_DAYS // 100
            days = self._expand(day, min(2 * len(days), _MOST_KEPT) if near else 2)
            self._known = day, days
        return days[bisect_left(days, day)] if days else None

    def _expand(self, day: int, most: int) -> tuple[int, ...]:
        start = self._period(date_of(day))
        cycles = max(0, (_LAST_YEAR - _LEAST_AHEAD - start.year) // _CYCLE_YEARS)
        ahead = EPOCH_DAY + _CYCLE_DAYS * cycles
        dtstart = datetime(start.year + _CYCLE_YEARS * cycles, start.month, start.day)  # noqa: DTZ001
        rule = dateutil.rrule(self._freq, dtstart, self._interval, self._week_start, **self._options)
        found = (moment.toordinal() - ahead for moment in rule)
        return tuple(islice((later for later in found if later >= day), most))

    def _period(self, day: date) -> date:
        """The first day of the last period in step that has begun by `day`."""
        first, step = self._first, self._interval
        if self._freq == dateutil.YEARLY:
            return date(first.year + _whole(day.year - first.year, step), 1, 1)
        if self._freq == dateutil.MONTHLY:
            months = _whole((day.year - first.year) * 12 + day.month - first.month, step)
            year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
            return date(year, month + 1, 1)
        if self._freq == dateutil.WEEKLY:
            first -= timedelta(days=(first.weekday() - self._week_start) % 7)
            step *= 7
        return first + timedelta(days=_whole((day - first).days, step))


def _whole(distance: int, step: int) -> int:
    return distance // step * step


def _options(parts: Parts, first: date) -> dict[str, Any]:
    """The BY-parts of dates; what the rule leaves open is as in its first date, which the expansion no longer sees."""
    options: dict[str, Any] = {
        name.lower(): parts.numbers[name] for name in _DATE_PARTS if name in parts.numbers
    }
    if parts.days:
        every = dateutil.weekdays
        options["byweekday"] = [
            every[weekday](ordinal) if ordinal else every[weekday] for ordinal, weekday in parts.days
        ]
    if not options.keys() & {"byweekno", "byyearday", "bymonthday", "byweekday"}:
        if parts.freq == "YEARLY":
            options.setdefault("bymonth", first.month)
        if parts.freq in ("YEARLY", "MONTHLY"):
            options["bymonthday"] = first.day
        if parts.freq == "WEEKLY":
            options["byweekday"] = first.weekday()
    return options | {"byhour": 0, "byminute": 0, "bysecond": 0}
