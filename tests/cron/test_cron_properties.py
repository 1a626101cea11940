"""What holds for every expression, zone and start: strictly later, never backwards, nothing lost, nothing doubled."""

import contextlib
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oncue.common.cron import Cron
from oncue.common.errors import CronError
from tests.cron.brute_force import MINUTE, Meaning, clock_changes, walk
from tests.cron.expressions import meanings

ZONES = [
    "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Nuuk", "Africa/Casablanca",
    "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Kathmandu", "Antarctica/Troll", "Asia/Pyongyang",
]  # fmt: skip
CHANGES = [(zone, change) for zone in ZONES for change in clock_changes(zone)]
INSTANTS = st.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31)).map(
    lambda instant: instant.replace(tzinfo=UTC)
)
# One example walks thousands of minutes, so its time says nothing about a hang.
RELAXED = settings(deadline=None, max_examples=150)


def cron_of(meaning: Meaning, zone: str) -> Cron:
    with contextlib.suppress(CronError):
        return Cron(meaning.expr, zone)
    with pytest.raises(CronError, match="never comes"):
        Cron(meaning.expr, zone)
    days = [date(2001, 1, 1) + timedelta(days=ahead) for ahead in range(28 * 366)]
    assert not any(map(meaning.matches_day, days)), f"{meaning.expr} was refused, but its dates come"
    assume(False)
    raise AssertionError


@RELAXED
@given(meanings(), st.sampled_from(CHANGES), st.integers(0, 2880), st.integers(60, 2880))
def test_the_ticks_around_a_clock_change_are_those_of_a_walk_over_every_minute(
    meaning: Meaning, change: tuple[str, datetime], before: int, length: int
) -> None:
    zone, instant = change
    start = instant - MINUTE * before
    end = start + MINUTE * length
    cron = cron_of(meaning, zone)
    assert ticks_between(cron, start, end) == walk(meaning, zone, start, end)


def ticks_between(cron: Cron, start: datetime, end: datetime) -> list[datetime]:
    """All ticks in [start, end), one question at a time."""
    ticks: list[datetime] = []
    instant = start - timedelta(microseconds=1)
    while (found := cron.after(instant)) and found[0] < end:
        instant = found[0]
        ticks.append(instant)
    return ticks


@RELAXED
@given(meanings(), st.sampled_from(CHANGES), st.lists(st.integers(0, 86_400_000), min_size=5, max_size=5))
def test_no_tick_is_lost_or_doubled_by_where_one_starts(
    meaning: Meaning, change: tuple[str, datetime], starts: list[int]
) -> None:
    zone, instant = change
    cron = cron_of(meaning, zone)
    begin = instant - timedelta(hours=12)
    ticks = cron.after(begin, 200)
    assert ticks[0] > begin
    assert all(a < b for a, b in pairwise(ticks))
    for milliseconds in starts:
        start = begin + timedelta(milliseconds=milliseconds)
        later = [tick for tick in ticks if tick > start]
        assert not later or cron.after(start, len(later)) == later


@RELAXED
@given(meanings(), st.sampled_from(ZONES), INSTANTS, st.integers(1, 20), st.integers(1, 20))
def test_asking_twice_is_asking_once_for_more(
    meaning: Meaning, zone: str, instant: datetime, first: int, second: int
) -> None:
    cron = cron_of(meaning, zone)
    ticks = cron.after(instant, first)
    assert ticks + cron.after(ticks[-1], second) == cron.after(instant, first + second)
    assert all(tick.tzinfo is UTC for tick in ticks)


@RELAXED
@given(meanings(), st.sampled_from(ZONES), INSTANTS, INSTANTS)
def test_a_later_start_never_gives_an_earlier_tick(
    meaning: Meaning, zone: str, a: datetime, b: datetime
) -> None:
    cron = cron_of(meaning, zone)
    assert cron.after(min(a, b)) <= cron.after(max(a, b))


@RELAXED
@given(meanings(), st.sampled_from(ZONES), INSTANTS)
def test_milliseconds_give_the_same_tick_as_datetimes(meaning: Meaning, zone: str, instant: datetime) -> None:
    cron = cron_of(meaning, zone)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    found = cron.after_ms((instant - epoch) // timedelta(milliseconds=1))
    assert found is not None
    assert [epoch + timedelta(milliseconds=found)] == cron.after(instant)


@settings(deadline=None, max_examples=60)
@given(meanings(), st.sampled_from(ZONES), st.integers(1990, 2030), st.integers(0, 525_000))
def test_rare_dates_years_ahead_are_not_passed_over(
    meaning: Meaning, zone: str, year: int, minutes: int
) -> None:
    start = datetime(year, 1, 1, tzinfo=UTC) + MINUTE * minutes
    tick = cron_of(meaning, zone).after(start)[0]
    # A day's reading lies within a day of its instant, so only the ends need the slow walk. A schedule that follows
    # elapsed time may lose a date to a gap; a fixed one never does.
    day = start.date() + timedelta(days=2)
    while day < tick.date() - timedelta(days=1):
        assert meaning.elapsed or not meaning.matches_day(day)
        day += timedelta(days=1)
    assert walk(meaning, zone, max(start + MINUTE, tick - timedelta(days=1)), tick + MINUTE) == [tick]


@RELAXED
@given(st.text(max_size=40) | st.from_regex(r"[-0-9*/,LWH#?() a-z@]{1,30}", fullmatch=True))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    with contextlib.suppress(CronError):
        ticks = Cron(text, "Europe/Berlin").after(datetime(2024, 1, 1, tzinfo=UTC), 2)
        assert ticks == sorted(set(ticks))


@pytest.mark.parametrize("value", [5, 5.0, True, None, b"* * * * *", ["* * * * *"], date(2024, 1, 1), {}])
def test_what_is_no_text_is_refused_by_its_type(value: object) -> None:
    with pytest.raises(CronError, match="quote it") as refused:
        Cron(value)  # type: ignore[arg-type]
    assert refused.value.code == "type"
