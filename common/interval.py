"""Intervals: ticks in elapsed time, every so many milliseconds from the epoch or from an anchor."""

from datetime import UTC, datetime

from oncue.common.duration import LONGEST_S, read_duration, words_of
from oncue.common.errors import BadInput, CronError
from oncue.common.instants import after

_LAST_MS = 253_400_000_000_000  # late in the year 9999


class Interval:
    """Ticks at `anchor_ms` and every `every_ms` before and after it, so that a restart shifts nothing."""

    def __init__(
        self, every_ms: int, anchor_ms: int = 0, first_ms: int | None = None, last_ms: int | None = None
    ) -> None:
        """No tick is before `first_ms`, and none after `last_ms`, for rules that begin and end."""
        self._every, self._anchor, self._first = every_ms, anchor_ms, first_ms
        self._last = _LAST_MS if last_ms is None else min(last_ms, _LAST_MS)

    def after_ms(self, instant_ms: int) -> int | None:
        """The next tick strictly after `instant_ms`; None past the last."""
        if self._first is not None:
            instant_ms = max(instant_ms, self._first - 1)
        tick = instant_ms + self._every - (instant_ms - self._anchor) % self._every
        return tick if tick <= self._last else None


class Every:
    """A schedule that runs every so often in elapsed time, whatever the wall clock does: `Every("90m")`."""

    __slots__ = ("_interval", "anchor", "every")

    def __init__(self, every: str, *, anchor: datetime | None = None) -> None:
        """`every` is a duration such as `90m` or `1h30m`; ticks are aligned to `anchor`, or to 1970-01-01T00:00:00Z.

        Raises CronError (field "every" or "anchor") for anything else.
        """
        if not isinstance(every, str):
            raise CronError(
                f"every: found {every!r:.60}; write a text such as '90m'", field="every", code="type"
            )
        try:
            seconds = read_duration(every)
        except BadInput as error:
            raise CronError(f"every: {error}", field="every") from None
        self._interval = Interval(round(seconds * 1000), _anchor_ms(anchor))
        self.every, self.anchor = every, anchor

    def __repr__(self) -> str:
        return f"Every({self.every!r})"

    @property
    def warnings(self) -> list[str]:
        """Always empty: an interval has no surprises."""
        return []

    def explain(self) -> str:
        """The meaning in words, on one line."""
        anchor = None if self.anchor is None else _anchor_ms(self.anchor)
        return explain_interval(read_duration(self.every), anchor)

    def after(self, instant: datetime, n: int = 1) -> list[datetime]:
        """The next `n` ticks strictly after `instant`, rising, in UTC. Raises BadInput for a naive datetime."""
        return after(self._interval.after_ms, instant, n)

    def after_ms(self, instant_ms: int) -> int | None:
        """The next tick strictly after `instant_ms`, both in milliseconds since 1970."""
        return self._interval.after_ms(instant_ms)


def every_ms(seconds: float) -> int:
    """A length in whole milliseconds. Raises CronError where it is none of one second to a century."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= LONGEST_S:
        raise CronError(
            f"every: found {seconds!r:.60}; allowed are 1s to a century", field="every", code="range"
        )
    return round(seconds * 1000)


def explain_interval(seconds: float, anchor_ms: int | None, *, from_end: bool = False) -> str:
    """An interval in words."""
    length = words_of(seconds)
    if from_end:
        return f"{length} after each run has finished, whatever its outcome"
    origin = "1970-01-01T00:00:00Z"
    if anchor_ms is not None:
        origin = datetime.fromtimestamp(anchor_ms / 1000, UTC).isoformat().replace("+00:00", "Z")
    return f"every {length} of elapsed time, counted from {origin}"


def _anchor_ms(anchor: datetime | None) -> int:
    if anchor is None:
        return 0
    if not isinstance(anchor, datetime) or anchor.utcoffset() is None:
        text = f"anchor: found {anchor!r:.60}; write an aware datetime, such as datetime.now(timezone.utc)"
        raise CronError(text, field="anchor", code="type")
    return round(anchor.timestamp() * 1000)
