"""Recurrence rules: what is read, what is refused by its name, and what clock changes do to them."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

import oncue
from oncue.common.errors import BadInput, CronError
from oncue.common.recurrence import RRule

BEGIN = "2026-01-05T02:30"  # a Monday


def ticks(
    rrule: str, count: int, dtstart: str = BEGIN, tz: str = "UTC", after: str = "2026-01-01"
) -> list[str]:
    start = datetime.fromisoformat(after).replace(tzinfo=UTC)
    return [f"{tick:%Y-%m-%dT%H:%M}" for tick in RRule(rrule, dtstart, tz).after(start, count)]


@pytest.mark.parametrize(
    ("rrule", "expected"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", ["2026-01-05T02:30", "2026-01-07T02:30", "2026-01-19T02:30"]),
        ("RRULE:FREQ=MONTHLY;BYDAY=-1FR;", ["2026-01-30T02:30", "2026-02-27T02:30", "2026-03-27T02:30"]),
        ("freq=monthly;bymonthday=31", ["2026-01-31T02:30", "2026-03-31T02:30", "2026-05-31T02:30"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["2028-02-29T02:30", "2032-02-29T02:30", "2036-02-29T02:30"]),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", ["2026-05-11T02:30", "2027-05-17T02:30", "2028-05-15T02:30"]),
        ("FREQ=DAILY;COUNT=2", ["2026-01-05T02:30", "2026-01-06T02:30"]),
        ("FREQ=DAILY;UNTIL=20260106", ["2026-01-05T02:30", "2026-01-06T02:30"]),
        ("FREQ=DAILY;UNTIL=20260106T023000Z", ["2026-01-05T02:30", "2026-01-06T02:30"]),
        ("FREQ=DAILY;UNTIL=20260106T022959", ["2026-01-05T02:30"]),
        ("FREQ=HOURLY;INTERVAL=6;COUNT=2", ["2026-01-05T02:30", "2026-01-05T08:30"]),
        ("FREQ=MINUTELY;UNTIL=20260105T023100", ["2026-01-05T02:30", "2026-01-05T02:31"]),
        ("FREQ=HOURLY;BYHOUR=9,17", ["2026-01-05T09:30", "2026-01-05T17:30", "2026-01-06T09:30"]),
        ("FREQ=MINUTELY;INTERVAL=45;BYHOUR=9", ["2026-01-05T09:15", "2026-01-06T09:15", "2026-01-07T09:15"]),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ["2026-01-30T02:30", "2026-02-27T02:30", "2026-03-31T02:30"]),
        ("FREQ=DAILY;BYHOUR=8,20;BYMINUTE=15", ["2026-01-05T08:15", "2026-01-05T20:15", "2026-01-06T08:15"]),
    ],
)  # fmt: skip
def test_a_rule_has_the_ticks_of_the_standard(rrule: str, expected: list[str]) -> None:
    assert ticks(rrule, 3) == expected


def test_a_rule_keeps_its_wall_time_and_runs_a_skipped_one_after_the_gap() -> None:
    found = ticks("FREQ=DAILY", 3, "2026-03-28T02:30", "Europe/Berlin", "2026-03-27")
    assert found == ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]
    skipping = RRule("FREQ=DAILY", "2026-03-28T02:30", "Europe/Berlin", gap="skip")
    assert skipping.after(datetime(2026, 3, 28, 12, tzinfo=UTC))[0].day == 30


def test_a_repeated_time_runs_once_at_the_first_pass() -> None:
    found = ticks("FREQ=DAILY", 2, "2026-10-25T02:30", "Europe/Berlin", "2026-10-24")
    assert found == ["2026-10-25T00:30", "2026-10-26T01:30"]


@pytest.mark.parametrize("rrule", ["FREQ=HOURLY", "FREQ=MINUTELY;INTERVAL=20"])
@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_pace_of_hours_or_minutes_follows_elapsed_time(rrule: str, day: str) -> None:
    rule = RRule(rrule, "2026-01-01T00:00", "Europe/Berlin")
    found = rule.after(datetime.fromisoformat(day + "T00:00+00:00"), 9)
    assert len({later - tick for tick, later in pairwise(found)}) == 1
    assert rule.elapsed


def test_hours_with_by_parts_are_strictly_later_over_both_clock_changes() -> None:
    rule = RRule("FREQ=HOURLY;BYMINUTE=0,30", "2026-01-01T00:00", "Europe/Berlin")
    for day in ("2026-03-28T22:00", "2026-10-24T22:00"):
        found = rule.after(datetime.fromisoformat(day + "+00:00"), 12)
        assert found == sorted(set(found))


def test_dtstart_with_an_offset_is_read_on_the_clock_of_the_zone() -> None:
    assert ticks("FREQ=DAILY", 1, "2026-07-01T00:00+00:00", "Europe/Berlin", "2026-12-01") == [
        "2026-12-01T01:00"
    ]


def test_a_dtstart_that_the_rule_does_not_have_is_warned_of() -> None:
    assert RRule("FREQ=WEEKLY;BYDAY=TU", BEGIN).warnings == [
        "dtstart: the rule does not have this instant, so it is no tick; the first one is later"
    ]
    assert RRule("FREQ=WEEKLY;BYDAY=MO", BEGIN).warnings == []


@pytest.mark.parametrize(
    ("rrule", "said"),
    [
        ("", "found ''; allowed are NAME=VALUE pairs"),
        ("INTERVAL=2", "FREQ is missing"),
        ("FREQ=SECONDLY", "FREQ: found SECONDLY; write every: 1s"),
        ("FREQ=FORTNIGHTLY", "FREQ: found 'FORTNIGHTLY'"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL: found '0'; allowed are whole numbers from 1"),
        ("FREQ=DAILY;INTERVAL=-1", "INTERVAL: found '-1'"),
        ("FREQ=YEARLY;INTERVAL=101", "INTERVAL: found '101'; allowed are whole numbers from 1 to 100"),
        ("FREQ=DAILY;COUNT=0", "COUNT: found '0'"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "found both COUNT and UNTIL"),
        ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL: found 'TOMORROW'"),
        ("FREQ=DAILY;UNTIL=20260230", "UNTIL: found '20260230'"),
        ("FREQ=DAILY;FREQ=WEEKLY", "FREQ is there twice"),
        ("FREQ=DAILY;BYFOO=1", "found 'BYFOO'"),
        ("FREQ=DAILY;BYEASTER=0", "found 'BYEASTER'"),
        ("FREQ=DAILY;EXDATE=20260101", "found EXDATE; write the dates under exclude:"),
        ("DTSTART:20260101T000000\nFREQ=DAILY", "found DTSTART; give it beside the rule"),
        ("DTSTART;TZID=Europe/Berlin:20260101;FREQ=DAILY", "found DTSTART"),
        ("FREQ=DAILY\nEXDATE:20260101T000000", "found EXDATE; write the dates under exclude:"),
        ("FREQ=DAILY\nFREQ=WEEKLY", "found 2 lines; allowed is one"),
        ("FREQ=DAILY;RDATE=20260101", "found RDATE"),
        ("FREQ=MONTHLY;BYDAY=6MO", "BYDAY: found '6MO'; allowed are 1 to 5"),
        ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY: found '1MO'; with FREQ=WEEKLY"),
        ("FREQ=WEEKLY;BYDAY=MON", "BYDAY: found 'MON'"),
        ("FREQ=WEEKLY;WKST=1", "WKST: found '1'"),
        ("FREQ=DAILY;BYMONTH=13", "BYMONTH: found '13'; allowed are 1 to 12"),
        ("FREQ=DAILY;BYMONTHDAY=0", "BYMONTHDAY: found '0'; allowed are 1 to 31 and -31 to -1"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY: found with FREQ=WEEKLY"),
        ("FREQ=MONTHLY;BYWEEKNO=1", "BYWEEKNO: found with FREQ=MONTHLY"),
        ("FREQ=DAILY;BYYEARDAY=1", "BYYEARDAY: found with FREQ=DAILY"),
        ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO", "BYDAY: found an ordinal beside BYWEEKNO"),
        ("FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS: found without days to choose from"),
        ("FREQ=MONTHLY;BYDAY=MO;BYHOUR=1,2;BYSETPOS=1", "BYSETPOS: found with several times of day"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR: found '24'; allowed are 0 to 23"),
        ("FREQ=DAILY;BYHOUR=-1", "BYHOUR: found '-1'"),
        ("FREQ=DAILY;BYSECOND=60", "BYSECOND: found '60'"),
        (
            "FREQ=HOURLY;INTERVAL=5;BYDAY=MO",
            "INTERVAL: found 5; with FREQ=HOURLY and BY-parts allowed are divisors",
        ),
        ("FREQ=HOURLY;INTERVAL=2;BYHOUR=3", "its times of day never come"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "it has no tick at all"),
        ("FREQ=DAILY;UNTIL=20250101", "it has no tick at all"),
        ("FREQ=DAILY" + ";" * 600, "found 610 characters; allowed are 512"),
    ],
)
def test_what_is_no_plain_rule_is_refused_by_its_part(rrule: str, said: str) -> None:
    with pytest.raises(CronError) as refused:
        RRule(rrule, BEGIN)
    assert str(refused.value).startswith("rrule: ")
    assert said in str(refused.value)
    assert refused.value.field == "rrule"


@pytest.mark.parametrize(
    "rrule",
    [
        "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=7;BYDAY=TU",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
    ],
)
def test_a_date_that_never_comes_is_refused_within_a_second(rrule: str) -> None:
    began = time.process_time()
    with pytest.raises(CronError, match="no tick at all"):
        RRule(rrule, BEGIN)
    assert time.process_time() - began < 1


def test_a_question_is_not_linear_from_dtstart() -> None:
    old, new = RRule("FREQ=DAILY", "1971-01-01T00:00"), RRule("FREQ=DAILY", "2026-01-01T00:00")
    instant = datetime(2026, 6, 1, tzinfo=UTC)

    def cost(rule: RRule) -> float:
        best = 1.0
        for number in range(20):
            began = time.process_time()
            assert rule.after(instant + timedelta(days=100 * number))
            best = min(best, time.process_time() - began)
        return best

    assert cost(old) < 0.005 + 3 * cost(new)


@pytest.mark.parametrize("value", [None, 5, b"FREQ=DAILY", ["FREQ=DAILY"]])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(CronError, match="allowed is a text"):
        RRule(value, BEGIN)  # type: ignore[arg-type]
    with pytest.raises(CronError, match="write it as a text"):
        RRule("FREQ=DAILY", value)  # type: ignore[arg-type]


def test_rules_and_intervals_are_part_of_the_public_interface() -> None:
    start = datetime(2026, 11, 30, 8, 0, 0, 1, tzinfo=UTC)
    assert oncue.RRule("FREQ=DAILY", dtstart="2026-01-01T09:00", tz="Europe/Berlin").after(start, 2) == [
        datetime(2026, 12, 1, 8, tzinfo=UTC),
        datetime(2026, 12, 2, 8, tzinfo=UTC),
    ]
    assert oncue.Every("90m").after(start, 2) == [
        datetime(2026, 11, 30, 9, tzinfo=UTC),
        datetime(2026, 11, 30, 10, 30, tzinfo=UTC),
    ]
    anchored = oncue.Every("1d", anchor=datetime(2026, 1, 1, 7, tzinfo=UTC))
    assert anchored.after(start) == [datetime(2026, 12, 1, 7, tzinfo=UTC)]
    assert "every 1 day of elapsed time, counted from 2026-01-01T07:00:00Z" in anchored.explain()
    with pytest.raises(BadInput, match="has no time zone"):
        oncue.Every("90m").after(datetime(2026, 1, 1))
    for bad in ("90", "0s", "200y", "", 90):
        with pytest.raises(CronError, match=r"^every: found"):
            oncue.Every(bad)  # type: ignore[arg-type]
    with pytest.raises(CronError, match=r"^anchor: found"):
        oncue.Every("90m", anchor=datetime(2026, 1, 1))


def test_explain_says_a_rule_in_words() -> None:
    said = RRule("FREQ=MONTHLY;INTERVAL=2;BYDAY=-1FR;COUNT=5", "2026-01-05T09:00", "Europe/Berlin").explain()
    assert said == (
        "every 2 months, on the last Friday, at 09:00, from 2026-01-05 09:00 on, 5 times; time zone Europe/Berlin; "
        "fixed times: a time skipped by a clock change runs right after it, a repeated time runs once"
    )
    assert "follows elapsed time" in RRule("FREQ=HOURLY", BEGIN).explain()
