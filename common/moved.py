"""`on_excluded: next_workday` and `previous_workday`: ticks on excluded dates run at the same time of another day."""

from bisect import bisect_right

from oncue.common.errors import CronError
from oncue.common.exclusion import FURTHEST, Excluded
from oncue.common.skipped import Ticks, begin_of, date_at
from oncue.common.walltime import DAY, WallClock

_LEAST_PAUSE_MS = 3_600_000
# Stretches that are looked at before the schedule counts as finished: every other day of thirty years.
_MOST = 5_500
_MET_KEPT = 64


class Moved:
    """The ticks of a schedule, with those on excluded dates moved `step` (1 or -1) to the nearest workday.

    A workday is a Monday-to-Friday date that is not excluded. Ticks that meet there become one. Where there is no
    workday for over a year, the tick is left out.
    """

    def __init__(self, ticks: Ticks, excluded: Excluded, clock: WallClock, step: int) -> None:
        """Raises CronError where the ticks come more often than every hour: moved, they would only meet others."""
        self._ticks, self._excluded, self._clock, self._step = ticks, excluded, clock, step
        self._met: dict[int, list[int]] = {}
        self._check_pace()

    def after_ms(self, instant_ms: int) -> int | None:
        """The next of them strictly after `instant_ms`.

        Ticks move past each other, so all are looked at that can come out next: forwards from the last workday before
        the instant, as what is older than a workday moves no further than to it; backwards up to the end of the
        next workday after the best one found. An excluded stretch is looked at once, however long it is.
        """
        best: int | None = None
        tick = self._ticks.after_ms(self._first_look(instant_ms))
        for _ in range(_MOST):
            if tick is None or (best is not None and tick >= self._last_look(best)):
                break
            found, go_on_ms = self._at(tick, instant_ms)
            if found is not None and (best is None or found < best):
                best = found
            tick = self._ticks.after_ms(go_on_ms)
        return best

    def _at(self, tick: int, instant_ms: int) -> tuple[int | None, int]:
        """What comes out after `instant_ms` for a tick, or for all of its excluded stretch; and where to go on."""
        day = date_at(self._clock, tick)
        end = self._excluded.stretch(day)
        if end == day:
            go_on_ms = max(tick, begin_of(self._clock, day + 1) - 1)
            return (tick, go_on_ms) if tick > instant_ms else (None, max(tick, min(instant_ms, go_on_ms)))
        workday = self._excluded.workday(*((end, 1) if self._step > 0 else (day - 1, -1)))
        met = [] if workday is None else self._meeting(workday)
        at = bisect_right(met, instant_ms)
        # A date may be shown again after a clock went back, so the ticks of the stretch are passed by at least one.
        return met[at] if at < len(met) else None, max(tick, begin_of(self._clock, end) - 1)

    def _meeting(self, workday: int) -> list[int]:
        """When the ticks run that are moved to a workday, rising."""
        met = self._met.get(workday)
        if met is None:
            if len(self._met) >= _MET_KEPT:
                self._met.clear()
            met = self._met[workday] = sorted(self._moved_to(workday))
        return met

    def _moved_to(self, workday: int) -> set[int]:
        step = self._step
        other = self._excluded.workday(workday - step, -step)
        furthest = workday - step * FURTHEST if other is None else other
        first, last = min(furthest, workday), max(furthest, workday)
        # A date of margin at both ends, as a clock may show one again.
        tick = self._ticks.after_ms(begin_of(self._clock, first - 1) - 1)
        until = begin_of(self._clock, last + 2)
        found: set[int] = set()
        while tick is not None and tick < until:
            reading = self._clock.reading(tick // 1000)
            day = reading // DAY
            if first <= day <= last and self._excluded.has(day):
                found.add(self._clock.resolve(reading + (workday - day) * DAY) * 1000 + tick % 1000)
            tick = self._ticks.after_ms(tick)
        return found

    def _first_look(self, instant_ms: int) -> int:
        if self._step < 0:
            return instant_ms
        # Two days of margin, as a clock may show a date again.
        day = date_at(self._clock, instant_ms) - 2
        workday = self._excluded.workday(day, -1)
        return begin_of(self._clock, day - FURTHEST if workday is None else workday) - 1

    def _last_look(self, best: int) -> int:
        if self._step > 0:
            return best
        day = date_at(self._clock, best) + 1
        workday = self._excluded.workday(day, 1)
        return begin_of(self._clock, (day + FURTHEST if workday is None else workday) + 1)

    def _check_pace(self) -> None:
        tick = self._ticks.after_ms(0)
        for _ in range(100):
            following = None if tick is None else self._ticks.after_ms(tick)
            if tick is None or following is None:
                return
            if following - tick < _LEAST_PAUSE_MS:
                text = "on_excluded: allowed is skip alone, as this schedule runs more often than every hour"
                raise CronError(text, field="on_excluded", code="range")
            tick = following
