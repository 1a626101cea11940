"""The rule of a schedule: its planned instants, from whatever they are made, in milliseconds since 1970.

A planned instant is a tick's identity. It is settled by the definition alone: every scheduler, before and after a
restart, finds the same ones. `next_after` is strictly rising; all that is asked about missed ticks is answered
through it by bisection, so that a year without schedulers costs no walk through its minutes.
"""

from oncue.common.cron import Cron
from oncue.common.duration import words_of
from oncue.common.errors import CronError
from oncue.common.exclusion import Excluded, read_excluded, warn_of_entries
from oncue.common.interval import Interval, every_ms, explain_interval
from oncue.common.jitter import jitter_of
from oncue.common.localtime import first_ms, last_ms
from oncue.common.moved import Moved
from oncue.common.past import all_between, count_between, latest_between
from oncue.common.recurrence import RRule
from oncue.common.rule_words import explain_limits
from oncue.common.skipped import AfterFinish, Kept, Ticks
from oncue.common.timing import Timing
from oncue.common.timing_checks import check, kind_of
from oncue.common.walltime import WallClock, wall_clock

_BEFORE_ALL_MS = -62_000_000_000_000


class Rule:
    """All planned instants of one schedule. Free of I/O once its zone is loaded."""

    def __init__(self, name: str, timing: Timing) -> None:
        """`name` is the schedule's: it settles `H` and jitter. Raises CronError, whose field is the key to mend."""
        self.name, self.timing = name, timing
        self.kind = kind_of(timing)
        check(timing, self.kind)
        clock = self.clock = wall_clock(timing.timezone)
        self._every_ms = 0 if timing.every_s is None else every_ms(timing.every_s)
        self._jitter_ms = round(timing.jitter_s * 1000)
        self._anchor_ms = None if timing.anchor is None else first_ms("anchor", timing.anchor, clock)
        self._start_ms = None if timing.start is None else first_ms("start", timing.start, clock)
        self._end_ms = None if timing.end is None else last_ms("end", timing.end, clock)
        if self._start_ms is not None and self._end_ms is not None and self._start_ms > self._end_ms:
            raise CronError(f"end: found {timing.end!r}, which is before start", field="end", code="order")
        self._own = self._made(clock)
        self._ticks = self._filtered(self._own, clock)
        self._to_count = timing.count
        self._check_ever()

    @property
    def from_end(self) -> bool:
        """Whether the next tick follows from the finish of the last run: ask `after_finish` for it."""
        return self.timing.from_end

    @property
    def follows_wall(self) -> bool:
        """Whether its ticks are readings of the wall clock, instead of a pace in elapsed time."""
        return isinstance(self._own, Cron | RRule) and not self._own.elapsed

    @property
    def written(self) -> str:
        """The kind's own text: the cron expression, `every 90m` in words, or the rrule."""
        if self.timing.every_s is not None:
            return f"every {words_of(self.timing.every_s)}"
        return self.timing.cron or self.timing.rrule or ""

    @property
    def warnings(self) -> list[str]:
        """Sentences about what is allowed but seldom meant."""
        own = self._own.warnings if isinstance(self._own, Cron | RRule) else self._start_warnings()
        excluded = warn_of_entries(self.timing.exclude, self.timing.calendars)
        return [*own, *excluded, *self._jitter_warnings()]

    def _start_warnings(self) -> list[str]:
        start_ms, timing = self._start_ms, self.timing
        counts_from_it = timing.from_end or timing.anchor is not None
        if start_ms is None or counts_from_it or self._own.after_ms(start_ms - 1) == start_ms:
            return []
        return [
            "start: ticks are counted from 1970-01-01T00:00Z, so this is none; to count from it, set anchor to the same"
        ]

    def _jitter_warnings(self) -> list[str]:
        first = self._within(_BEFORE_ALL_MS) if self._jitter_ms else None
        following = None if first is None else self._within(first)
        if first is None or following is None or self._jitter_ms <= following - first:
            return []
        jitter, pause = words_of(self.timing.jitter_s), words_of((following - first) / 1000)
        text = f"jitter: {jitter} are longer than the {pause} to the next tick, before which each one runs"
        return [f"{text}: they come at any time, in their order; write less to keep them near their instants"]

    def explain(self) -> str:
        """The meaning in words, on one line."""
        if isinstance(self._own, Cron | RRule):
            words = self._own.explain()
        else:
            timing = self.timing
            words = explain_interval(self._every_ms / 1000, self._anchor_ms, from_end=timing.from_end)
        return words + explain_limits(self.timing)

    def next_after(self, instant_ms: int) -> int | None:
        """The next planned instant strictly after `instant_ms`; None where none ever comes.

        With `from: end` it is what follows if nothing has run yet, at a creation or resume: see `after_finish`.
        """
        tick = self._within(instant_ms) if self.timing.enabled else None
        if tick is not None and tick <= instant_ms:
            raise AssertionError(f"schedule {self.name}: the tick after {instant_ms} came out as {tick}")
        return tick

    def after_finish(self, finished_ms: int, now_ms: int) -> int | None:
        """For `from: end`: the planned instant after a run has finished, failed or lost its lease at `finished_ms`.

        A start that has passed by `now_ms` puts nothing off, and is no tick to be made up for.
        """
        has_begun = self._start_ms is not None and self._start_ms <= now_ms
        return self._between(finished_ms, has_begun=has_begun) if self.timing.enabled else None

    def runs_at(self, planned_ms: int) -> int:
        """When the tick planned at `planned_ms` runs: with jitter up to that much later, before the next tick."""
        if not self._jitter_ms:
            return planned_ms
        following = planned_ms + self._every_ms if self.from_end else self._within(planned_ms)
        return planned_ms + jitter_of(self.name, planned_ms, self._jitter_ms, following)

    def latest_up_to(self, now_ms: int, after_ms: int) -> int | None:
        """The last planned instant in (`after_ms`, `now_ms`], in some 40 questions however many there are."""
        if self.from_end:
            return next(iter(self._pending(now_ms, after_ms)), None)
        return latest_between(self.next_after, after_ms, now_ms)

    def all_up_to(self, now_ms: int, after_ms: int, most: int) -> list[int]:
        """The planned instants in (`after_ms`, `now_ms`], oldest first; of more than `most`, the latest ones."""
        if self.from_end:
            return self._pending(now_ms, after_ms)[:most]
        return all_between(self.next_after, after_ms, now_ms, most)

    def missed(self, after_ms: int, now_ms: int, most: int) -> int:
        """How many planned instants lie in (`after_ms`, `now_ms`], counted no further than `most`."""
        if self.from_end:
            return min(most, len(self._pending(now_ms, after_ms)))
        return count_between(self.next_after, after_ms, now_ms, most)

    def _pending(self, now_ms: int, after_ms: int) -> list[int]:
        """With `from: end` one tick at most can have been missed: the next one is planned when it has run."""
        tick = self.next_after(after_ms)
        return [tick] if tick is not None and tick <= now_ms else []

    def _made(self, clock: WallClock) -> Cron | RRule | Interval:
        # All of one rule by the same clock: another thread may take over other rules of the zone meanwhile.
        timing = self.timing
        if timing.cron is not None:
            return Cron(
                timing.cron, timing.timezone, seed=self.name, days=timing.days, gap=timing.gap, _clock=clock
            )
        if timing.rrule is not None:
            return RRule(timing.rrule, timing.dtstart or "", timing.timezone, gap=timing.gap, _clock=clock)
        return Interval(self._every_ms, self._anchor_ms or 0)

    def _filtered(self, own: Cron | RRule | Interval, clock: WallClock) -> Ticks:
        timing = self.timing
        excluded: Excluded | None = None
        if timing.exclude:
            excluded = read_excluded(timing.exclude, timing.calendars)
        if timing.from_end:
            return AfterFinish(self._every_ms, excluded, clock)
        if excluded is None:
            return own
        if timing.on_excluded == "skip":
            return Kept(own, excluded, clock)
        return Moved(own, excluded, clock, 1 if timing.on_excluded == "next_workday" else -1)

    def _check_ever(self) -> None:
        """A schedule that can never run is a slip; one whose end has passed is finished, and fine."""
        key = "exclude" if self.timing.exclude else "end"
        if self._between(0) is None and getattr(self.timing, key):
            text = "no tick is left: all are excluded, or none lies between start and end"
            raise CronError(f"{key}: {text}", field=key, code="never")

    def _within(self, instant_ms: int) -> int | None:
        if self._to_count is not None:
            self._end_ms, self._to_count = self._counted(self._to_count), None
        return self._between(instant_ms)

    def _between(self, instant_ms: int, *, has_begun: bool = False) -> int | None:
        if self._start_ms is not None and not has_begun and instant_ms < self._start_ms:
            # Where ticks count from the end of a run the first one comes at the start itself.
            instant_ms = self._start_ms - (self._every_ms if self.from_end else 1)
        tick = self._ticks.after_ms(max(instant_ms, _BEFORE_ALL_MS))
        return None if tick is None or (self._end_ms is not None and tick > self._end_ms) else tick

    def _counted(self, count: int) -> int:
        """The instant of the tick with which `count` is reached, or of the last that there is."""
        at = _BEFORE_ALL_MS
        for _ in range(count):
            tick = self._between(at)
            if tick is None:
                break
            at = tick
        return at
