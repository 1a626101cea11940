"""What a schedule promises beyond its expression: limits, exclusions, missed ticks, jitter; each kind by example."""

import time
from itertools import pairwise
from typing import Any

import pytest

from oncue.common.errors import CronError
from tests.cron.timings import DAY_MS, at, next_ticks, rule, ticks_after, utc

NOW = at("2026-11-30T08:00+00:00")


def test_an_interval_is_aligned_to_the_epoch_so_a_restart_shifts_nothing() -> None:
    made = rule(every_s=5400.0)
    assert next_ticks(made, "2026-11-30T08:00", 2) == ["2026-11-30T09:00:00", "2026-11-30T10:30:00"]
    assert next_ticks(made, "2026-11-30T08:59:59") == next_ticks(rule(every_s=5400.0), "2026-11-30T08:00")


def test_an_interval_counts_elapsed_time_through_a_clock_change() -> None:
    made = rule(every_s=43_200.0, timezone="Europe/Berlin")
    ticks = ticks_after(made, at("2026-10-24T00:00+00:00"), 6)
    assert {later - tick for tick, later in pairwise(ticks)} == {43_200_000}


def test_an_interval_is_aligned_to_its_anchor_before_and_after_it() -> None:
    made = rule(every_s=3600.0, anchor="2026-12-01T00:17+00:00")
    assert next_ticks(made, "2026-11-30T08:00", 2) == ["2026-11-30T08:17:00", "2026-11-30T09:17:00"]


def test_from_end_counts_from_the_finish_and_has_one_tick_in_waiting() -> None:
    made = rule(every_s=600.0, from_end=True)
    assert made.from_end
    assert made.after_finish(NOW + 1, NOW + 1) == NOW + 600_001
    # Whatever the standstill, one run was waiting.
    assert made.all_up_to(NOW, NOW - 10 * DAY_MS, 100) == [NOW - 10 * DAY_MS + 600_000]
    assert made.latest_up_to(NOW, NOW - 10 * DAY_MS) == NOW - 10 * DAY_MS + 600_000
    assert made.missed(NOW - 10 * DAY_MS, NOW, 100) == 1
    assert made.latest_up_to(NOW, NOW - 1) is None
    assert "after each run has finished" in made.explain()


def test_from_end_begins_at_its_start_and_ends_at_its_end() -> None:
    made = rule(every_s=600.0, from_end=True, start="2026-12-01T09:00", end="2026-12-01T10:00")
    assert utc(made.next_after(NOW)) == ["2026-12-01T09:00:00"]
    ended = at("2026-12-01T09:50+00:00")
    assert utc(made.after_finish(ended, ended)) == ["2026-12-01T10:00:00"]
    assert made.after_finish(ended + 60_000, ended + 60_000) is None


@pytest.mark.parametrize(
    ("ended", "now", "tick"),
    [("08:30", "08:30", "09:00"), ("08:30", "08:59", "09:00"), ("08:55", "09:00", "09:05")],
)
def test_from_end_a_run_that_ended_before_the_start_puts_the_next_one_off_to_it_until_it_has_passed(
    ended: str, now: str, tick: str
) -> None:
    made = rule(every_s=600.0, from_end=True, start="2026-12-01T09:00")
    found = made.after_finish(at(f"2026-12-01T{ended}+00:00"), at(f"2026-12-01T{now}+00:00"))
    assert utc(found) == [f"2026-12-01T{tick}:00"]


def test_start_and_end_are_inclusive() -> None:
    made = rule(cron="0 * * * *", start="2026-12-01T09:00", end="2026-12-01T11:00")
    expected = ["2026-12-01T09:00:00", "2026-12-01T10:00:00", "2026-12-01T11:00:00"]
    assert next_ticks(made, "2026-11-01T00:00", 9) == expected


def test_an_end_without_a_time_is_the_end_of_that_day_in_the_zone() -> None:
    made = rule(cron="0 23 * * *", timezone="America/New_York", start="2026-12-01", end="2026-12-02")
    assert next_ticks(made, "2026-11-01T00:00", 9) == ["2026-12-02T04:00:00", "2026-12-03T04:00:00"]


def test_an_interval_whose_start_is_no_tick_is_warned_of() -> None:
    (warning,) = rule(every_s=86_400.0, start="2026-12-01T09:00").warnings
    assert "counted from 1970" in warning
    assert rule(every_s=86_400.0, start="2026-12-01").warnings == []
    assert rule(every_s=86_400.0, start="2026-12-01T09:00", anchor="2026-12-01T09:00+00:00").warnings == []
    assert rule(every_s=600.0, start="2026-12-01T09:01", from_end=True).warnings == []


@pytest.mark.parametrize(
    "timing", [{"every_s": 300.0}, {"every_s": 300.0, "from_end": True}, {"cron": "*/5 * * * *"}]
)
def test_jitter_that_is_longer_than_the_interval_is_warned_of(timing: dict[str, Any]) -> None:
    (warning,) = rule(**timing, jitter_s=36_000.0).warnings
    assert "jitter: 10 hours are longer than the 5 minutes to the next tick" in warning
    assert rule(**timing, jitter_s=300.0).warnings == []


def test_a_time_of_a_day_that_never_came_is_excluded_with_the_date_on_which_it_runs() -> None:
    apia: dict[str, Any] = {"cron": "30 2 * * *", "timezone": "Pacific/Apia"}
    moved, own = "2011-12-30T10:00:00", "2011-12-30T12:30:00"  # both on the 31st in Apia
    assert next_ticks(rule(**apia, exclude=("2011-12-30",)), "2011-12-30T00:00", 2) == [moved, own]
    assert next_ticks(rule(**apia, exclude=("2011-12-31",)), "2011-12-30T00:00", 1) == ["2011-12-31T12:30:00"]


def test_excluded_dates_that_either_day_field_matches_are_warned_of() -> None:
    timing: dict[str, Any] = {"cron": "0 9 * * *", "calendars": {"firstmon": ("2026-12-25", "* * 1-7 * mon")}}
    own, named = rule(**timing, exclude=("* * 13 * fri", "firstmon", "* * 13 * *")).warnings
    assert own.startswith(
        "exclude: '* * 13 * fri': day-of-month '13' and day-of-week 'fri' are both restricted"
    )
    assert named.startswith(
        "exclude: calendar firstmon, '* * 1-7 * mon': day-of-month '1-7' and day-of-week 'mon'"
    )
    assert "a day that matches either is excluded (OR); for AND write one field" in named
    assert "days: both" not in named
    assert rule(**timing, exclude=("* * * * mon#1",)).warnings == []


def test_a_start_with_an_offset_is_that_instant_in_any_zone() -> None:
    made = rule(cron="0 * * * *", timezone="Asia/Tokyo", start="2026-12-01T09:30-05:00")
    assert next_ticks(made, "2026-11-01T00:00", 1) == ["2026-12-01T15:00:00"]


def test_a_start_in_a_gap_is_its_end_and_one_in_an_overlap_its_first_pass() -> None:
    made = rule(cron="* * * * *", timezone="Europe/Berlin", start="2026-03-29T02:30")
    assert next_ticks(made, "2026-03-01T00:00", 1) == ["2026-03-29T01:00:00"]
    made = rule(cron="* * * * *", timezone="Europe/Berlin", start="2026-10-25T02:30")
    assert next_ticks(made, "2026-10-01T00:00", 1) == ["2026-10-25T00:30:00"]


@pytest.mark.parametrize(
    "kind",
    [
        {"cron": "0 9 * * *", "start": "2026-12-01"},
        {"every_s": 86_400.0, "anchor": "2026-12-01T09:00+00:00", "start": "2026-12-01"},
        {"rrule": "FREQ=DAILY", "dtstart": "2026-12-01T09:00"},
    ],
)
def test_count_ends_every_kind_and_excluded_ticks_do_not_count(kind: dict[str, Any]) -> None:
    made = rule(**kind, count=3, exclude=("2026-12-02",))
    expected = ["2026-12-01T09:00:00", "2026-12-03T09:00:00", "2026-12-04T09:00:00"]
    assert next_ticks(made, "2026-11-01T00:00", 9) == expected
    assert next_ticks(made, "2026-12-03T09:00", 9) == expected[2:]


def test_a_switched_off_schedule_has_no_tick() -> None:
    made = rule(cron="* * * * *", enabled=False)
    assert made.next_after(NOW) is None
    assert made.missed(NOW - DAY_MS, NOW, 10) == 0
    assert made.explain().endswith("; switched off")


WINTER: dict[str, Any] = {"cron": "0 9 * * *", "exclude": ("2026-12-24/2026-12-27", "* * 1 1 *", "holidays"),
          "calendars": {"holidays": ("2026-12-29",)}}  # fmt: skip


def test_exclusions_leave_out_dates_ranges_cron_dates_and_calendars() -> None:
    ticks = next_ticks(rule(**WINTER), "2026-12-23T10:00", 6)
    days = ["2026-12-28", "2026-12-30", "2026-12-31", "2027-01-02", "2027-01-03", "2027-01-04"]
    assert ticks == [f"{day}T09:00:00" for day in days]
    assert (
        "not on 2026-12-24 to 2026-12-27, the dates of '* * 1 1 *', the dates of calendar holidays"
        in rule(**WINTER).explain()
    )


def test_the_date_that_counts_is_the_local_one() -> None:
    made = rule(cron="30 0 * * *", timezone="Asia/Tokyo", exclude=("2026-12-25",))
    assert next_ticks(made, "2026-12-23T16:00", 2) == ["2026-12-25T15:30:00", "2026-12-26T15:30:00"]


@pytest.mark.parametrize(
    ("on_excluded", "expected"),
    [("next_workday", "2026-12-28T09:00:00"), ("previous_workday", "2026-12-24T09:00:00")],
)
def test_a_tick_on_a_holiday_moves_to_a_workday(on_excluded: str, expected: str) -> None:
    # The 25th is a Friday, so the next workday is Monday.
    made = rule(cron="0 9 25 12 *", exclude=("* * 25 12 *",), on_excluded=on_excluded)
    assert next_ticks(made, "2026-12-01T00:00", 1) == [expected]


def test_ticks_that_meet_on_a_workday_are_one() -> None:
    made = rule(cron="0 9 * * *", exclude=("* * * * sat,sun",), on_excluded="next_workday")
    days = [*range(23, 26), 28, 29]
    assert next_ticks(made, "2026-12-22T12:00", 5) == [f"2026-12-{day}T09:00:00" for day in days]


def test_missed_ticks_are_the_latest_or_all_or_counted() -> None:
    made = rule(cron="0 * * * *")
    day_before = NOW - DAY_MS
    assert made.latest_up_to(NOW, day_before) == NOW
    assert made.all_up_to(NOW, day_before, 100) == [day_before + 3_600_000 * hour for hour in range(1, 25)]
    # Oldest first; of too many the latest, so that the most useful ones are kept.
    assert made.all_up_to(NOW, day_before, 2) == [NOW - 3_600_000, NOW]
    assert made.missed(day_before, NOW, 1_000) == 24
    assert made.missed(day_before, NOW, 10) == 10
    assert made.latest_up_to(NOW, NOW) is None
    assert made.all_up_to(NOW, NOW + 1, 5) == []


@pytest.mark.parametrize(
    "kind",
    [
        {"cron": "* * * * * *"},
        {"cron": "* * * * *", "exclude": ("* * * * sun",)},
        {"every_s": 1.0},
        {"rrule": "FREQ=MINUTELY;BYHOUR=9,10,11", "dtstart": "1990-01-01T00:00"},
        {"cron": "* * 1 * *", "timezone": "Europe/Berlin"},
    ],
)
def test_years_of_missed_ticks_are_not_walked(kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = rule(**kind)
    questions = 0
    following = made.next_after

    def counted(instant: int) -> int | None:
        nonlocal questions
        questions += 1
        return following(instant)

    monkeypatch.setattr(made, "next_after", counted)
    after = NOW - 5 * 366 * DAY_MS
    latest = made.latest_up_to(NOW, after)
    assert latest is not None
    assert questions <= 50
    kept = made.all_up_to(NOW, after, 100)
    assert len(kept) == 100
    assert kept[-1] == latest
    assert questions <= 100 * 60
    assert all(following(tick) == later for tick, later in pairwise(kept))


def test_jitter_spreads_schedules_within_its_bound() -> None:
    late = {rule(f"s{number}", every_s=3600.0, jitter_s=60.0).runs_at(NOW) - NOW for number in range(500)}
    assert min(late) >= 0
    assert max(late) <= 60_000
    assert len(late) > 450
    assert rule(every_s=60.0).runs_at(NOW) == NOW


def test_jitter_is_capped_below_the_next_tick() -> None:
    made = rule(cron="* * * * * *", jitter_s=3600.0)
    runs = [made.runs_at(NOW + 1000 * number) for number in range(200)]
    assert all(NOW + 1000 * number <= run < NOW + 1000 * (number + 1) for number, run in enumerate(runs))


@pytest.mark.parametrize(
    ("timing", "field", "said"),
    [
        ({}, "cron", "is missing"),
        ({"cron": "@daily", "every_s": 60.0}, "every", "cron is given too; give exactly one"),
        (
            {"cron": "@daily", "anchor": "2026-12-01"},
            "anchor",
            "goes with every alone; this schedule has cron",
        ),
        ({"every_s": 60.0, "days": "both"}, "days", "goes with cron alone"),
        ({"every_s": 60.0, "gap": "skip"}, "gap", "goes with cron and rrule alone"),
        ({"rrule": "FREQ=DAILY"}, "dtstart", "is missing; an rrule needs its first instant"),
        ({"rrule": "FREQ=DAILY", "dtstart": "2026-01-01"}, "dtstart", "a time of day is needed too"),
        ({"rrule": "FREQ=DAILY", "dtstart": "tomorrow"}, "dtstart", "write it in ISO 8601"),
        ({"cron": "@daily", "start": "1.1.2026"}, "start", "found '1.1.2026'; write it in ISO 8601"),
        ({"cron": "@daily", "start": "2026-02-30"}, "start", "found '2026-02-30'"),
        ({"cron": "@daily", "start": "2026-02-02", "end": "2026-02-01"}, "end", "which is before start"),
        ({"cron": "@daily", "count": 3}, "count", "needs an instant to count from; add start:"),
        ({"cron": "@daily", "count": 0, "start": "2026-01-01"}, "count", "allowed are 1 to 10000"),
        (
            {"every_s": 60.0, "from_end": True, "anchor": "2026-12-01"},
            "anchor",
            "has no effect with from: end",
        ),
        ({"every_s": 60.0, "from_end": True, "count": 1, "start": "2026-01-01"}, "count", "write end"),
        ({"every_s": 0.5}, "every", "allowed are 1s to a century"),
        ({"cron": "@daily", "jitter_s": -1.0}, "jitter", "allowed are 1s to 1d"),
        ({"cron": "@daily", "on_excluded": "next_workday"}, "on_excluded", "has no effect without exclude"),
        ({"cron": "@daily", "exclude": ("2026-13-01",)}, "exclude", "there is no calendar of that name"),
        ({"cron": "@daily", "exclude": ("2026-12-31/2026-12-01",)}, "exclude", "write 2026-12-01/2026-12-31"),
        (
            {"cron": "@daily", "exclude": ("* 0-6 * * *",)},
            "exclude",
            "whole dates are excluded, and this would be every date",
        ),
        ({"cron": "@daily", "exclude": ("61 * * * *",)}, "exclude", "minute field: found '61'"),
        ({"cron": "@daily", "exclude": ("@every 5m",)}, "exclude", "an interval has no dates"),
        ({"cron": "@daily", "exclude": ("@daily",)}, "exclude", "no tick is left"),
        ({"cron": "0 0 1 1 *", "start": "2026-02-01", "end": "2026-03-01"}, "end", "no tick is left"),
        (
            {"cron": "*/5 * * * *", "exclude": ("2026-12-25",), "on_excluded": "next_workday"},
            "on_excluded",
            "more often than every hour",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(timing: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(CronError) as refused:
        rule(**timing)
    assert refused.value.field == field
    assert str(refused.value).startswith(f"{field}: ")
    assert said in str(refused.value)


def test_explain_says_every_limit_in_words() -> None:
    made = rule(
        every_s=5400.0, start="2026-01-01", end="2026-12-31", count=7, jitter_s=300.0, anchor="1970-01-01"
    )
    assert made.explain() == (
        "every 1 hour 30 minutes of elapsed time, counted from 1970-01-01T00:00:00Z; from 2026-01-01 on; "
        "until 2026-12-31; 7 times; up to 5 minutes later, settled by its name and instant"
    )


def test_ten_thousand_schedules_of_all_kinds_cost_little() -> None:
    """Made, asked for the next tick, some for the latest missed one: all within seconds on a busy machine."""
    holidays = {"holidays": tuple(f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 15))}
    kinds: list[dict[str, Any]] = [
        {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "exclude": ("holidays",), "calendars": holidays},
        {"cron": "*/5 * * * *", "jitter_s": 60.0},
        {"every_s": 5400.0},
        {"rrule": "FREQ=WEEKLY;BYDAY=MO,WE", "dtstart": "2026-01-05T09:00", "timezone": "America/New_York"},
    ]
    began = time.process_time()
    rules = [rule(f"s{number}", **kinds[number % 4]) for number in range(10_000)]
    assert None not in [made.next_after(NOW) for made in rules]
    assert None not in [made.latest_up_to(NOW, NOW - 31 * DAY_MS) for made in rules[:2_000]]
    assert time.process_time() - began < 15
