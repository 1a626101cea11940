"""The ticks of a schedule as instants in whole seconds since 1970-01-01: one rule each, and one question.

`at_or_after(instant)` answers the first tick from `instant` on, or None where none ever comes.
"""

from typing import Protocol

from oncue.common.walltime import FIRST_SECOND, LAST_SECOND, MARGIN, Span, WallClock

# The Gregorian calendar repeats after 400 years: what has not come by then (say, every five minutes of an hour that a
# clock change always skips) never will.
_HORIZON = 400 * 366 * 86_400


class Ticks(Protocol):
    """Any rule of ticks."""

    def at_or_after(self, instant: int) -> int | None:
        """The first tick from `instant` on."""


class Readings(Protocol):
    """What has readings of the wall clock: the calendar of a cron expression, a recurrence rule."""

    def at_or_after(self, reading: int) -> int | None:
        """The first reading from `reading` on; None where none ever comes."""


class EveryTicks:
    """Ticks at the multiples of `every` seconds since the epoch, so that a restart shifts nothing."""

    def __init__(self, every: int) -> None:
        self._every = every

    def at_or_after(self, instant: int) -> int | None:
        """The first multiple from `instant` on."""
        return -(-instant // self._every) * self._every


class WallTicks:
    """Ticks where the wall clock of a zone shows a reading that the calendar has.

    With `elapsed`, readings that do not exist do not fire, and readings shown twice fire twice. Without (fixed times),
    a reading fires when it is first shown, and all readings of a gap fire once together, at its end (with `skip_gaps`
    never).
    """

    def __init__(self, calendar: Readings, clock: WallClock, *, elapsed: bool, skip_gaps: bool) -> None:
        self._calendar, self._clock = calendar, clock
        self._elapsed, self._skip_gaps = elapsed, skip_gaps

    def at_or_after(self, instant: int) -> int | None:
        """The first tick from `instant` on, searched span by span of equal offset."""
        instant = max(instant, FIRST_SECOND)
        last = min(instant + _HORIZON, LAST_SECOND)
        while instant < last:
            span = self._clock.span(instant)
            low = self._first_reading(span, instant)
            reading = self._calendar.at_or_after(low)
            if reading is None:
                return None
            if reading < span.end + span.offset:
                return max(reading - span.offset, instant)
            instant = self._skip(span, low, reading)
        return None

    def _first_reading(self, span: Span, instant: int) -> int:
        """The first reading that counts at `instant`.

        For fixed times it is one that was never shown before; at the start of a span these begin with what the gap
        before it swallowed, so that a match in the gap comes out at the gap's end.
        """
        shown = instant + span.offset
        if self._elapsed:
            return shown
        if instant == span.start and not self._skip_gaps:
            return span.high
        return max(span.high, shown)

    def _skip(self, span: Span, low: int, reading: int) -> int:
        """Where to go on when the next match lies beyond the span.

        Nothing matches in [low, reading), so the years before `reading` need no look at their clock changes; but a
        clock that goes back soon after `low` may show readings from before `low` again.
        """
        if low > span.end + span.offset - MARGIN:
            return span.end
        return max(span.end, reading - span.offset - MARGIN)
