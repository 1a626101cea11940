"""Faults that users of other schedulers reported, each as what oncue promises instead."""

import re
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from oncue.common.cron import Cron
from oncue.common.errors import BadInput, CronError
from tests.support.cost import cpu_s


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_repeated_hour_of_autumn_fires_in_both_passes() -> None:
    """P08: every five minutes in Zurich, from the last one of the first pass."""
    cron = Cron("*/5 * * * *", "Europe/Zurich")
    assert cron.after(at("2023-10-29T00:55Z"), 2) == [at("2023-10-29T01:00Z"), at("2023-10-29T01:05Z")]
    ticks = cron.after(at("2023-10-28T23:59:59Z"), 24)
    assert ticks == [at("2023-10-29T00:00Z") + timedelta(minutes=5) * number for number in range(24)]


def test_an_aware_start_in_the_second_pass_is_not_taken_for_the_first() -> None:
    """P08: two folds of one zone compare equal in Python; their ticks differ."""
    cron = Cron("*/5 * * * *", "Europe/Zurich")
    second_pass = at("2023-10-29T02:55+01:00")
    assert cron.after(second_pass) == [at("2023-10-29T02:00Z")]


def test_a_time_in_the_gap_of_spring_runs_at_its_end_and_never_months_later() -> None:
    """P09: 02:30 in New York on the day that has none."""
    cron = Cron("30 2 * * *", "America/New_York")
    assert cron.after(at("2026-03-08T06:30Z"), 2) == [at("2026-03-08T07:00Z"), at("2026-03-09T06:30Z")]


def test_a_time_in_the_gap_is_left_out_where_that_is_asked_for() -> None:
    """P09: the other policy."""
    cron = Cron("30 2 * * *", "America/New_York", gap="skip")
    assert cron.after(at("2026-03-08T06:30Z")) == [at("2026-03-09T06:30Z")]
    assert "does not run" in cron.explain()


def test_either_day_field_is_enough_and_a_warning_says_so() -> None:
    """P10: the 13th or a Friday."""
    cron = Cron("0 0 13 * 5")
    october = [tick.day for tick in cron.after(at("2026-09-30T00:00Z"), 10) if tick.month == 10]
    assert october == [2, 9, 13, 16, 23, 30]
    assert any("either" in warning and "day-of-week '5'" in warning for warning in cron.warnings)
    assert len(cron.after(at("2026-10-01T00:00Z"), 5)) == 5


def test_both_day_fields_must_match_where_that_is_asked_for() -> None:
    """P10: Friday the 13th, without a warning."""
    cron = Cron("0 0 13 * 5", days="both")
    assert cron.after(at("2026-10-01T00:00Z")) == [at("2026-11-13T00:00Z")]
    assert cron.warnings == []
    assert "on day 13 of the month if it is also Friday" in cron.explain()


def test_a_weekday_alone_is_enough_beside_a_day_of_the_month() -> None:
    """P10: the first of May or Monday to Thursday in May; 20 May 2024 was a Monday."""
    assert Cron("* * 1 5 1-4").after(at("2024-05-20T00:00Z")) == [at("2024-05-20T00:01Z")]


@pytest.mark.parametrize("expr", ["0 0 31 4 *", "0 0 30 2 *", "0 0 31 2,4,6 *"])
def test_a_date_that_never_comes_is_refused_at_once(expr: str) -> None:
    """P11: within 100 ms, with the field named."""

    def refuse() -> None:
        with pytest.raises(CronError, match=r"^day-of-month field: .* never comes"):
            Cron(expr, "Europe/Berlin")

    assert cpu_s(refuse) < 0.1
    with pytest.raises(CronError) as refused:
        Cron(expr, "Europe/Berlin")
    assert (refused.value.field, refused.value.code) == ("day-of-month", "never")


def test_the_29th_of_february_is_accepted_and_2100_has_none() -> None:
    """P11: the century that is no leap year."""
    assert Cron("0 0 29 2 *").after(at("2096-03-01T00:00Z")) == [at("2104-02-29T00:00Z")]


def test_a_reading_that_every_clock_change_skips_ends_the_search() -> None:
    """P11: in New York, 02:00-02:59 of the second Sunday in March never comes, and elapsed time makes up nothing."""
    cron = Cron("*/5 2 * 3 0#2", "America/New_York")
    assert cron.after_ms(1_715_774_400_000) is None
    assert cron.after(at("2024-05-15T12:00Z"), 3) == []
    assert cpu_s(lambda: cron.after_ms(1_715_774_400_000)) < 1


def test_a_naive_start_is_refused_with_what_to_write() -> None:
    with pytest.raises(BadInput, match=r"no time zone; write .*datetime.now\(timezone.utc\)"):
        Cron("* * * * *").after(datetime(2024, 1, 1))


@pytest.mark.parametrize(
    "zone",
    ["Mars/Base", "", "../etc/passwd", "/etc/localtime", "localtime", "posixrules", "Factory", "right/UTC",
     "posix/UTC", "Europe", "\0", "é", "\udcff", "A" * 5000, None, 5, ["UTC"], b"UTC"],
)  # fmt: skip
def test_an_unknown_zone_is_refused_at_once(zone: object) -> None:
    def refuse() -> None:
        with pytest.raises(CronError, match=r"^time zone: found "):
            Cron("0 0 * * *", zone)  # type: ignore[arg-type]

    assert cpu_s(refuse) < 0.1
    with pytest.raises(CronError) as refused:
        Cron("0 0 * * *", zone)  # type: ignore[arg-type]
    assert refused.value.code == "zone"


@pytest.mark.parametrize("zone", ["Europe/Berln", "europe/berlin", "Berlin", "Europe/Berlin "])
def test_a_misspelt_zone_is_answered_with_the_right_one(zone: str) -> None:
    with pytest.raises(CronError, match=r"did you mean Europe/Berlin\?"):
        Cron("0 0 * * *", zone)


@pytest.mark.parametrize(
    ("zone", "advice"),
    [
        ("GMT+2", "Etc/GMT-2 is 2 hours ahead of UTC, all year round; did you mean Etc/GMT-2?"),
        ("GMT-5", "Etc/GMT+5 is 5 hours behind UTC, all year round; did you mean Etc/GMT+5?"),
        ("UTC+2", "did you mean Etc/GMT-2?"),
        ("utc -1", "Etc/GMT+1 is 1 hour behind UTC"),
        ("UTC-05:00", "did you mean Etc/GMT+5?"),
        ("+1400", "did you mean Etc/GMT-14?"),
        ("UTC+00:00", "did you mean UTC?"),
        ("UTC+15", "write the name of a place in the zone"),
        ("UTC+5:30", "only offsets of whole hours have zones of their own; write the name of a place"),
        ("PST", "did you mean America/Los_Angeles?"),
        ("edt", "did you mean America/New_York?"),
        ("CEST", "did you mean Europe/Berlin?"),
        ("IST", "those of Asia/Kolkata, Europe/Dublin and Asia/Jerusalem; write one of these"),
        ("ACST", "write the name of a place in the zone"),
        ("Mars/Base", "write the name of a place in the zone"),
        ("local", "never the host's; write the name of a place in the zone"),
    ],
)  # fmt: skip
def test_an_offset_or_an_abbreviation_is_answered_with_its_zone_or_with_none(zone: str, advice: str) -> None:
    with pytest.raises(CronError) as refused:
        Cron("0 0 * * *", zone)
    assert advice in str(refused.value)
    meant = str(refused.value).partition("did you mean ")[2].removesuffix("?")
    assert bool(meant) is ("did you mean" in advice or "Etc/" in advice)
    for place in re.findall(r"[A-Z][a-z]+/[A-Za-z_+0-9-]+", advice):
        Cron("0 0 * * *", place)


def test_a_zone_of_a_fixed_offset_has_it() -> None:
    for sign, furthest in ((1, 14), (-1, 12)):
        for hours in range(1, furthest + 1):
            with pytest.raises(CronError) as refused:
                Cron("0 0 * * *", f"UTC{'+' if sign > 0 else '-'}{hours}")
            zone = str(refused.value).partition("did you mean ")[2].removesuffix("?")
            (tick,) = Cron("0 0 * * *", zone).after(at("2026-07-01T00:00Z"))
            assert tick.hour == -sign * hours % 24


def test_the_host_zone_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Cron("0 9 * * *").after(at("2024-07-01T00:00Z"), 3)
    monkeypatch.setenv("TZ", "Pacific/Apia")
    time.tzset()
    try:
        assert Cron("0 9 * * *").after(at("2024-07-01T00:00Z"), 3) == before
    finally:
        monkeypatch.undo()
        time.tzset()


def test_ten_thousand_schedules_cost_little() -> None:
    """A scheduler asks each schedule for its next tick; the whole lot stays far below a second of work each way."""
    began = time.process_time()
    crons = [
        Cron(f"{number % 60} {number // 60 % 24} * * {number % 7}", "Europe/Berlin")
        for number in range(10_000)
    ]
    ticks = [cron.after_ms(1_715_774_400_000) for cron in crons]
    assert None not in ticks
    assert time.process_time() - began < 5


def test_every_counts_from_the_epoch_so_a_restart_shifts_nothing() -> None:
    cron = Cron("@every 90m", "America/New_York")
    ticks = cron.after(at("2024-03-10T00:10Z"), 6)
    assert all(tick.timestamp() % 5400 == 0 for tick in ticks)
    assert [later - tick for tick, later in pairwise(ticks)] == [timedelta(minutes=90)] * 5


@pytest.mark.parametrize(
    ("instant", "left"), [(datetime.min.replace(tzinfo=UTC), 2), (datetime.max.replace(tzinfo=UTC), 0)]
)
def test_the_ends_of_the_calendar_are_no_error(instant: datetime, left: int) -> None:
    for expr in ("0 0 * * *", "* * * * * *", "@every 1w"):
        ticks = Cron(expr, "America/Sao_Paulo").after(instant, 2)
        assert len(ticks) == left
        assert all(tick > instant for tick in ticks)
