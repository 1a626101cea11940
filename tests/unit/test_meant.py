"""A value that cannot be taken is told with what it was meant as, and is never mended into something else."""

from pathlib import Path

import pytest

from tests.support.faults import check


def sentences(folder: Path, text: str) -> list[str]:
    (folder / "oncue.yaml").write_text(text + "\n", encoding="utf-8")
    return [problem.sentence for problem in check(str(folder / "oncue.yaml"))]


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("90", "90s"),
        ("010", "10s"),
        ("'90'", "90s"),
        ("5 m", "5m"),
        ("5min", "5m"),
        ("5 minutes", "5m"),
        ("90 s", "90s"),
        ("1.5h", "1h30m"),
        ("1h 30m", "1h30m"),
        ("1 hour, 30 minutes", "1h30m"),
        ("PT5M", "5m"),
        ("P1DT2H", "1d2h"),
        ("-5m", "5m"),
        ("every 5m", "5m"),
    ],
)
def test_a_duration_is_mended_into_the_one_that_was_meant(tmp_path: Path, value: str, meant: str) -> None:
    document = (
        f'schedules: {{a: {{every: "{value}"}}}}' if "," in value else f"schedules: {{a: {{every: {value}}}}}"
    )
    (found,) = sentences(tmp_path, document)
    assert found.endswith(f"; write every: {meant}")


@pytest.mark.parametrize("value", ["5M", "5 M", "1M30s"])
def test_months_are_not_mended_into_minutes(tmp_path: Path, value: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{every: {value}}}}}")
    assert f"; M might mean minutes or months; write a duration such as {value[0]}m, or for months " in found


@pytest.mark.parametrize(
    "value", ["12:30", "90x", "500ms", "P1M", "1.5", "0", "-0m", "true", "200y", "9999999w"]
)
def test_what_can_be_no_duration_is_told_with_an_example_that_is_called_one(
    tmp_path: Path, value: str
) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{every: {value}}}}}")
    assert found.endswith("; write a line such as every: 90m")


@pytest.mark.parametrize("written", ["010", "1e400", ".inf", "-.INF", "0x7f"])
def test_a_number_is_told_as_it_is_written(tmp_path: Path, written: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{cron: '@daily', priority: {written}}}}}")
    assert f"found the number {written}; " in found
    (found,) = sentences(tmp_path, f"schedules: {{a: {{cron: '@daily', priority: {'7' * 5000}}}}}")
    assert f"found the number {'7' * 57}...; " in found


@pytest.mark.parametrize(
    ("cron", "meant"),
    [
        ("\u201c0 0 * * *\u201d", "0 0 * * *"),
        ("\u20180 0 * * *\u2019", "0 0 * * *"),
        ("0 9\u201317 * * *", "0 9-17 * * *"),
        ("every 5m", "@every 5m"),
        ("5min", "@every 5m"),
        ("'@every 5min'", "@every 5m"),
        ("'@every 5 min'", "@every 5m"),
        ("'@dayly'", "@daily"),
    ],
)
def test_an_expression_is_mended_into_the_one_that_was_meant(tmp_path: Path, cron: str, meant: str) -> None:
    (found,) = sentences(tmp_path, f"schedules:\n  a:\n    cron: {cron}")
    assert found.endswith(f'; write cron: "{meant}"')


@pytest.mark.parametrize(
    ("cron", "end"),
    [
        ("H(5-1) 3 * * *", "no spread runs over the end of its field; write H(5-59) or H(0-1)"),
        ("0 0 L-3 * *", "for 3 days before it, write rrule: FREQ=MONTHLY;BYMONTHDAY=-4"),
        ("0 0 * * L", "write the weekday before L, as in 5L for the last Friday of the month"),
        ("0 0 * * 9#9", '9 is none of them; write a line such as cron: "30 2 * * *"'),
        ("0 0 * * 9L", '9 is none of them; write a line such as cron: "30 2 * * *"'),
        ("0 0 32W * *", '32 is none of them; write a line such as cron: "30 2 * * *"'),
        ("0 0 L-0 * *", 'L is the last day alone; write a line such as cron: "30 2 * * *"'),
        ("0 0 L-31 * *", 'L is the last day alone; write a line such as cron: "30 2 * * *"'),
        ("0 0 L-1 * *", "for the day before it, write rrule: FREQ=MONTHLY;BYMONTHDAY=-2"),
    ],
)
def test_an_expression_that_has_no_other_like_it_is_not_rewritten(
    tmp_path: Path, cron: str, end: str
) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{cron: '{cron}'}}}}")
    assert found.endswith(f"; {end}")


@pytest.mark.parametrize(
    ("rrule", "lines"),
    [
        ("FREQ=DAILY;INTERVAL=0", 'rrule: "FREQ=DAILY"'),
        ("FREQ=DALY;BYHOUR=9", 'rrule: "FREQ=DAILY;BYHOUR=9"'),
        ("FREQ=WEEKLY BYDAY=FR", 'rrule: "FREQ=WEEKLY;BYDAY=FR"'),
        ("FREQ=WEEKLY;BYDAYS=FR", 'rrule: "FREQ=WEEKLY;BYDAY=FR"'),
        ("FREQ=WEEKLY;BYDAY=FRI", 'rrule: "FREQ=WEEKLY;BYDAY=FR"'),
        ("FREQ=DAILY;UNTIL=2026-12-31", 'rrule: "FREQ=DAILY;UNTIL=20261231"'),
        ("FREQ=DAILY;UNTIL=2026-12-31T10:00:00Z", 'rrule: "FREQ=DAILY;UNTIL=20261231T100000Z"'),
        (
            "FREQ=DAILY\\nEXDATE:20260301T090000,20260302T090000",
            'rrule: "FREQ=DAILY" and exclude: [2026-03-01, 2026-03-02]',
        ),
    ],
)
def test_a_rule_is_mended_by_its_faulty_part_alone(tmp_path: Path, rrule: str, lines: str) -> None:
    (found,) = sentences(tmp_path, f'schedules: {{a: {{dtstart: 2026-01-05T09:00, rrule: "{rrule}"}}}}')
    assert found.endswith(f"; write {lines}")
    document = "schedules:\n  a:\n    dtstart: 2026-01-05T09:00\n    " + lines.replace(" and ", "\n    ")
    assert sentences(tmp_path, document) == []


@pytest.mark.parametrize(
    ("head", "lines"),
    [
        ("DTSTART:20260105T090000", "dtstart: 2026-01-05T09:00"),
        ("DTSTART:20260105T090000Z", "dtstart: 2026-01-05T09:00Z"),
        (
            "DTSTART;TZID=Europe/Berlin:20260105T090000",
            "dtstart: 2026-01-05T09:00 and timezone: Europe/Berlin",
        ),
    ],
)
def test_the_first_instant_in_a_rule_is_told_as_the_keys_beside_it(
    tmp_path: Path, head: str, lines: str
) -> None:
    (found,) = sentences(tmp_path, f'schedules: {{a: {{rrule: "{head}\\nRRULE:FREQ=DAILY"}}}}')
    assert "found DTSTART; give it beside the rule, as dtstart:" in found
    assert found.endswith(f'; write rrule: "FREQ=DAILY" and {lines}')
    document = f'schedules:\n  a:\n    rrule: "FREQ=DAILY"\n    {lines}'
    assert sentences(tmp_path, document.replace(" and ", "\n    ")) == []


@pytest.mark.parametrize(
    "part", ["BYHOUR=25", "COUNT=0", "UNTIL=someday", "COUNT=3;UNTIL=20261231", "BYHOUR=9\\nFREQ=WEEKLY"]
)
def test_a_rule_is_not_mended_into_one_without_its_limits(tmp_path: Path, part: str) -> None:
    document = f'schedules: {{a: {{dtstart: 2026-01-05T09:00, rrule: "FREQ=DAILY;{part}"}}}}'
    (found,) = sentences(tmp_path, document)
    assert found.endswith('; write a line such as rrule: "FREQ=WEEKLY;BYDAY=MO"')


@pytest.mark.parametrize(
    ("exclude", "says", "meant"),
    [
        ("2026-02-30, holidays", "there is no such day: 2026-02 has 28 days", "2026-02-28, holidays"),
        ("holidays, 25.12.2026", "", "holidays, 2026-12-25"),
        ("2026-1-5, '* * 1 1 *'", "", '2026-01-05, "* * 1 1 *"'),
        ("2026-12-26/2026-12-24, 2026-01-01", "ends before it begins", "2026-12-24/2026-12-26, 2026-01-01"),
        ("2026-12-24/2026-12-32", "", ""),
        ("2026-12-24/2026-01-06", "ends before it begins", ""),
        ("2026-12-24/2026-02-30", "there is no such day: 2026-02 has 28 days", ""),
        ("2026-06-24/2026-06-31", "there is no such day: 2026-06 has 30 days", "2026-06-24/2026-06-30"),
        ("holiday, 2026-01-01", "unknown calendar 'holiday'", "holidays, 2026-01-01"),
    ],
)
def test_an_excluded_date_is_mended_among_the_others(
    tmp_path: Path, exclude: str, says: str, meant: str
) -> None:
    calendars = "calendars: {holidays: [2026-12-25]}\n"
    (found,) = sentences(tmp_path, f"{calendars}schedules: {{a: {{every: 1h, exclude: [{exclude}]}}}}")
    assert says in found
    assert found.endswith(
        f"; write exclude: [{meant}]" if meant else "; write a line such as exclude: [2026-12-25]"
    )


def test_an_expression_that_would_exclude_every_date_is_not_rewritten_into_one_that_does(
    tmp_path: Path,
) -> None:
    (found,) = sentences(tmp_path, "schedules: {a: {every: 1h, exclude: ['*/5 * * * *']}}")
    assert found.endswith("whole dates are excluded, and this would be every date; remove it")


@pytest.mark.parametrize(
    ("start", "says", "meant"),
    [
        ("2026-02-30", "there is no such day: 2026-02 has 28 days", "2026-02-28"),
        ("2026-02-30T09:00", "there is no such day: 2026-02 has 28 days", "2026-02-28T09:00"),
        ("2026-01-05 9:00", "ISO 8601", "2026-01-05T09:00"),
        ("2026-1-5", "ISO 8601", "2026-01-05"),
        ("5.1.2026", "ISO 8601", "2026-01-05"),
    ],
)
def test_an_instant_is_mended_into_the_one_that_was_meant(
    tmp_path: Path, start: str, says: str, meant: str
) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{every: 1h, start: {start}}}}}")
    assert says in found
    assert found.endswith(f"; write start: {meant}")


@pytest.mark.parametrize("start", ["tomorrow", "1/5/2026", "2026-13-01", "2026-01-05T25:00"])
def test_what_can_be_no_instant_is_told_with_an_example(tmp_path: Path, start: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{every: 1h, start: {start}}}}}")
    assert found.endswith("; write a line such as start: 2026-12-24T09:00")


@pytest.mark.parametrize(
    ("schedule", "line"),
    [
        ("command: [hunter2], shell: true", 'a line such as command: "ls | wc -l", or remove shell'),
        (
            "command: ls hunter2",
            "that beside it, or a list of words, the program first: a line such as command: [/usr/bin/true]",
        ),
        ("command: [ls], env: {A-B: x, TOKEN: hunter2}", "A_B"),
        ("http: {url: 'http://h/', headers: {'A B': x, TOKEN: hunter2}}", "A-B"),
    ],
)
def test_work_is_mended_where_it_is_wrong(tmp_path: Path, schedule: str, line: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{every: 1h, {schedule}}}}}")
    assert found.endswith(f"; write {line}")
    assert "hunter2" not in found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("'@daily'", '{cron: "@daily"}'),
        ("0 3 * * *", '{cron: "0 3 * * *"}'),
        ("5m", "{every: 5m}"),
        ("nightly", 'a line such as {cron: "30 2 * * *"}'),
    ],
)
def test_a_text_instead_of_a_schedule_may_be_what_says_when(tmp_path: Path, text: str, line: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {text}}}")
    assert found.endswith(f"; write {line}")


def test_a_blank_that_is_none_behind_a_colon_is_named_at_its_place(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, 'schedules:\n  a:\n    cron:\u00a0"0 0 * * *"')
    assert found.endswith(":3:10: schedules.a: a non-breaking space (U+00A0) stands where a blank should be")


@pytest.mark.parametrize("key", ["<<: *b", "5: x", "cron: '@daily', cron"])
def test_a_key_that_cannot_be_kept_is_the_only_fault(tmp_path: Path, key: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{b: &b {{cron: '@daily'}}, a: {{{key}}}}}")
    assert "is missing" not in found


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("schedules:\n  a: {cron: '@daily', queue: q\n  b: {cron: '@daily'}", "2:6: this '{'"),
        ("schedules:\n  a: {cron: '@daily'\n  b:\n    cron: '@daily'", "2:6: this '{'"),
        ("calendars:\n  c: [2026-12-25\nschedules: {}", "2:6: this '['"),
    ],
)
def test_a_brace_that_is_not_closed_is_told_where_it_opens(tmp_path: Path, text: str, place: str) -> None:
    (found,) = sentences(tmp_path, text)
    assert f":{place} is not closed, or a comma is missing, before line 3" in found


def test_a_comma_that_is_missing_is_told_where_it_is_missing(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, "schedules: {a: {cron: '@daily' queue: q}}")
    assert found.endswith(":1:32: a comma or the end of the '{' is missing before this")
