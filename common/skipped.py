"""`on_excluded: skip`: the ticks of a schedule without those on excluded dates; and what follows a finish."""

from typing import Protocol

from oncue.common.exclusion import Excluded
from oncue.common.walltime import DAY, LAST_SECOND, WallClock

# Excluded stretches that are passed over before the schedule counts as finished: the Mondays of a century.
_MOST = 5_300


class Ticks(Protocol):
    """Whatever has ticks."""

    def after_ms(self, instant_ms: int) -> int | None:
        """The next tick strictly after an instant, both in ms since 1970; None where none ever comes."""


class Kept:
    """The ticks on dates that are not excluded."""

    def __init__(self, ticks: Ticks, excluded: Excluded, clock: WallClock) -> None:
        self._ticks, self._excluded, self._clock = ticks, excluded, clock

    def after_ms(self, instant_ms: int) -> int | None:
        """The next of them strictly after `instant_ms`; None where none comes in the next century or so."""
        for _ in range(_MOST):
            tick = self._ticks.after_ms(instant_ms)
            if tick is None:
                return None
            day = date_at(self._clock, tick)
            end = self._excluded.stretch(day)
            if end == day:
                return tick
            # A date may be shown again after a clock went back, so the ticks of the stretch are passed by at least one.
            instant_ms = max(tick, begin_of(self._clock, end) - 1)
        return None


class AfterFinish:
    """What follows the finish of a run: one interval later, or at the beginning of the first date not excluded."""

    def __init__(self, every_ms: int, excluded: Excluded | None, clock: WallClock) -> None:
        self._every, self._excluded, self._clock = every_ms, excluded, clock

    def after_ms(self, instant_ms: int) -> int | None:
        """The planned instant after a finish at `instant_ms`; None where none comes in the next century or so."""
        tick = instant_ms + self._every
        if self._excluded is None:
            return tick
        for _ in range(_MOST):
            day = date_at(self._clock, tick)
            end = self._excluded.stretch(day)
            if end == day:
                return tick
            tick = max(tick + 1, begin_of(self._clock, end))
        return None


def date_at(clock: WallClock, instant_ms: int) -> int:
    """The date that the clock shows, in days since 1970-01-01."""
    return clock.reading(instant_ms // 1000) // DAY


def begin_of(clock: WallClock, day: int) -> int:
    """The instant in ms at which the clock first shows a date, or what comes after it where it is skipped."""
    return clock.resolve(min(day * DAY, LAST_SECOND)) * 1000
