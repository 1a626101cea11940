"""The keys of a schedule beside `cron`, and calendars: what they become, and each fault with its place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oncue.common.config import load
from oncue.common.configtypes import ScheduleConfig
from oncue.common.rule import Rule
from tests.support.faults import check

Write = Callable[..., str]


def schedule(write: Write, text: str, calendars: str = "") -> ScheduleConfig:
    path = write(f"timezone: Europe/Berlin\n{calendars}schedules:\n  a: {text}\n")
    assert check(path) == []
    return load(path, {}, {}).schedules["a"]


def test_every_key_becomes_a_field_with_its_unit(write: Write) -> None:
    found = schedule(
        write,
        "{every: 1h30m, anchor: 2026-01-01T00:17, jitter: 5m, start: 2026-02-01, end: 2026-12-31T12:00+01:00,"
        " count: 5, exclude: 2026-12-24, catch_up: all, catch_up_max: 7, catch_up_within: 6h, overlap: queue,"
        " enabled: false, priority: 9, queue: q, data: [1]}",
    )
    assert found == ScheduleConfig(
        name="a", cron=None, timezone="Europe/Berlin", queue="q", data=[1], priority=9, line=3,
        every_s=5400.0, anchor="2026-01-01T00:17", jitter_s=300.0, start="2026-02-01",
        end="2026-12-31T12:00+01:00", count=5, exclude=("2026-12-24",), enabled=False,
        catch_up="all", catch_up_max=7, catch_up_within_s=21_600.0, overlap="queue",
    )  # fmt: skip


def test_what_is_not_given_is_the_default(write: Write) -> None:
    found = schedule(write, "{every: 10m, from: end}")
    assert (found.from_end, found.catch_up, found.catch_up_max, found.overlap) == (
        True,
        "latest",
        100,
        "skip",
    )
    assert (found.catch_up_within_s, found.enabled, found.jitter_s) == (None, True, 0.0)


def test_a_rule_and_its_start_are_read(write: Write) -> None:
    found = schedule(write, "{rrule: 'FREQ=WEEKLY;BYDAY=MO,WE', dtstart: 2026-01-05T09:00, gap: skip}")
    assert (found.rrule, found.dtstart, found.gap) == ("FREQ=WEEKLY;BYDAY=MO,WE", "2026-01-05T09:00", "skip")
    assert Rule("a", found.timing).next_after(0) == 1_767_600_000_000


CALENDARS = (
    'calendars:\n  holidays: [2026-12-25, 2026-12-26/2026-12-28, "* * 1 1 *"]\n  other: [2026-05-01]\n'
)


def test_a_definition_carries_the_calendars_that_it_names_and_no_others(write: Write) -> None:
    found = schedule(write, "{cron: '@daily', exclude: [2026-12-24, holidays]}", CALENDARS)
    assert found.exclude == ("2026-12-24", "holidays")
    assert found.calendars == {"holidays": ("2026-12-25", "2026-12-26/2026-12-28", "* * 1 1 *")}
    # 29 December, midnight in Berlin.
    assert Rule("a", found.timing).next_after(1_798_066_800_000 - 1) == 1_798_498_800_000


def test_an_edit_of_a_calendar_is_an_edit_of_the_schedules_that_name_it(write: Write) -> None:
    before = schedule(write, "{cron: '@daily', exclude: holidays}", CALENDARS)
    after = schedule(write, "{cron: '@daily', exclude: holidays}", CALENDARS.replace("12-25", "12-23"))
    other = schedule(write, "{cron: '@daily', exclude: holidays}", CALENDARS.replace("05-01", "05-02"))
    assert before.definition_hash == other.definition_hash != after.definition_hash


def problems_of(write: Write, text: str, calendars: str = "") -> list[str]:
    """The faults of one schedule called `a`, beside a good one that must always load."""
    path = write(f"{calendars}schedules:\n  good: {{cron: '@daily'}}\n  a: {text}\n")
    loaded = load(path, {}, {})
    assert "good" in loaded.schedules
    assert ("a" in loaded.schedules) == (not loaded.invalid)
    return [problem.sentence for problem in loaded.invalid]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{every: 90}", "3:7: schedules.a.every: found the number 90; allowed: a duration such as 90m"),
        ("{every: '90'}", "3:7: schedules.a.every: found '90'; allowed are whole numbers of w, d, h, m, s, such as"),
        ("{every: '90'}", "; write every: 90s"),
        ("{every: 1M}", "s, such as 90m or 1h30m; M might mean minutes or months; write a duration such as 1m, or"),
        ("{every: 1.5h}", "3:7: schedules.a.every: found '1.5h'; allowed are whole numbers"),
        ("{every: 0s}", "3:7: schedules.a.every: found '0s'; allowed are 1s to a century"),
        ("{every: 5m, cron: '@daily'}", "3:7: schedules.a.every: cron is given too; give exactly one of cron, every"),
        ("{evry: 5m}", "3:7: schedules.a.evry: unknown key 'evry'; did you mean every?"),
        ("{every: 5m, from: start}", "3:18: schedules.a.from: found the text 'start'; allowed: end"),
        ("{cron: '@daily', from: end}", "3:23: schedules.a.from: goes with every alone; this schedule has cron"),
        ("{every: 5m, anchor: noon}", "3:18: schedules.a.anchor: found 'noon'; write it in ISO 8601; allowed are"),
        ("{every: 5m, days: both}", "3:18: schedules.a.days: goes with cron alone; this schedule has every"),
        ("{rrule: FREQ=DAILY}", "3:3: schedules.a.dtstart: is missing; an rrule needs its first instant; write dtstart"),
        ("{rrule: FREQ=DAILY;BYDAY=MO,TU, dtstart: 2026-01-01T00:00}",
         "3:34: schedules.a.rrule: in braces a comma ends a value: quote the rrule"),
        ("{rrule: FREQ=DALY, dtstart: 2026-01-01T00:00}", "3:7: schedules.a.rrule: FREQ: found 'DALY'; allowed are"),
        ("{cron: '@daily', start: 2026-02-30}", "3:23: schedules.a.start: found '2026-02-30'; there is no such day: 2026-02 has 28 days"),
        ("{cron: '@daily', start: 2026-02-02, end: 2026-02-01}", "3:42: schedules.a.end: found '2026-02-01', which"),
        ("{cron: '@daily', count: 3}", "3:23: schedules.a.count: needs an instant to count from; add start:"),
        ("{cron: '@daily', count: x}", "3:23: schedules.a.count: found the text 'x'; allowed: a whole number from 1"),
        ("{cron: '@daily', jitter: 2d}", "3:23: schedules.a.jitter: found 2 days; allowed are 1s to 1d"),
        ("{cron: '@daily', exclude: [2026-12-25, holiday]}",
         "4:45: schedules.a.exclude: unknown calendar 'holiday'; did you mean holidays? allowed: holidays"),
        ("{cron: '@daily', exclude: 12-25}", "3:32: schedules.a.exclude: found '12-25'; there is no calendar of that"),
        ("{cron: '@daily', exclude: [5]}", "3:33: schedules.a.exclude: found the number 5; allowed: dates 2026-12-25,"),
        ("{cron: '@daily', exclude: ['* 1 * * *']}", "3:33: schedules.a.exclude: found '* 1 * * *'; whole dates are"),
        ("{cron: '@daily', exclude: '@daily'}", "3:23: schedules.a.exclude: no tick is left: all are excluded"),
        ("{cron: '@daily', on_excluded: next_workday}", "3:23: schedules.a.on_excluded: has no effect without exclude"),
        ("{cron: '@daily', catch_up_max: 5}", "3:23: schedules.a.catch_up_max: has no effect without catch_up: all"),
        ("{cron: '@daily', catch_up: skip, catch_up_within: 1h}", "schedules.a.catch_up_within: has no effect with"),
        ("{every: 5m, from: end, overlap: allow}", "3:29: schedules.a.overlap: has no effect with from: end"),
        ("{every: 5m, from: end, catch_up: all}", "3:29: schedules.a.catch_up: has no effect with from: end"),
        ("{cron: '@daily', enabled: no}", "3:23: schedules.a.enabled: found the text 'no'; allowed: true, false"),
    ],
)  # fmt: skip
def test_a_fault_names_its_place_its_key_and_what_to_write(write: Write, text: str, sentence: str) -> None:
    (found,) = problems_of(write, text, "calendars: {holidays: [2026-12-26]}\n" if "holiday" in text else "")
    assert sentence in found


@pytest.mark.parametrize(
    ("calendar", "sentence"),
    [
        ("c: [2026-13-01]", "2:7: calendars.c: found '2026-13-01'; there is no calendar of that name"),
        ("c: {days: [2026-12-25]}", "2:7: calendars.c.days: unknown key 'days'; did you mean dates?"),
        ("c: {dates: 5}", "2:14: calendars.c.dates: found the number 5; allowed: dates"),
        ("c: {ics: none.ics}", "2:12: calendars.c.ics: none.ics: cannot be read: No such file or directory"),
        (
            "c: {ics: bad.ics}",
            "2:12: calendars.c.ics: bad.ics: line 1: a calendar file starts with BEGIN:VCALENDAR",
        ),
        ("2c: [2026-12-25]", "2:3: calendars.2c: a calendar's name is a letter and up to 63"),
    ],
)
def test_a_fault_of_a_calendar_leaves_out_those_that_name_it_and_no_others(
    write: Write, calendar: str, sentence: str
) -> None:
    write("nonsense", "bad.ics")
    name = calendar.partition(":")[0]
    text = f"calendars:\n  {calendar}\nschedules:\n  a: {{cron: '@daily', exclude: {name}}}\n  b: {{cron: '@daily'}}\n"
    path = write(text)
    loaded = load(path, {}, {})
    assert list(loaded.schedules) == ["b"]
    (problem,) = loaded.invalid
    assert f"the calendar '{name}' cannot be used" in problem.sentence
    assert sentence in check(path)[0].sentence


def test_a_calendar_file_is_found_beside_the_configuration_and_its_change_is_a_new_revision(
    write: Write, tmp_path: Path
) -> None:
    event = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:{}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    write(event.format("20261225"), "days.ics")
    path = write(
        "calendars: {c: {ics: days.ics, dates: [2026-12-31]}}\nschedules: {a: {cron: '@daily', exclude: c}}\n"
    )
    loaded = load(str(tmp_path / path), {}, {})
    assert set(loaded.schedules["a"].calendars["c"]) == {"2026-12-25", "2026-12-31"}
    write(event.format("20261224"), "days.ics")
    again = load(str(tmp_path / path), {}, {})
    assert again.revision != loaded.revision
    assert again.schedules["a"].definition_hash != loaded.schedules["a"].definition_hash


def test_thousands_of_schedules_are_read(write: Write) -> None:
    lines = [f'  s{number}: {{cron: "{number % 60} 2 * * *", queue: q}}\n' for number in range(2_000)]
    loaded = load(write("schedules:\n" + "".join(lines)), {}, {})
    assert len(loaded.schedules) == 2_000
    assert loaded.invalid == []
