"""The slow and obvious way to find ticks: look at the wall clock of every single minute.

It shares no code with what it checks: an expression comes with its meaning as sets and predicates, and wall times are
those that `datetime.astimezone` shows.
"""

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
TWO_DAYS = timedelta(days=2)


@dataclass(frozen=True)
class Part:
    """One field: its text and the values it means; for day fields also a predicate on dates."""

    text: str
    values: frozenset[int]
    marked: Callable[[date], bool] = lambda day: False

    @property
    def star(self) -> bool:
        return self.text.startswith(("*", "?"))


@dataclass(frozen=True)
class Meaning:
    """An expression of five fields, with its meaning."""

    minute: Part
    hour: Part
    day: Part
    month: Part
    weekday: Part

    @property
    def expr(self) -> str:
        return " ".join(part.text for part in (self.minute, self.hour, self.day, self.month, self.weekday))

    @property
    def elapsed(self) -> bool:
        return self.minute.star or self.hour.star

    def matches_day(self, day: date) -> bool:
        by_date = day.day in self.day.values or self.day.marked(day)
        by_weekday = day.isoweekday() % 7 in self.weekday.values or self.weekday.marked(day)
        both = self.day.star or self.weekday.star
        matches = (by_date and by_weekday) if both else (by_date or by_weekday)
        return matches and day.month in self.month.values

    def matches(self, wall: datetime) -> bool:
        in_day = wall.minute in self.minute.values and wall.hour in self.hour.values
        return in_day and self.matches_day(wall.date())


def walk(meaning: Meaning, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """All ticks in [start, end), both whole minutes in UTC. Zones must have offsets of whole minutes."""
    ticks: list[datetime] = []
    first = start - TWO_DAYS
    highest = first.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    for instant, wall in _walls(zone, first, end):
        swallowed = _between(highest, wall) if wall - highest > MINUTE else []
        shown_before = wall <= highest
        highest = max(highest, wall)
        if meaning.elapsed:
            ticked = meaning.matches(wall)
        else:
            ticked = any(map(meaning.matches, swallowed)) or (not shown_before and meaning.matches(wall))
        if ticked and instant >= start:
            ticks.append(instant)
    return ticks


@lru_cache(maxsize=8)
def _walls(zone: str, first: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Each minute after `first` with the wall time that the zone shows."""
    clock = ZoneInfo(zone)
    count = (end - first) // MINUTE
    instants = [first + MINUTE * number for number in range(1, count)]
    return [(instant, instant.astimezone(clock).replace(tzinfo=None)) for instant in instants]


def _between(highest: datetime, wall: datetime) -> Iterator[datetime]:
    skipped = highest + MINUTE
    while skipped < wall:
        yield skipped
        skipped += MINUTE


def is_last_day(day: date) -> bool:
    return (day + timedelta(days=1)).month != day.month


def is_last_workday(day: date) -> bool:
    rest = [day + timedelta(days=ahead) for ahead in range(1, 4)]
    return day.weekday() < 5 and not any(later.month == day.month and later.weekday() < 5 for later in rest)


def is_nearest_workday(wanted: int) -> Callable[[date], bool]:
    def matches(day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        target = date(day.year, day.month, min(wanted, length))
        month = [date(day.year, day.month, number) for number in range(1, length + 1)]
        return day == min((d for d in month if d.weekday() < 5), key=lambda d: abs(d - target))

    return matches


def is_last_weekday(weekday: int) -> Callable[[date], bool]:
    return lambda day: day.isoweekday() % 7 == weekday and (day + timedelta(days=7)).month != day.month


def is_nth_weekday(weekday: int, nth: int) -> Callable[[date], bool]:
    return lambda day: day.isoweekday() % 7 == weekday and (day.day - 1) // 7 + 1 == nth


@lru_cache(maxsize=1024)
def clock_changes(zone: str, first_year: int = 1990, last_year: int = 2037) -> list[datetime]:
    """The minutes in UTC at which the zone's offset changes, found by looking at every day and then every minute."""
    clock = ZoneInfo(zone)
    changes: list[datetime] = []
    day = datetime(first_year, 1, 1, tzinfo=UTC)
    while day.year <= last_year:
        following = day + timedelta(days=1)
        if day.astimezone(clock).utcoffset() != following.astimezone(clock).utcoffset():
            minute = day
            while minute.astimezone(clock).utcoffset() == day.astimezone(clock).utcoffset():
                minute += MINUTE
            changes.append(minute)
        day = following
    return changes
