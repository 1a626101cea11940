"""A fault inside one schedule is its own: the others load, and the file is not refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from oncue.common.config import load
from oncue.common.configtypes import ScheduleConfig
from tests.support.faults import check

Write = Callable[[str], str]


def test_a_broken_schedule_does_not_stop_the_others(write: Write) -> None:
    path = write(
        "schedules:\n"
        '  good: {cron: "* * * * *"}\n'
        '  month: {cron: "0 0 * 13 *"}\n'
        '  zone: {cron: "@daily", timezone: Mars/Base}\n'
    )
    loaded = load(path, {}, {})
    assert list(loaded.schedules) == ["good"]
    assert [(problem.schedule, problem.line, problem.key) for problem in loaded.invalid] == [
        ("month", 3, "schedules.month.cron"),
        ("zone", 4, "schedules.zone.timezone"),
    ]
    assert check(path) == loaded.invalid


def problems_of(write: Write, schedule: str) -> list[str]:
    """The faults of one schedule called `a`, beside a good one that must always load."""
    path = write(f'schedules:\n  good: {{cron: "@daily"}}\n  {schedule}\n')
    loaded = load(path, {}, {})
    assert list(loaded.schedules) in (["good"], ["good", "a"])
    return [problem.sentence for problem in loaded.invalid]


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ("a: {}", "3:3: schedules.a.cron: is missing; allowed: a cron expression in quotes"),
        ("a:", "3:3: schedules.a.cron: is missing"),
        ("a: '@daily'", "3:6: schedules.a: found text; allowed: keys with values"),
        ("a: {cron: 5}", "3:7: schedules.a.cron: found the number 5; allowed: a cron expression in quotes"),
        ("a: {cron: }", "3:7: schedules.a.cron: found nothing; allowed: a cron expression"),
        ("a: {cron: 12:30}", "3:7: schedules.a.cron: "),
        ("a: {cron: no}", "3:7: schedules.a.cron: "),
        ("a: {cron: '0 0\u00a0* * *'}", "schedules.a.cron: found a non-breaking space (U+00A0)"),
        ("a: {cron: 0 0\u00a0* * *}", "schedules.a.cron: found a non-breaking space (U+00A0)"),
        ("a: {cron: 0 0 1,15 * *, queue: q}", "schedules.a.cron: in braces a comma ends a value: quote the"),
        ("a:\n    cron: 0 0 * * 5 #2", "4:5: schedules.a.cron: a blank and '#' start a comment: quote the"),
        ("a:\n    cron: 0 0 * * # x", "a blank and '#' start a comment: quote the cron expression"),
        ("a: {cron: '@daily', queue: 'a b'}", "3:23: schedules.a.queue: 'a b' is not a queue name"),
        ("a: {cron: '@daily', priority: 10}", "schedules.a.priority: found the number 10; allowed: a whole"),
        (
            "a: {cron: '@daily', overlap: no}",
            "schedules.a.overlap: found the text 'no'; allowed: skip, queue,",
        ),
        (
            "a: {cron: '@daily', catch_up: any}",
            "schedules.a.catch_up: found the text 'any'; allowed: latest,",
        ),
        ("a: {cron: '@daily', que: x}", "schedules.a.que: unknown key 'que'; did you mean queue?"),
        ("a: {cron: '@daily', data: [.inf]}", "schedules.a.data.0: found the number .inf, which JSON cannot"),
        (f"a: {{cron: '@daily', data: {{x: {2**64}}}}}", "schedules.a.data.x: found a whole number of more"),
        ("'a b': {cron: '@daily'}", "3:3: schedules.a b: 'a b' is not a schedule's name: use 1 to 128 of"),
    ],
)
def test_a_fault_of_one_schedule_is_its_own(write: Write, schedule: str, sentence: str) -> None:
    found = problems_of(write, schedule)
    assert len(found) == 1
    assert sentence in found[0]


# The documents of category yaml-pitfall, as a person may write them: those that are read, and those that are not.
@pytest.mark.parametrize(
    ("document", "cron"),
    [
        ("cron: &nightly 0 2 * * *", "0 2 * * *"),
        ("cron: 010 0 * * *", "010 0 * * *"),
        ('cron: "0\\t0\\t*\\t*\\t*"', "0\t0\t*\t*\t*"),
        ("cron: '0 0 L * *'", "0 0 L * *"),
        ("cron: 0 0 * * 5L", "0 0 * * 5L"),
        ("cron: 2024-01-01", None),
        ("cron: yes", None),
        ("cron: !!str 5", None),
    ],
)
def test_yaml_pitfalls_are_read_as_meant_or_refused(write: Write, document: str, cron: str | None) -> None:
    loaded = load(write(f"schedules:\n  a:\n    {document}\n"), {}, {})
    assert (loaded.schedules["a"].cron if "a" in loaded.schedules else None) == cron
    assert [problem.line for problem in loaded.invalid] == ([] if cron else [3])


def test_data_may_be_as_large_as_a_task_allows_and_no_larger(write: Write) -> None:
    path = write("max_data_bytes: 7\nschedules:\n  a: {cron: '@daily', data: [1, 2, 3]}\n")
    assert load(path, {}, {}).schedules["a"].data == [1, 2, 3]
    (problem,) = load(path, {"ONCUE_MAX_DATA_BYTES": "6"}, {}).invalid
    assert problem.message == "found 7 bytes of JSON; allowed: 6 (max_data_bytes)"


def test_a_schedule_without_a_zone_or_queue_takes_the_defaults(write: Write) -> None:
    loaded = load(write("schedules:\n  a: {cron: '@daily'}\n"), {"ONCUE_TIMEZONE": "Asia/Tokyo"}, {})
    assert loaded.schedules["a"] == ScheduleConfig("a", "@daily", "Asia/Tokyo", "default", None, line=2)


def test_the_definition_hash_changes_with_ticks_and_tasks_alone() -> None:
    one = ScheduleConfig("a", "0 2 * * *", "UTC", "q", {"x": 1, "y": 2}, line=3)
    assert replace(one, line=9).definition_hash == one.definition_hash
    assert replace(one, data={"y": 2, "x": 1}).definition_hash == one.definition_hash
    assert replace(one, cron="0  2 * * *").definition_hash == one.definition_hash
    changed = [
        {"cron": "0 3 * * *"},
        {"timezone": "Asia/Tokyo"},
        {"queue": "r"},
        {"data": None},
        {"priority": 6},
    ]
    assert len({replace(one, **change).definition_hash for change in changed} | {one.definition_hash}) == 6  # type: ignore[arg-type]


def test_the_definition_hash_stays_the_same_over_releases() -> None:
    # A new value would make every deployed schedule look edited.
    one = ScheduleConfig("a", "0 2 * * *", "UTC", "q", {"x": 1, "ü": [None, True]})
    assert one.definition_hash == "a63ebe3d6e508ecb3ed193f6c993ec6a"


def test_each_setting_of_a_schedule_enters_the_definition_hash_once_it_is_not_the_default() -> None:
    one = ScheduleConfig("a", "0 2 * * *", "UTC", "q", None)
    changes: list[dict[str, object]] = [
        {"cron": None, "every_s": 60.0},
        {"anchor": "2026-01-01"},
        {"from_end": True},
        {"rrule": "FREQ=DAILY"},
        {"dtstart": "2026-01-01T00:00"},
        {"days": "both"},
        {"gap": "skip"},
        {"jitter_s": 1.0},
        {"start": "2026-01-01"},
        {"end": "2026-01-01"},
        {"count": 3},
        {"exclude": ("2026-01-01",)},
        {"on_excluded": "next_workday"},
        {"calendars": {"x": ("2026-01-01",)}},
        {"enabled": False},
        {"catch_up": "all"},
        {"catch_up_max": 5},
        {"catch_up_within_s": 5.0},
        {"overlap": "allow"},
    ]
    hashes = {replace(one, **change).definition_hash for change in changes}  # type: ignore[arg-type]
    assert len(hashes | {one.definition_hash}) == len(changes) + 1


@pytest.mark.parametrize(
    ("schedule", "line"),
    [
        ("a: {cron: 5}", 'write a line such as cron: "30 2 * * *"'),
        ("a: '@daily'", 'write {cron: "@daily"}'),
        ("a: {every: 90}", "write every: 90s"),
        ("a: {cron: '0 0 * *'}", 'write cron: "0 0 * * *"'),
        (
            "a: {cron: '0 0 1 1 * 2026 *'}",
            'there is no year field: leave it out; write a line such as cron: "30 2 * * *"',
        ),
        ("a: {cron: '0 0 * 13 *'}", 'write a line such as cron: "0 0 * 12 *"'),
        ("a: {cron: '0 0 * * fri,5-1'}", 'write cron: "0 0 * * fri,5-6,0-1"'),
        ("a: {cron: '0 0 * * mon,MONDAY'}", 'write cron: "0 0 * * mon,mon"'),
        ("a: {cron: '0 0 31 2 *'}", 'write cron: "0 0 L 2 *"'),
        ("a: {cron: '0 9-25 * * *'}", '25 is none of them; write a line such as cron: "30 2 * * *"'),
        ("a: {cron: 0 0 1,15 * *}", 'quote the cron expression; write cron: "0 0 1,15 * *"'),
        ("a: {}", 'write a line such as cron: "30 2 * * *"'),
        ("a: {cron: '61 0 * * *'}", 'write a line such as cron: "59 0 * * *"'),
        ("a: {cron: '60 0 * * *'}", 'write a line such as cron: "0 0 * * *"'),
        ("a: {cron: '@daily', priority: '7'}", "write priority: 7"),
        ("a: {cron: '@daily', priority: high}", "write a line such as priority: 5"),
        ("a: {cron: '@daily', enabled: off}", "write enabled: false"),
        ("a: {cron: '@daily', overlap: quue}", "write overlap: queue"),
        ("a: {cron: '@daily', catch_up: 1}", "write a line such as catch_up: latest"),
        ("a: {cron: '@daily', queue: 7}", "write a line such as queue: reports"),
        ("a: {every: 5m, from: start}", "allowed: end; remove it for anything else"),
    ],
)
def test_a_fault_of_a_schedule_says_what_to_write_instead(write: Write, schedule: str, line: str) -> None:
    (found,) = problems_of(write, schedule)
    assert found.endswith(line)
