"""Real clock changes from 1990 to 2037 against the walk over every minute.

A sample by default; `make test-sweep` (ONCUE_CRON_SWEEP=all) takes every change of every zone, names for the same rules
once: 24 minutes on one core.
"""

import os
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

import pytest

from oncue.common import walltime
from oncue.common.cron import Cron
from oncue.common.cron_calendar import Calendar
from oncue.common.cron_expression import read_expression
from oncue.common.ticks import WallTicks
from oncue.common.walltime import WallClock, wall_clock
from tests.cron.brute_force import (
    MINUTE,
    Meaning,
    Part,
    clock_changes,
    is_last_day,
    is_last_weekday,
    is_nearest_workday,
    is_nth_weekday,
    walk,
)

ALL = os.environ.get("ONCUE_CRON_SWEEP") == "all"
# Half hours, two hours, whole days, midnight, Ramadan, a negative summer time, both hemispheres, years of whims.
SAMPLE = [
    "Africa/Cairo", "Africa/Casablanca", "America/Asuncion", "America/Caracas", "America/Havana", "America/New_York",
    "America/Nuuk", "America/Sao_Paulo", "America/Scoresbysund", "Antarctica/Casey", "Antarctica/Troll", "Asia/Amman",
    "Asia/Gaza", "Asia/Kathmandu", "Asia/Pyongyang", "Asia/Sakhalin", "Asia/Tehran", "Atlantic/Azores",
    "Australia/Lord_Howe", "Europe/Berlin", "Europe/Dublin", "Europe/Istanbul", "Europe/Volgograd", "Pacific/Apia",
    "Pacific/Chatham", "Pacific/Fiji", "Pacific/Kiritimati", "Pacific/Kwajalein", "Pacific/Tongatapu",
]  # fmt: skip


def distinct_zones() -> list[str]:
    """One name for each set of rules: nearly half of all names are links."""
    names: dict[bytes, str] = {}
    for name in sorted(available_timezones() - {"localtime", "Factory"}):
        places = [file for root in TZPATH if (file := Path(root) / name).is_file()]
        packaged = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
        names.setdefault((places[0] if places else packaged).read_bytes(), name)
    return list(names.values())


# One zone of many changes takes a while where the machine has other things to do.
pytestmark: list[pytest.MarkDecorator] = [pytest.mark.timeout(3600)] if ALL else []
ZONES = distinct_zones() if ALL else SAMPLE
CHANGES_PER_ZONE = None if ALL else 5

STAR = Part("*", frozenset(range(60)))
EVERY_DAY = (
    Part("*", frozenset(range(1, 32))),
    Part("*", frozenset(range(1, 13))),
    Part("*", frozenset(range(7))),
)


def daily(minute: Part, hour: Part) -> Meaning:
    return Meaning(minute, hour, *EVERY_DAY)


def part(text: str, *values: int) -> Part:
    return Part(text, frozenset(values))


EXPRESSIONS = [
    daily(part("*/10", *range(0, 60, 10)), STAR),
    daily(part("30", 30), STAR),
    daily(part("0", 0), part("*/2", *range(0, 24, 2))),
    daily(part("*/20", 0, 20, 40), part("0-3", 0, 1, 2, 3)),
    daily(part("0", 0), part("0-23", *range(24))),
    daily(part("15,45", 15, 45), part("0,1,2,3,9,23", 0, 1, 2, 3, 9, 23)),
    daily(part("30", 30), part("2", 2)),
    daily(part("0", 0), part("0", 0)),
]


def changes_of(zone: str) -> list[datetime]:
    changes = clock_changes(zone)
    if CHANGES_PER_ZONE is None or len(changes) <= CHANGES_PER_ZONE:
        return changes
    # Rules differ from one decade to the next, so the sample is spread over all years.
    return [changes[number * len(changes) // CHANGES_PER_ZONE] for number in range(CHANGES_PER_ZONE)]


def dated(zone: str, change: datetime) -> list[Meaning]:
    """Expressions whose day and month fields mean the very days of a change."""
    before, after = ((change + ahead).astimezone(ZoneInfo(zone)).date() for ahead in (-MINUTE, MINUTE))
    # Those between are the days that a zone leaves out when it moves to the other side of the date line.
    days = [before + timedelta(days=ahead) for ahead in range((after - before).days + 2)]
    listed = part(",".join(str(day.day) for day in days), *(day.day for day in days))
    months = part(",".join(str(day.month) for day in days), *(day.month for day in days))
    weekday = before.isoweekday() % 7
    last = Part(f"{weekday}L", frozenset(), is_last_weekday(weekday))
    nth = Part(
        f"{weekday}#{(before.day - 1) // 7 + 1}",
        frozenset(),
        is_nth_weekday(weekday, (before.day - 1) // 7 + 1),
    )
    workday = Part(f"{after.day}W", frozenset(), is_nearest_workday(after.day))
    small_hours = part("0-3", 0, 1, 2, 3)
    every_day, every_month, every_weekday = EVERY_DAY
    return [
        Meaning(part("30", 30), part("2", 2), listed, months, every_weekday),
        Meaning(part("*/20", 0, 20, 40), STAR, every_day, every_month, last),
        Meaning(part("0", 0), small_hours, every_day, months, nth),
        Meaning(part("15", 15), small_hours, Part("L", frozenset(), is_last_day), every_month, part(str(weekday), weekday)),
        Meaning(part("0", 0), part("0", 0), workday, every_month, every_weekday),
    ]  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_every_tick_around_a_clock_change_is_found(zone: str) -> None:
    crons = [Cron(meaning.expr, zone) for meaning in EXPRESSIONS]
    for change in changes_of(zone):
        start, end = change - timedelta(hours=27), change + timedelta(hours=27)
        on_its_days = dated(zone, change)
        meanings = [*EXPRESSIONS, *on_its_days]
        for meaning, cron in zip(
            meanings, [*crons, *(Cron(meaning.expr, zone) for meaning in on_its_days)], strict=True
        ):
            expected = walk(meaning, zone, start, end)
            found = cron.after(start - MINUTE, len(expected) + 1)
            assert found[:-1] == expected, (meaning.expr, change)
            assert found[-1] >= end
            for begun in starts(change):
                following = next(tick for tick in found if tick > begun)
                assert cron.after(begun) == [following], (meaning.expr, change, begun)


def starts(change: datetime) -> list[datetime]:
    """Where one may begin to ask: around a change, at it, and between the minutes; each answer is a tick of the one walk."""
    around = [change + timedelta(minutes=ahead, seconds=ahead % 60) for ahead in range(-240, 241, 37)]
    return [*around, change - timedelta(milliseconds=1), change, change + MINUTE - timedelta(milliseconds=1)]


@pytest.mark.parametrize("zone", ZONES)
def test_the_clock_shows_what_python_shows_and_resolves_it_back(zone: str) -> None:
    clock = wall_clock(zone)
    for change in changes_of(zone):
        resolved = []
        for minute in range(-1500, 1500, 7):
            instant = int(change.timestamp()) + minute * 60
            reading = clock.reading(instant)
            # Fixed times take the first of two, so a reading resolves to its instant or to an earlier one.
            assert clock.resolve(reading) <= instant
            assert clock.reading(clock.resolve(reading)) == reading
            resolved.append(clock.resolve(int(change.timestamp()) + minute * 60))
        assert resolved == sorted(resolved)


@pytest.mark.parametrize("expr", ["30 2 * * *", "0-59 1-3 * * *", "*/10 * * * *", "0 */2 * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll"])
def test_where_the_cache_cuts_real_time_changes_nothing(
    zone: str, expr: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cut may fall into the very hour that is shown twice."""
    cron, expression = Cron(expr, zone), read_expression(expr)
    changes = [int(change.timestamp()) for change in clock_changes(zone)[-4:]]
    starts = [change + ahead for change in changes for ahead in range(-14_400, 14_400, 600)]
    expected = [cron.after_ms(start * 1000) for start in starts]
    monkeypatch.setattr(walltime, "_WINDOW", 1000)
    calendar = Calendar(expression.fields, both_days=False)
    ticks = WallTicks(calendar, WallClock(zone), elapsed=expression.elapsed, skip_gaps=False)
    assert [(ticks.at_or_after(start + 1) or 0) * 1000 for start in starts] == expected
