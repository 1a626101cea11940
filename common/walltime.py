"""Wall time of an IANA zone and the one real time behind it, through `zoneinfo` alone.

All arithmetic is on whole seconds since 1970-01-01. A *reading* is what a wall clock shows, counted as if its zone
were UTC. Python's own arithmetic on aware datetimes is not used: it compares two folds of one zone as equal and
walks into hours that do not exist.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from oncue.common.errors import CronError
from oncue.common.zonenames import advice
from oncue.common.zonerules import ZoneRules, own_rules

DAY = 86_400
# Offsets of one zone never differ by more than the 24 hours of a moved date line, and some.
MARGIN = 2 * DAY
FIRST_SECOND = -62_100_000_000  # in the year 2, so that no look back leaves the range of datetime
LAST_SECOND = 253_400_000_000  # late in the year 9999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Changes of offset in the tz data lie at least 95 hours apart, so one look a day sees every one of them alone.
_LOOK = DAY
_WINDOW = 32 * DAY
_WINDOWS_KEPT = 1024
# Names that zoneinfo opens but that mean the host's zone, no zone, or clocks that count leap seconds.
_NOT_ZONES = frozenset({"localtime", "posixrules", "Factory", "leapseconds"})


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of real time with one UTC offset, all in seconds: [start, end) is real, `high` is a reading.

    Every reading below `high` was shown before `start`. So readings in [high, start + offset) do not exist (a gap),
    and readings in [start + offset, high) are shown here for the second time (an overlap).
    """

    start: int
    end: int
    offset: int
    high: int


class WallClock:
    """The wall clock of one zone. `key` is its IANA name; make one through `wall_clock`, which shares them."""

    def __init__(self, key: str, rules: ZoneRules | None = None) -> None:
        """`rules` are this host's unless others are given. Raises CronError (code "zone") where there are none."""
        self.key = key
        self.rules = _load(key) if rules is None else rules
        self.zone = self.rules.zone(key)
        self._windows: dict[int, tuple[Span, ...]] = {}

    def span(self, instant: int) -> Span:
        """The span that holds `instant`; long spans are cut into pieces that join without gap or overlap."""
        number = instant // _WINDOW
        spans = self._windows.get(number)
        if spans is None:
            spans = self._remember(number)
        for span in spans:
            if instant < span.end:
                return span
        raise AssertionError("the spans of a window cover it")

    def reading(self, instant: int) -> int:
        """What the clock shows at `instant`."""
        return instant + self._offset(instant)

    def resolve(self, reading: int) -> int:
        """The instant at which the clock first shows `reading`, or the end of the gap that swallowed it.

        It never falls when `reading` rises, which is what makes fixed times strictly ordered.
        """
        span = self.span(reading - MARGIN)
        while reading >= span.end + span.offset:
            span = self.span(span.end)
        return max(reading - span.offset, span.start)

    def _remember(self, number: int) -> tuple[Span, ...]:
        if len(self._windows) >= _WINDOWS_KEPT:
            self._windows.clear()
        spans = self._windows[number] = tuple(self._build(number * _WINDOW))
        return spans

    def _build(self, begin: int) -> list[Span]:
        """The spans of the window at `begin`, walked from before it to know which readings were shown already."""
        spans: list[Span] = []
        start, finish = begin - MARGIN, begin + _WINDOW
        high = self.reading(start)
        while start < finish:
            offset = self._offset(start)
            end = self._end_of_offset(start, offset, begin if start < begin else finish)
            if start >= begin:
                spans.append(Span(start, end, offset, high))
            high = max(high, end + offset)
            start = end
        return spans

    def _end_of_offset(self, start: int, offset: int, limit: int) -> int:
        """The first second after `start` with another offset, or `limit`."""
        same = start
        while same < limit:
            other = min(same + _LOOK, limit)
            if self._offset(other) != offset:
                return self._bisect(same, other, offset)
            same = other
        return limit

    def _bisect(self, same: int, other: int, offset: int) -> int:
        while other - same > 1:
            middle = (same + other) // 2
            if self._offset(middle) == offset:
                same = middle
            else:
                other = middle
        return other

    def _offset(self, instant: int) -> int:
        shift = (_EPOCH + timedelta(seconds=instant)).astimezone(self.zone).utcoffset()
        if shift is None:
            raise AssertionError("a zone of zoneinfo knows its offset at every instant")
        return shift.days * DAY + shift.seconds


def wall_clock(key: str) -> WallClock:
    """The shared wall clock of the IANA zone `key`. Raises CronError (code "zone") for anything else."""
    if not isinstance(key, str):
        raise _unknown(key, "write the name as a text")
    return _adopted.get(key) or _shared(key)


def adopt(key: str, rules: ZoneRules) -> None:
    """From now on `wall_clock(key)` follows `rules`. Raises ValueError or OSError for data that is no zone's.

    What was made before keeps the rules that it was made with.
    """
    _adopted[key] = WallClock(key, rules)


def look_again() -> None:
    """Forgets what this host knew: its tz data may have been updated. Rules from elsewhere stay, unless it has newer ones."""
    _shared.cache_clear()
    for key, clock in list(_adopted.items()):
        with suppress(CronError):
            if _shared(key).rules.version > clock.rules.version:
                del _adopted[key]


# Rules that came from elsewhere. One set for the whole process: what a zone's clocks show is a fact about the world.
_adopted: dict[str, WallClock] = {}


@lru_cache(maxsize=1024)
def _shared(key: str) -> WallClock:
    return WallClock(key)


def _load(key: str) -> ZoneRules:
    """`zoneinfo` raises a different error for each way in which a name can be wrong; here it is one."""
    if key in _NOT_ZONES or key.startswith(("posix/", "right/")):
        raise _unknown(key, "zones are the schedule's own, never the host's")
    try:
        return own_rules(key)
    except (KeyError, ValueError, OSError, TypeError):
        raise _unknown(key, advice(key)) from None


def _unknown(key: object, instead: str) -> CronError:
    text = f"time zone: found {key!r:.80}; allowed are IANA names such as UTC or Europe/Berlin; {instead}"
    return CronError(text, field="time zone", code="zone")
