"""Recurrence rules (rrule, RFC 5545): the ticks of a rule from its first instant on, in a time zone.

The dates of a rule are expanded by python-dateutil on naive time, its times of day are a set; the clock changes are
those of a cron schedule with fixed times. A plain pace (HOURLY or MINUTELY without BY-parts) follows elapsed time.
"""

from datetime import datetime, timedelta
from typing import Literal

from oncue.common.errors import CronError
from oncue.common.instants import after
from oncue.common.interval import Interval
from oncue.common.localtime import reading_of
from oncue.common.recurrence_dates import RuleDates
from oncue.common.recurrence_text import Parts, read_parts, refuse, until_moment
from oncue.common.recurrence_words import explain_rule
from oncue.common.ticks import WallTicks
from oncue.common.walltime import DAY, LAST_SECOND, WallClock, wall_clock

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a reading has no zone
_SECOND = timedelta(seconds=1)
_PACE_S = {"HOURLY": 3_600, "MINUTELY": 60}


class RRule:
    """The planned instants of one recurrence rule: `RRule("FREQ=WEEKLY;BYDAY=MO", dtstart="2026-01-05T09:00")`."""

    __slots__ = ("_before_ms", "_first", "_last_ms", "_parts", "_ticks", "dtstart", "gap", "rrule", "tz")

    def __init__(
        self,
        rrule: str,
        dtstart: str,
        tz: str = "UTC",
        *,
        gap: Literal["run", "skip"] = "run",
        _clock: WallClock | None = None,
    ) -> None:
        """`dtstart` is ISO 8601: local time of the IANA zone `tz`, or with an offset. It is no tick unless the rule has it.

        Raises CronError, whose sentence names the part, what was found, and what is allowed.
        """
        parts, clock = read_parts(rrule), _clock or wall_clock(tz)
        if gap not in ("run", "skip"):
            raise CronError(f"gap: found {gap!r:.40}; allowed are run and skip", field="gap", code="range")
        self.rrule, self.dtstart, self.tz, self.gap = rrule, dtstart, tz, gap
        self._parts, self._first = parts, reading_of("dtstart", dtstart, clock)
        self._last_ms = _until_ms(parts)
        self._before_ms = clock.resolve(self._first) * 1000 - 1
        self._ticks = _ticks(parts, self._first, clock, skip_gaps=gap == "skip")
        if self.after_ms(self._before_ms) is None:
            refuse("never", "it has no tick at all; allowed are dates that come, up to UNTIL")

    def __repr__(self) -> str:
        return f"RRule({self.rrule!r}, {self.dtstart!r}, {self.tz!r})"

    @property
    def elapsed(self) -> bool:
        """Whether the rule follows elapsed time instead of the wall clock."""
        return self._parts.elapsed

    @property
    def warnings(self) -> list[str]:
        """Sentences about what is allowed but seldom meant."""
        at = self._first
        if isinstance(self._ticks, WallTicks) and Readings(self._parts, at).at_or_after(at) != at:
            return ["dtstart: the rule does not have this instant, so it is no tick; the first one is later"]
        return []

    def explain(self) -> str:
        """The meaning in words, on one line."""
        return explain_rule(self._parts, self._first, self.tz, self.gap)

    def after(self, instant: datetime, n: int = 1) -> list[datetime]:
        """The next `n` ticks strictly after `instant`, rising, in UTC; fewer where no more come.

        Raises BadInput for a datetime without a time zone.
        """
        return after(self.after_ms, instant, n)

    def after_ms(self, instant_ms: int) -> int | None:
        """The next tick strictly after `instant_ms`, both in milliseconds since 1970; None where none ever comes."""
        instant_ms = max(instant_ms, self._before_ms)
        if isinstance(self._ticks, WallTicks):
            second = self._ticks.at_or_after(instant_ms // 1000 + 1)
            tick = None if second is None or second > LAST_SECOND else second * 1000
        else:
            tick = self._ticks.after_ms(instant_ms)
        return None if tick is None or (self._last_ms is not None and tick > self._last_ms) else tick


class Readings:
    """The readings of a rule on the wall clock, in whole seconds: its dates, its times of day, its two ends."""

    def __init__(self, parts: Parts, first: int) -> None:
        self._dates = RuleDates(parts, first // DAY)
        self._times = _times(parts, first % DAY)
        self._first, self._last = first, _last_reading(parts)
        self._count = parts.count

    def at_or_after(self, reading: int) -> int | None:
        """The first reading from `reading` on; None where none comes within the next centuries."""
        if self._count is not None:
            self._last, self._count = self._counted(self._count), None
        found = self._next(max(reading, self._first))
        return None if found is None or (self._last is not None and found > self._last) else found

    def _next(self, reading: int) -> int | None:
        day, second = divmod(reading, DAY)
        found = self._dates.at_or_after(day)
        if found == day:
            time = next((time for time in self._times if time >= second), None)
            if time is not None:
                return day * DAY + time
            found = self._dates.at_or_after(day + 1)
        return None if found is None else found * DAY + self._times[0]

    def _counted(self, count: int) -> int:
        """The reading with which COUNT is reached, or the last that there is."""
        last = self._first - 1
        for _ in range(count):
            found = self._next(last + 1)
            if found is None:
                break
            last = found
        return last


def _ticks(parts: Parts, first: int, clock: WallClock, *, skip_gaps: bool) -> WallTicks | Interval:
    if not parts.elapsed:
        return WallTicks(Readings(parts, first), clock, elapsed=False, skip_gaps=skip_gaps)
    start_ms = clock.resolve(first) * 1000
    every_ms = _PACE_S[parts.freq] * parts.interval * 1000
    ends = [start_ms + (parts.count - 1) * every_ms] if parts.count is not None else []
    reading = _last_reading(parts)
    ends += [clock.resolve(reading) * 1000] if reading is not None else []
    return Interval(every_ms, start_ms, first_ms=start_ms, last_ms=min(ends, default=None))


def _times(parts: Parts, first: int) -> tuple[int, ...]:
    """The seconds of the day of every tick; what no BY-part says is as in dtstart, or steps on from it."""
    hour, minute, second = first // 3600, first // 60 % 60, first % 60
    seconds = parts.numbers.get("BYSECOND", (second,))
    if parts.freq == "MINUTELY":
        paces = {(hour * 60 + minute + step) % 1440 for step in range(0, 1440, parts.interval)}
        hours = parts.numbers.get("BYHOUR", tuple(range(24)))
        minutes = parts.numbers.get("BYMINUTE", tuple(range(60)))
    else:
        steps = range(0, 24, parts.interval) if parts.freq == "HOURLY" else ()
        hours = parts.numbers.get("BYHOUR", tuple(range(24)) if steps else (hour,))
        minutes = parts.numbers.get("BYMINUTE", (minute,))
        paces = {(hour + step) % 24 * 60 + m for step in steps for m in minutes}
    times = [(h * 60 + m) for h in hours for m in minutes if not paces or h * 60 + m in paces]
    if not times:
        refuse("never", "its times of day never come: INTERVAL steps from dtstart past BYHOUR and BYMINUTE")
    return tuple(sorted(time * 60 + s for time in times for s in seconds))


def _last_reading(parts: Parts) -> int | None:
    moment = until_moment(parts.until) if parts.until is not None else None
    return None if moment is None or moment.tzinfo is not None else (moment - _EPOCH) // _SECOND


def _until_ms(parts: Parts) -> int | None:
    moment = until_moment(parts.until) if parts.until is not None else None
    return None if moment is None or moment.tzinfo is None else round(moment.timestamp()) * 1000
