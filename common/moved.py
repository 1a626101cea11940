"""`on_excluded: next_workday` and `previous_workday`: ticks on excluded dates run at the same time of another day."""

from oncue.common.errors import CronError
from oncue.common.exclusion import Excluded
from oncue.common.skipped import Ticks, begin_of, date_at
from oncue.common.walltime import DAY, WallClock

_LEAST_PAUSE_MS = 3_600_000
# Ticks looked at before the schedule counts as finished.
_MOST = 50_000


class Moved:
    """The ticks of a schedule, with those on excluded dates moved `step` (1 or -1) to the nearest workday.

    A workday is a Monday-to-Friday date that is not excluded. Ticks that meet there become one. Where there is no
    workday for over a year, the tick is left out.
    """

    def __init__(self, ticks: Ticks, excluded: Excluded, clock: WallClock, step: int) -> None:
        """Raises CronError where the ticks come more often than every hour: moved, they would only meet others."""
        self._ticks, self._excluded, self._clock, self._step = ticks, excluded, clock, step
        self._check_pace()

    def after_ms(self, instant_ms: int) -> int | None:
        """The next of them strictly after `instant_ms`.

        Ticks move past each other, so all are looked at that can come out next: forwards from the last workday before
        the instant, as what is older than a workday moves no further than to it; backwards up to the end of the
        next workday after the best one found.
        """
        best: int | None = None
        tick = self._ticks.after_ms(self._first_look(instant_ms))
        for _ in range(_MOST):
            if tick is None or (best is not None and tick >= self._last_look(best)):
                break
            moved = self._moved(tick)
            if moved is not None and moved > instant_ms and (best is None or moved < best):
                best = moved
            tick = self._ticks.after_ms(tick)
        return best

    def _moved(self, tick: int) -> int | None:
        reading = self._clock.reading(tick // 1000)
        day = reading // DAY
        if not self._excluded.has(day):
            return tick
        workday = self._excluded.workday(day + self._step, self._step)
        if workday is None:
            return None
        return self._clock.resolve(reading + (workday - day) * DAY) * 1000 + tick % 1000

    def _first_look(self, instant_ms: int) -> int:
        if self._step < 0:
            return instant_ms
        day = date_at(self._clock, instant_ms)
        # Two days of margin, as a clock may show a date again.
        workday = self._excluded.workday(day - 2, -1)
        return begin_of(self._clock, day - 2 if workday is None else workday) - 1

    def _last_look(self, best: int) -> int:
        if self._step > 0:
            return best
        day = date_at(self._clock, best)
        workday = self._excluded.workday(day + 1, 1)
        return begin_of(self._clock, (day if workday is None else workday) + 1)

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
