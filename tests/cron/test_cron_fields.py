"""What is read as what, and what is refused with which rewrite."""

import re
from datetime import UTC, datetime

import pytest

from oncue.common.cron import Cron
from oncue.common.errors import CronError

START = datetime(2024, 5, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("0 0 * * fri-sun", "0 0 * * 0,5,6"),
        ("0 0 * * 5-sun/2", "0 0 * * 0,5"),
        ("0 0 * * sun-sat", "0 0 * * 0-6"),
        ("0 0 * * sun-sun", "0 0 * * 0"),
        ("0 0 * * 7/2", "0 0 * * 0,2,4,6"),
        ("0 0 * * 1/2", "0 0 * * 1,3,5"),
        ("0 0 * * FRIL", "0 0 * * 5L"),
        ("0 0 * * Sun#2", "0 0 * * 7#2"),
        ("0 0 lw * *", "0 0 LW * *"),
        ("@DAILY", "0 0 * * *"),
        ("@annually", "0 0 1 1 *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("  0 0 * * *\n", "0 0 * * *"),
        ("00 000 * JAN-Mar *", "0 0 * 1-3 *"),
        ("0 0 ? * ?", "0 0 * * *"),
        ("5-5 * * * *", "5 * * * *"),
        ("*/90 * * * *", "0 * * * *"),
        ("*/99999999999999999999 * * * *", "0 * * * *"),
        ("@every 1h30m", "@every 90m"),
        ("@EVERY 1D", "@every 24h"),
    ],
)
def test_two_ways_to_write_one_schedule(written: str, same: str) -> None:
    assert Cron(written).after(START, 30) == Cron(same).after(START, 30)


@pytest.mark.parametrize(
    ("expr", "field", "code", "sentence"),
    [
        ("0 22-2 * * *", "hour", "order", "found '22-2'; allowed are 0-23; write 22-23,0-2"),
        ("0 22-2/2 * * *", "hour", "order", "write 22,0,2"),
        ("50-10 * * * *", "minute", "order", "write 50-59,0-10"),
        ("0 0 * nov-feb *", "month", "order", "write 11-12,1-2"),
        ("0 0 * * fri-mon", "day-of-week", "order", "write 5-6,0-1"),
        ("0 0 * * 5-0", "day-of-week", "order", "write 5-7"),
        ("0 0 * * 7-1", "day-of-week", "order", "write 0-1"),
        ("0 24 * * *", "hour", "range", "found '24'; allowed are 0-23; write 0"),
        ("60 * * * *", "minute", "range", "allowed are 0-59; write 0"),
        ("61 * * * * *", "second", "range", "allowed are 0-59"),
        ("0 0 0 * *", "day-of-month", "range", "allowed are 1-31"),
        ("0 0 32W * *", "day-of-month", "range", "found '32W'"),
        ("0 0 * 13 *", "month", "range", "allowed are 1-12 or jan-dec"),
        ("0 0 * * 1#6", "day-of-week", "range", "1 to 5"),
        ("0 0 * * 1#x", "day-of-week", "syntax", "1 to 5"),
        ("*/0 * * * *", "minute", "step", "at least 1"),
        ("*/x * * * *", "minute", "syntax", "a step is one whole number"),
        ("5/ * * * *", "minute", "syntax", "a step is one whole number"),
        ("*5 * * * *", "minute", "syntax", "write */5"),
        ("? * * * *", "minute", "syntax", "write *"),
        ("0 0 ?/2 * *", "day-of-month", "syntax", "found '?/2'"),
        ("1,,2 * * * *", "minute", "syntax", "between two commas"),
        ("1, * * * *", "minute", "syntax", "between two commas"),
        ("R * * * *", "minute", "syntax", "write H"),
        ("0 0 * * L", "day-of-week", "name", "write the weekday before L, as in 5L"),
        ("0 0 * * monday", "day-of-week", "name", "write mon"),
        ("0 0 * Foo *", "month", "name", "found 'Foo'"),
        ("0 0 5L * *", "day-of-month", "syntax", "5L and 5#2 belong to day-of-week"),
        ("0 0 * * 15W", "day-of-week", "syntax", "15W belong to day-of-month"),
        ("0 L * * *", "hour", "syntax", "belong to day-of-month"),
        ("H(5) * * * *", "minute", "syntax", "write H(a-b)"),
        ("H(9-3) * * * *", "minute", "order", "found 'H(9-3)'"),
        ("0 0\u00a0* * *", "", "syntax", "no-break space (U+00A0)"),
        ("0 0 * * *\u200b", "day-of-week", "syntax", "zero width space (U+200B)"),
        ("\uff10 0 * * *", "minute", "syntax", "fullwidth digit zero"),
        ("0 0 * *\x00 *", "month", "syntax", "a control character (U+0000)"),
        ("0 0 *\n* *", "", "syntax", "U+000A"),
        ("", "", "field-count", "found 0 fields; allowed are 5"),
        ("* * * * * * *", "", "field-count", "there is no year field"),
        ("0 0 * * * # nightly", "", "field-count", "a comment is no part"),
        ("CRON_TZ=UTC 0 0 * * *", "", "syntax", "timezone: Europe/Berlin"),
        ("TZ=UTC 0 0 0 * * *", "", "field-count", "timezone: Europe/Berlin"),
        ("* " * 200, "", "syntax", "found 400 characters; allowed are 256"),
        ("@reboot", "", "alias", "found @reboot"),
        ("@every", "", "alias", "@every 1h30m"),
        ("@fortnightly", "", "alias", "allowed are @yearly"),
        ("@every 5", "", "syntax", "w, d, h, m, s"),
        ("@every 5M", "", "syntax", "found @every '5M'; allowed are whole numbers of w, d, h, m, s"),
        ("@every 1.5h", "", "syntax", "as in @every 1h30m"),
        ("@every 0s", "", "step", "1s or more"),
        ("@every 9999999w", "", "range", "a century"),
        ("0 0 29 2 1#5,2", "", "", ""),
        ("0 0 30-31 2 *", "day-of-month", "never", "write L"),
        ("0 0 31 4 */1", "day-of-month", "never", "never comes"),
    ],
)
def test_the_refusal_names_the_field_and_shows_a_rewrite(
    expr: str, field: str, code: str, sentence: str
) -> None:
    if not code:
        assert Cron(expr).after(START)
        return
    with pytest.raises(CronError, match=re.escape(sentence)) as refused:
        Cron(expr)
    assert (refused.value.field, refused.value.code) == (field, code)
    assert str(refused.value).startswith(f"{field} field: " if field else "cron expression: ")
    assert "\n" not in str(refused.value)


def test_the_workday_nearest_to_a_day_that_a_month_lacks_is_counted_from_its_last_day() -> None:
    ticks = Cron("0 0 31W * *").after(START, 10)
    assert [(tick.month, tick.day) for tick in ticks] == [
        (5, 31), (6, 28), (7, 31), (8, 30), (9, 30), (10, 31), (11, 29), (12, 31), (1, 31), (2, 28),
    ]  # fmt: skip


@pytest.mark.parametrize("option", [{"days": "and"}, {"gap": "later"}])
def test_an_unknown_option_is_refused(option: dict[str, str]) -> None:
    with pytest.raises(CronError, match="allowed are"):
        Cron("0 0 * * *", **option)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        ("*/90 * * * *", ["'*/90'", "@every 90m"]),
        ("50/20 * * * *", ["the step 20 of '50/20' leads to one value only", "@every 20m"]),
        ("0 9-12/5 * * *", ["the step 5 of '9-12/5' leads to one value only"]),
        ("* 3 * * *", ["runs 60 times in hour 3", "write 0"]),
        ("0 0-23 * * *", ["'0-23' is the whole field", "write *"]),
        ("0 0 13 * 5", ["either runs (OR)"]),
        ("0 0 13 * */2", ["must match both"]),
        ("*/7 * * * *", ["does not divide 60", "@every 7m"]),
        ("0 5/7 * * *", ["does not divide 24"]),
        ("0 0 */2 * *", ["starts anew on the 1st"]),
        ("0 0 * * */2", ["does not divide 7"]),
        ("H * * * *", ["there is none"]),
    ],
)
def test_what_is_seldom_meant_is_warned_of(expr: str, words: list[str]) -> None:
    warnings = Cron(expr).warnings
    assert any(all(word in warning for word in words) for warning in warnings), warnings


@pytest.mark.parametrize(
    "expr",
    [
        "* * * * *", "*/15 * * * *", "30 2 * * *", "0 9-17 * * 1-5", "0 9-17/4 * * *", "5-59/20 * * * *",
        "* 9-17 * * *", "0 0 L * *", "0 0 * * 5L", "0 0 1 */3 *", "0 0 29 2 ?", "@daily", "@every 7m",
        "*/10 * * * * *", "0 0 * * thu", "0 */6 * * *", "0-59 * * * *", "* 0-23 * * *", "H/5 0-23 * * *",
        "*/60 * * * *", "30/60 * * * *", "0 */24 * * *",
    ],
)  # fmt: skip
def test_what_is_meant_is_not_warned_of(expr: str) -> None:
    assert Cron(expr, seed="one").warnings == []


@pytest.mark.parametrize(
    ("expr", "meaning"),
    [
        ("30 2 * * *", "at 02:30, every day; time zone Europe/Berlin; fixed times"),
        ("*/5 * * * *", "every 5 minutes, every day; time zone Europe/Berlin; follows elapsed time"),
        ("0 9-17 * * 1-5", "minute 0 of hours 9-17, on Monday-Friday"),
        ("0 0 13 * 5", "at 00:00, on day 13 of the month or on Friday"),
        ("0 0 13 * */2", "on day 13 of the month if it is also Sunday, Tuesday, Thursday and Saturday"),
        ("0 0 1 * 1-7", "at 00:00, every day"),
        ("0 17 LW 3,6 *", "at 17:00, on the last Monday-to-Friday day of the month, in March and June"),
        ("0 0 15W * *", "on the Monday-to-Friday day nearest to day 15 of the month"),
        ("0 0 * * 5#2,1L", "on the last Monday of the month and the second Friday of the month"),
        ("*/13 * * * *", "minutes 0, 13, 26, 39 and 52 of every hour"),
        ("0 */90 * * *", "at 00:00"),
        ("15,30 * * * * *", "seconds 15 and 30 of every minute"),
        ("30 0 12 * * *", "at 12:00:30"),
        ("@every 1h30m", "every 1 hour 30 minutes of elapsed time"),
    ],
)
def test_the_meaning_is_told_in_words(expr: str, meaning: str) -> None:
    words = Cron(expr, "Europe/Berlin").explain()
    if "#" in expr:
        assert all(part in words for part in meaning.removeprefix("on ").split(" and "))
    else:
        assert meaning in words
    assert "\n" not in words
