"""A due time may be written in four ways, is rounded up and never down, and is refused in one plain sentence."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oncue import App
from oncue.common.due import LAST_MS, due_ms
from oncue.common.errors import BadInput

NOW = 1_700_000_000_123
LAST_SECOND = LAST_MS // 1000


@pytest.mark.parametrize(
    ("ts", "ms"),
    [
        (None, NOW),
        (0, 0),
        (-0.0, 0),
        (1, 1000),
        (1_700_000_000, 1_700_000_000_000),
        (1_700_000_000.001, 1_700_000_000_001),
        (1_700_000_000.0001, 1_700_000_000_001),
        (5e-324, 1),
        (Decimal("1.0000000000000000000000000000000000000000000000001"), 1001),
        (Decimal("1E-999999"), 1),
        (LAST_SECOND, LAST_SECOND * 1000),
        (253_402_300_799.999, LAST_MS),
        ("1970-01-01T00:00:00Z", 0),
        ("2026-12-24T18:00:00+01:00", 1_798_131_600_000),
        ("2026-12-24T17:00:00Z", 1_798_131_600_000),
        ("20261224T170000Z", 1_798_131_600_000),
        ("2026-12-24T17:00:00.001Z", 1_798_131_600_001),
        ("2026-12-24T17:00:00.001000Z", 1_798_131_600_001),
        ("2026-12-24T17:00:00.001000000Z", 1_798_131_600_001),
        ("2026-12-24T17:00:00.001000001Z", 1_798_131_600_002),
        ("2026-12-24T17:00:00,0000009Z", 1_798_131_600_001),
        (datetime(2026, 12, 24, 17, tzinfo=UTC), 1_798_131_600_000),
        (datetime(2026, 12, 24, 17, 0, 0, 1, tzinfo=UTC), 1_798_131_600_001),
        (datetime(2026, 12, 24, 18, tzinfo=ZoneInfo("Europe/Berlin")), 1_798_131_600_000),
    ],
)
def test_every_way_to_write_a_time_gives_its_millisecond(ts: object, ms: int) -> None:
    assert due_ms(ts, NOW) == ms


def test_the_two_readings_of_a_repeated_hour_are_an_hour_apart() -> None:
    zone = ZoneInfo("Europe/Berlin")
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1))
    assert due_ms(second, NOW) - due_ms(first, NOW) == 3_600_000


@given(st.floats(0, LAST_SECOND - 1))
@example(1_700_000_000.001)
def test_a_float_is_rounded_up_by_less_than_a_millisecond(seconds: float) -> None:
    shown = Fraction(repr(seconds)) * 1000
    assert 0 <= due_ms(seconds, NOW) - shown < 1


@given(st.decimals(0, LAST_SECOND - 1, allow_nan=False))
def test_a_decimal_is_rounded_up_by_less_than_a_millisecond(seconds: Decimal) -> None:
    assert 0 <= due_ms(seconds, NOW) - Fraction(seconds) * 1000 < 1


@given(
    st.datetimes(
        datetime(1970, 1, 2),
        datetime(9999, 12, 30),
        timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    )
)
def test_a_datetime_and_its_iso_text_are_the_same_instant_rounded_up(moment: datetime) -> None:
    elapsed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert due_ms(moment, NOW) == -(-elapsed // timedelta(milliseconds=1))
    assert due_ms(moment.isoformat(), NOW) == due_ms(moment, NOW)


class Seconds(float):
    """A float of another library, which writes itself in its own way, as NumPy's do."""

    def __repr__(self) -> str:
        return f"np.float64({float(self)!r})"


def test_numbers_of_other_libraries_are_read_by_value() -> None:
    assert due_ms(Seconds(1.0005), NOW) == 1001


NAIVE = (
    "the time {0} has no time zone: write {0}+00:00 for UTC,"
    ' or give a datetime with tzinfo such as zoneinfo.ZoneInfo("Europe/Berlin")'
)
MILLISECONDS = "lies after the year 9999: it looks like milliseconds, divide it by 1000"


@pytest.mark.parametrize(
    ("ts", "sentence"),
    [
        (math.nan, "a due time of nan is not a time: give finite epoch seconds"),
        (math.inf, "a due time of inf is not a time: give finite epoch seconds"),
        (-math.inf, "a due time of -inf is not a time: give finite epoch seconds"),
        (Decimal("sNaN"), "a due time of sNaN is not a time: give finite epoch seconds"),
        (-1, "a due time of -1 lies before 1970: give epoch seconds, zero or more"),
        (-1e-9, "a due time of -1e-09 lies before 1970: give epoch seconds, zero or more"),
        (-(10**5000), "a due time of -10^30 and less lies before 1970: give epoch seconds, zero or more"),
        (1_700_000_000_000, f"a due time of 1700000000000 s {MILLISECONDS}"),
        (1_700_000_000_000.5, f"a due time of 1700000000000.5 s {MILLISECONDS}"),
        (LAST_SECOND + 1, f"a due time of 253402300800 s {MILLISECONDS}"),
        (Decimal("253402300799.9990001"), f"a due time of 253402300799.9990001 s {MILLISECONDS}"),
        (10**5000, f"a due time of 10^30 and more s {MILLISECONDS}"),
        (Decimal("1E+999999999"), f"a due time of 10^30 and more s {MILLISECONDS}"),
        (1e308, f"a due time of 10^30 and more s {MILLISECONDS}"),
        (datetime(2026, 12, 24, 18), NAIVE.format("2026-12-24T18:00:00")),
        ("2026-12-24", NAIVE.format("2026-12-24T00:00:00")),
        ("2026-12-24T18:00", NAIVE.format("2026-12-24T18:00:00")),
        (
            "tomorrow",
            "'tomorrow' is not an ISO 8601 time: write it like 2026-12-24T18:00:00+01:00 or 2026-12-24T17:00:00Z",
        ),
        (
            "1969-12-31T23:59:59Z",
            "the time 1969-12-31T23:59:59+00:00 lies before 1970: give a later one",
        ),
        (
            "9999-12-31T23:59:59-12:00",
            "the time 9999-12-31T23:59:59-12:00 lies after the year 9999 in UTC: give an earlier one",
        ),
        (
            "9999-12-31T23:59:59.999001Z",
            "the time 9999-12-31T23:59:59.999001+00:00 lies after the year 9999 in UTC: give an earlier one",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_time_is_refused_in_one_sentence(ts: object, sentence: str) -> None:
    with pytest.raises(BadInput) as refusal:
        due_ms(ts, NOW)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    "ts", [True, False, b"2026-12-24T17:00:00Z", date(2026, 12, 24), timedelta(1), 1j, [1], {}, object()]
)
def test_a_value_of_another_type_is_refused_by_name(ts: object) -> None:
    with pytest.raises(BadInput) as refusal:
        due_ms(ts, NOW)
    assert str(refusal.value) == (
        f"a due time of type {type(ts).__name__} is not understood: give epoch seconds, an aware datetime,"
        " an ISO 8601 string with an offset, or None for now"
    )


def test_a_task_that_would_expire_before_it_is_due_is_refused_with_both_times() -> None:
    with pytest.raises(BadInput) as refusal:
        App("redis://localhost").schedule_task(1_700_000_060, None, expires=1_700_000_000.5)
    assert str(refusal.value) == (
        "the task would expire at 2023-11-14T22:13:20.500000+00:00, before it is due at 2023-11-14T22:14:20+00:00:"
        " allowed is its due time or any later one"
    )


@given(st.one_of(st.text(), st.floats(), st.integers(), st.decimals(), st.datetimes(), st.binary()))
def test_nothing_but_bad_input_is_ever_raised(ts: object) -> None:
    with suppress(BadInput):
        assert 0 <= due_ms(ts, NOW) <= LAST_MS
