"""Cron schedules: the ticks of an expression in a time zone, strictly rising in UTC.

Fixed times ("30 2 * * *") follow the wall clock: a time that a clock change skips comes once, at the first instant
after the gap; a time that is shown twice comes at the first. Schedules whose second, minute or hour field starts with
`*` (or is `H/n`) follow elapsed time: readings that do not exist do not fire, readings shown twice fire twice.

A day matches by day-of-month OR day-of-week where both are restricted, AND if either starts with `*` or is `?`, as in
Debian's cron. The options `days` and `gap` are for those whom these two rules surprise.
"""

from datetime import datetime
from typing import Literal

from oncue.common.cron_calendar import Calendar
from oncue.common.cron_expression import Expression, read_expression
from oncue.common.cron_warnings import warn_of
from oncue.common.cron_words import explain
from oncue.common.errors import CronError
from oncue.common.instants import after
from oncue.common.ticks import EveryTicks, Ticks, WallTicks
from oncue.common.walltime import LAST_SECOND, WallClock, wall_clock


class Cron:
    """The planned instants of one schedule. Immutable, and free of I/O once the zone is loaded."""

    __slots__ = ("_expression", "_ticks", "days", "expr", "gap", "seed", "tz")

    def __init__(
        self,
        expr: str,
        tz: str = "UTC",
        *,
        seed: str = "",
        days: Literal["either", "both"] = "either",
        gap: Literal["run", "skip"] = "run",
        _clock: WallClock | None = None,
    ) -> None:
        """`expr` has 5 fields, or 6 with seconds first; `tz` is an IANA name; `seed` (the schedule's name) settles `H`.

        `days="both"` makes a day match day-of-month AND day-of-week, whatever they start with. `gap="skip"` leaves out
        fixed times that a clock change skips. Raises CronError, whose sentence names the field, what was found, what is
        allowed, and a rewrite.
        """
        self._expression = read_expression(expr, seed)
        _check_option("days", days, ("either", "both"))
        _check_option("gap", gap, ("run", "skip"))
        self._ticks = _ticks(self._expression, _clock or wall_clock(tz), days, gap)
        self.expr, self.tz, self.seed, self.days, self.gap = expr, tz, seed, days, gap

    def __repr__(self) -> str:
        return f"Cron({self.expr!r}, {self.tz!r})"

    @property
    def elapsed(self) -> bool:
        """Whether the schedule follows elapsed time instead of fixed times of the wall clock."""
        return self._expression.elapsed

    @property
    def warnings(self) -> list[str]:
        """Sentences about what is allowed but seldom meant; empty for most expressions."""
        return warn_of(self._expression, self.seed, self.days)

    def explain(self) -> str:
        """The meaning in words, on one line."""
        return explain(self._expression, self.tz, self.days, self.gap)

    def after(self, instant: datetime, n: int = 1) -> list[datetime]:
        """The next `n` ticks strictly after `instant`, rising, in UTC; fewer where no more ever come.

        Raises BadInput for a datetime without a time zone.
        """
        return after(self.after_ms, instant, n)

    def after_ms(self, instant_ms: int) -> int | None:
        """The next tick strictly after `instant_ms`, both in milliseconds since 1970; None where none ever comes."""
        tick = self._after(instant_ms // 1000)
        return None if tick is None else tick * 1000

    def _after(self, second: int) -> int | None:
        """The next tick after a whole second; what a fraction would add to it changes nothing, as ticks have none."""
        tick = self._ticks.at_or_after(second + 1)
        if tick is None or tick > LAST_SECOND:
            return None
        if tick <= second:
            raise AssertionError(f"{self!r}: the tick after {second} came out as {tick}")
        return tick


def _check_option(name: str, found: str, allowed: tuple[str, str]) -> None:
    if found not in allowed:
        text = f"{name}: found {found!r:.40}; allowed are {' and '.join(allowed)}"
        raise CronError(text, field=name, code="range")


def _ticks(expression: Expression, clock: WallClock, days: str, gap: str) -> Ticks:
    if expression.every:
        return EveryTicks(expression.every)
    calendar = Calendar(expression.fields, both_days=days == "both")
    if not calendar.days.ever():
        raise _never(expression)
    return WallTicks(calendar, clock, elapsed=expression.elapsed, skip_gaps=gap == "skip")


def _never(expression: Expression) -> CronError:
    *_, day, month, weekday = expression.fields
    found = f"day-of-month field: found {day.text!r:.40} in month {month.text!r:.40} on weekday {weekday.text!r:.40}"
    advice = "a date that never comes; allowed are dates that exist; write L for the last day of the month"
    return CronError(f"{found}, {advice}", field="day-of-month", code="never")
