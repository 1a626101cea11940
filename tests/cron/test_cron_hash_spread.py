"""`H` spreads schedules by their names: evenly, independently per field, the same everywhere."""

from datetime import UTC, datetime, timedelta

import pytest

from oncue.common.cron import Cron

START = datetime(2024, 1, 1, tzinfo=UTC)
NAMES = [f"schedule-{number}" for number in range(6000)]


def test_minute_and_hour_are_independent() -> None:
    """Where they move together, only 240 of the 1,440 times of a day are ever used."""
    firsts = [Cron("H H * * *", seed=name).after(START - timedelta(seconds=1))[0] for name in NAMES]
    assert len({(tick.hour, tick.minute) for tick in firsts}) > 1380


def test_the_same_name_gives_the_same_place_on_every_host_and_in_every_release() -> None:
    tick = Cron("H H H H H", seed="nightly-report").after(START)[0]
    assert tick == datetime(2024, 12, 1, 23, 4, tzinfo=UTC)


def test_every_place_of_a_field_is_used() -> None:
    assert {Cron("H * * * *", seed=name).after(START)[0].minute for name in NAMES} == set(range(60))


def test_a_day_of_the_month_is_one_that_every_month_has() -> None:
    days = {Cron("0 0 H * *", seed=name).after(START)[0].day for name in NAMES[:1000]}
    assert days == set(range(1, 29))


@pytest.mark.parametrize("name", NAMES[:20])
def test_a_step_keeps_its_pace_and_shifts_its_start(name: str) -> None:
    minutes = [tick.minute for tick in Cron("H/15 * * * *", seed=name).after(START, 8)]
    assert len(set(minutes)) == 4
    assert {minute % 15 for minute in minutes} == {minutes[0] % 15}


@pytest.mark.parametrize("name", NAMES[:20])
def test_a_range_bounds_the_place(name: str) -> None:
    assert 2 <= Cron("H H(2-5) * * *", seed=name).after(START)[0].hour <= 5
    minutes = {tick.minute for tick in Cron("H(10-39)/10 * * * *", seed=name).after(START, 9)}
    assert len(minutes) == 3
    assert minutes <= set(range(10, 40))


def test_only_a_stepped_spread_follows_elapsed_time() -> None:
    assert Cron("H/15 2 * * *", seed="a").elapsed
    assert not Cron("H 2 * * *", seed="a").elapsed
    assert not Cron("H(0-29)/10 2 * * *", seed="a").elapsed


def test_names_of_days_and_months_with_an_h_are_no_spread() -> None:
    assert Cron("0 0 * mar thu", seed="a").after(START, 5) == Cron("0 0 * 3 4", seed="b").after(START, 5)
