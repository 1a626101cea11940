"""A line that a fault says to write is taken, is another one than was written, and means the same; else it is none."""

import json
import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from oncue.common import zonenames
from oncue.common.configkeys import SETTINGS
from tests.support.faults import check

RRULE = "dtstart: 2026-01-05T09:00"
SLIPS: dict[str, tuple[str, ...]] = {
    "cron": (
        *(
            "bogus",
            "every day at 5",
            "rate(5 minutes)",
            "9:30",
            "monday-friday",
            "0-60",
            "1 \u2013 5",
            "1 to 5",
        ),
        *(
            "0 0 * * monday-friday",
            "0 0 * * thurs-sat",
            "0 0 * * fridays",
            "0-60 * * * *",
            "H(50-70) * * * *",
        ),
        *("1-100/5 * * * *", "0 0 0W * *", "0 0 * * fri#2-3", "0 0 * * 1#9", "0 9-25 * * *", "0 25 * * *"),
        *("0 0 * * 1-5 2027", "0 0 1 1 2027", "0 0 0 1 1 * 2027", "0 0 1 1 * 2026 *", "0 12 * * ? *"),
        *("0 0 12 ? * 2-6 *", "0 0 12 ? * mon-fri *", "*/5 * * * * PGPASSWORD=hunter2 pg_dump", "@weekdays"),
        *(
            "*/5 * * * * /usr/bin/backup",
            "0 0 * * 1 to 5",
            "@biweekly",
            "@dayly",
            "@every 5M",
            "5M",
            "5",
            "0 0 * *",
        ),
        *("*5 * * * *", "0 0 31 2 *", "0 22-2 * * *", "0 9\u201317 * * *", "? * * * *"),
    ),
    "every": ("2M", "5 M", "1M30s", "90", "5 min", "0", "P1M", "1.5h"),
    "rrule": (
        *("FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2", "FREQ=DAILY;UNTIL=20200101", "FREQ=DAILY;INTERVAL=-2"),
        *(
            "FREQ=DAILY;INTERVAL=1.5",
            "FREQ=DAILY;INTERVAL=two",
            "FREQ=YEARLY;BYEASTER=0",
            "FREQ=WEEKLY;WEEKDAY=FR",
        ),
        *("FREQ=DAILY;RSCALE=GREGORIAN", "FREQ=WEEKLY;BYDAY=MO-FR,SU", "FREQ=DAILY;BYHOUR=9,10-17"),
        *(
            "FREQ=WEEKLY;BYDAY=MO,XX",
            "FREQ=BIWEEKLY",
            "FREQ=SECONDLY;INTERVAL=30",
            "FREQ=DALY",
            "freq=daily;byhour=25",
        ),
        *("FREQ=DAILY;TZID=Europe/Berlin", "FREQ=DAILY\nRDATE:20260301T090000", "FREQ=DAILY\nSUMMARY:Backup"),
        *("DTSTART;TZID=Europe/Berlin:20260105T090000\nFREQ=DAILY", "DTSTART:20260106T090000\nFREQ=DAILY"),
        *(
            "FREQ=HOURLY\nEXDATE:20260301T090000",
            "FREQ=DAILY\nEXDATE:20260301T100000",
            "FREQ=DAILY;BYHOUR=10\nEXDATE:20260301T090000",
            "FREQ=DAILY\nEXDATE;TZID=Asia/Tokyo:20260301T090000",
            "FREQ=DAILY;BYHOUR=9,9-11",
            "FREQ=DAILY\nEXDATE:20260301T090000\nEXDATE:20260302T090000",
        ),
    ),
    "start": ("2026-02-30", "5.1.2026", "tomorrow", "2026-01-05 9:00"),
    "dtstart": ("2026-01-05", "5.1.2026", "2026-1-5 9:00", "noon"),
    "from": ("start", "ends", "END"),
    "timezone": ("Etc/UTC+2", "Etc/GMT+02", "UTC-13", "Europe/Berln", "CET+1", "est5edt"),
    "exclude": ("2026-02-30", "holiday", "* * 25 13 *", "30 9 25 12 *"),
}
BESIDE = {"rrule": RRULE, "every": "", "cron": "", "dtstart": "rrule: FREQ=DAILY", "from": "every: 1h"}
WORDS = (
    *(
        "*",
        "0",
        "5",
        "25",
        "60",
        "2027",
        "1-5",
        "5-1",
        "9-25",
        "*/5",
        "1-100/5",
        "mon",
        "monday",
        "fri-mon",
        "sept",
    ),
    *(
        "L",
        "0W",
        "32W",
        "1#9",
        "fri#2-3",
        "?",
        "H(50-70)",
        "H(9-3)",
        "R",
        "to",
        "at",
        "\u2013",
        "5M",
        "@every",
        "1,,2",
    ),
    *(
        "L-3",
        "thurs-sat",
        "0 0",
        "PGPASSWORD=hunter2",
        "/bin/x",
        "#",
        "daily",
        "13",
        "jan-13",
        "5min",
        "*5",
        "8,9",
    ),
)


def faults(folder: Path, schedules: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The faults of each schedule, which is given by its lines."""
    lines = [f"  {name}:\n" + "".join(f"    {line}\n" for line in given) for name, given in schedules.items()]
    (folder / "oncue.yaml").write_text("schedules:\n" + "".join(lines), encoding="utf-8")
    found: dict[str, list[str]] = {name: [] for name in schedules}
    for problem in check(str(folder / "oncue.yaml")):
        found[problem.schedule].append(problem.message)
    return found


def lines_of(key: str, value: str) -> list[str]:
    beside = BESIDE.get(key, "cron: '@daily'")
    return [f"{key}: {json.dumps(value)}", *([beside] if beside else [])]


def told(folder: Path, key: str, value: str) -> str:
    (fault,) = faults(folder, {"a": lines_of(key, value)})["a"]
    return fault


def promised(key: str, message: str) -> list[str]:
    """The lines to write, unless they are called an example."""
    found = re.search(rf"[;,] write ({key}: .*)", message)
    return found[1].split(" and ") if found else []


def assert_kept(folder: Path, given: list[tuple[str, str]]) -> int:
    """Each promise of a line for one of these keys and values is kept; the number of promises."""
    schedules = {f"s{at}": lines_of(key, value) for at, (key, value) in enumerate(given)}
    mended: dict[str, list[str]] = {}
    for name, messages in faults(folder, schedules).items():
        key, value = given[int(name[1:])]
        for message in messages:
            if lines := promised(key, message):
                assert lines[0] not in (f"{key}: {value}", f"{key}: {json.dumps(value)}"), message
                mended[name] = [*lines, *schedules[name][1:]]
    assert {name: found for name, found in faults(folder, mended).items() if found} == {}
    return len(mended)


def test_a_line_that_is_told_is_another_one_and_is_taken(tmp_path: Path) -> None:
    assert assert_kept(tmp_path, [(key, value) for key, values in SLIPS.items() for value in values]) > 20


def test_no_mixture_of_slips_is_mended_into_another_one(tmp_path: Path) -> None:
    chosen = random.Random(7)
    pairs = [("*", word) for word in WORDS]
    mixed = [
        " ".join(map(chosen.choice, chosen.choices(pairs, k=chosen.choice((1, 2, 4, 5, 5, 5, 6, 7)))))
        for _ in range(600)
    ]
    assert assert_kept(tmp_path, [("cron", text) for text in mixed]) > 5


@pytest.mark.parametrize(
    ("key", "value", "end"),
    [
        ("cron", "0 0 * * monday-friday", '; write cron: "0 0 * * mon-fri"'),
        ("cron", "0 0 * * thurs-sat", '; write cron: "0 0 * * thu-sat"'),
        ("cron", "@weekdays", '; write cron: "0 0 * * 1-5"'),
        ("cron", "0 0 12 ? * mon-fri *", '; write cron: "0 0 12 ? * mon-fri"'),
        ("cron", "*/5 * * * * PGPASSWORD=hunter2 pg_dump", '; write cron: "*/5 * * * *"'),
        ("cron", "@daily pg_dump --password=hunter2", '; write cron: "@daily"'),
        ("cron", "*/5 * * * * /usr/bin/backup", 'under command; write cron: "*/5 * * * *"'),
        ("rrule", "FREQ=WEEKLY;BYDAY=MO-FR,SU", '; write rrule: "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SU"'),
        ("rrule", "FREQ=DAILY;BYHOUR=9,14-16", '; write rrule: "FREQ=DAILY;BYHOUR=9,14,15,16"'),
        ("rrule", "FREQ=SECONDLY;INTERVAL=30", "; write every: 30s, with anchor for dtstart"),
        ("rrule", "FREQ=SECONDLY;BYHOUR=9", "; write a cron expression with seconds first"),
        (
            "rrule",
            "FREQ=DAILY\nEXDATE:20260301T090000\nEXDATE:20260302T090000",
            '; write rrule: "FREQ=DAILY" and exclude: [2026-03-01, 2026-03-02]',
        ),
        (
            "rrule",
            "FREQ=DAILY;BYHOUR=10\nEXDATE:20260301T100000",
            '; write rrule: "FREQ=DAILY;BYHOUR=10" and exclude: [2026-03-01]',
        ),
        ("rrule", "FREQ=DAILY;BYHOUR=9,9-11", '; write rrule: "FREQ=DAILY;BYHOUR=9,10,11"'),
        (
            "dtstart",
            "2026-01-05",
            "too; allowed are 2026-12-24T09:00 (local time of the zone) and 2026-12-24T09:00+01:00; write a line such"
            + " as dtstart: 2026-01-05T09:00",
        ),
        ("dtstart", "5.1.2026", "; write a line such as dtstart: 2026-01-05T09:00"),
        ("from", "start", "; allowed: end; remove it for anything else"),
        ("timezone", "Etc/UTC+2", "2 hours ahead of UTC, all year round; write timezone: Etc/GMT-2"),
        ("timezone", "UTC-13", "; write the name of a place in the zone, as the IANA time zone database has it"),
        ("timezone", "est5edt", "; write timezone: EST5EDT"),
    ],
)  # fmt: skip
def test_a_line_means_what_was_written(tmp_path: Path, key: str, value: str, end: str) -> None:
    message = told(tmp_path, key, value)
    assert message.endswith(end)
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("cron", "0 0 * * 1-5 2027", "2027 is a year, and there is no year field"),
        ("cron", "0 0 1 1 2027", "2027 is a year"),
        ("cron", "0 0 0 1 1 * 2027", "which means every year, unless start: and end: beside it say which"),
        ("cron", "0 0 1 1 * 2026 *", "there is no year field"),
        ("cron", "0 0 12 ? * 2-6 *", "there is no year field"),
        ("cron", "0 12 * * ? *", "is there a year?"),
        ("cron", "0 9-25 * * *", "25 is none of them"),
        ("cron", "0-60 * * * *", "60 is none of them"),
        ("cron", "H(50-70) * * * *", "70 is none of them"),
        ("cron", "0 0 0W * *", "0 is none of them"),
        ("cron", "0 0 * * fri#2-3", "the number after # is 1 to 5"),
        ("cron", "bogus", "found 1 field"),
        ("cron", "every day at 5", "found 4 fields"),
        ("cron", "rate(5 minutes)", "found 2 fields"),
        ("cron", "1 to 5", "found 3 fields"),
        ("cron", "1 \u2013 5", "found en dash"),
        ("cron", "5", "found 1 field"),
        ("cron", "0 0 * * 1 to 5", "found 7 fields"),
        ("timezone", "UTC-13", "zones reach from 12 hours behind UTC to 14 hours ahead"),
        ("cron", "@biweekly", "found '@biweekly'"),
        ("cron", "@daily UTC", "found @daily with more behind it; allowed is @daily alone"),
        ("rrule", "FREQ=DAILY;INTERVAL=-2", "INTERVAL: found '-2'"),
        ("rrule", "FREQ=DAILY;INTERVAL=1.5", "INTERVAL: found '1.5'"),
        ("rrule", "FREQ=DAILY;INTERVAL=two", "INTERVAL: found 'TWO'"),
        ("rrule", "FREQ=YEARLY;BYEASTER=0", "found 'BYEASTER'"),
        ("rrule", "FREQ=WEEKLY;WEEKDAY=FR", "found 'WEEKDAY'"),
        ("rrule", "FREQ=DAILY;RSCALE=GREGORIAN", "found 'RSCALE'"),
        ("rrule", "FREQ=WEEKLY;BYDAY=MO,XX", "BYDAY: found 'XX'"),
        ("rrule", "FREQ=BIWEEKLY", "FREQ: found 'BIWEEKLY'"),
        ("rrule", "FREQ=DAILY;TZID=Europe/Berlin", "found TZID"),
        ("rrule", "FREQ=DAILY\nRDATE:20260301T090000", "found RDATE"),
        ("rrule", "FREQ=HOURLY\nEXDATE:20260301T090000", "found EXDATE"),
        ("rrule", "FREQ=DAILY\nEXDATE:20260301T100000", "found EXDATE"),
        ("rrule", "FREQ=DAILY;BYHOUR=10\nEXDATE:20260301T090000", "found EXDATE"),
        ("rrule", "FREQ=DAILY\nEXDATE;TZID=Asia/Tokyo:20260301T090000", "found EXDATE"),
        ("rrule", "DTSTART:20260106T090000\nFREQ=DAILY", "found DTSTART"),
    ],
)
def test_what_may_mean_anything_is_told_without_a_line_of_its_own(
    tmp_path: Path, key: str, value: str, says: str
) -> None:
    message = told(tmp_path, key, value)
    assert says in message
    assert promised(key, message) == []
    assert not re.search(r"[;,] write (?!a line such as |the dates under |the name of )", message)


@pytest.mark.parametrize(
    ("cron", "line"),
    [
        ("0 25 * * *", "0 23 * * *"),
        ("0 0 * 13 *", "0 0 * 12 *"),
        ("0 24 * * *", "0 0 * * *"),
        ("0 0 * * 1#9", "0 0 * * 1L"),
        ("0 0 * * fri#6,mon", "0 0 * * friL,mon"),
    ],
)
def test_the_value_that_is_nearest_is_called_an_example(tmp_path: Path, cron: str, line: str) -> None:
    assert told(tmp_path, "cron", cron).endswith(f'; write a line such as cron: "{line}"')


@pytest.mark.parametrize(("key", "value"), [("every", "2M"), ("cron", "@every 2M"), ("jitter", "2M")])
def test_of_minutes_and_months_none_is_preferred(tmp_path: Path, key: str, value: str) -> None:
    line = 'write a duration such as 2m, or for months a rule such as rrule: "FREQ=MONTHLY;INTERVAL=2"'
    assert told(tmp_path, key, value).endswith(f"; M might mean minutes or months; {line}")


def test_a_rule_with_its_own_zone_is_told_beside_the_keys_that_are_there(tmp_path: Path) -> None:
    head = json.dumps("DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=DAILY")
    zones = {"Europe/Berlin": 'write rrule: "FREQ=DAILY"', "Asia/Tokyo": "write a line such as rrule: "}
    for zone, line in zones.items():
        lines = [f"rrule: {head}", "dtstart: 2026-01-05T09:00", f"timezone: {zone}"]
        (message,) = faults(tmp_path, {"a": lines})["a"]
        assert f"; {line}" in message
        assert "dtstart: 2026" not in message


@pytest.mark.parametrize(
    ("exclude", "line"),
    [
        ("25.12.2026, 2026-02-30, '* * 1 1 *'", 'exclude: [2026-12-25, 2026-02-28, "* * 1 1 *"]'),
        ("25.12.2026, someday", "2026-12-25 instead"),
    ],
)
def test_of_several_excluded_dates_one_line_mends_all(tmp_path: Path, exclude: str, line: str) -> None:
    messages = faults(tmp_path, {"a": ["cron: '@daily'", f"exclude: [{exclude}]"]})["a"]
    assert len(messages) == 2
    assert messages[0].endswith(f"; write {line}")


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        (
            ["rrule: FREQ=DAYLY", "dtstart: 2026-02-30", "start: 2026-02-30", "exclude: [2026-02-30]"],
            ["rrule", "dtstart", "start", "exclude"],
        ),
        (["every: 1h", "start: bad", "end: bad", "anchor: bad"], ["start", "end", "anchor"]),
        (["cron: '0 25 * * *'", "exclude: [bad day]"], ["cron", "exclude"]),
        (["cron: 0 0 * * mun", "count: 0"], ["cron", "count"]),
        (["every: 1h", "command: []", "env: {A-: x}"], ["command", "env.A-"]),
        (["cron: '@daily'", "every: 1h"], ["every"]),
        (["{cron: 0 0 1,15 * *}"], ["cron"]),
    ],
)
def test_every_fault_is_told_at_once_and_once(tmp_path: Path, lines: list[str], keys: list[str]) -> None:
    (tmp_path / "oncue.yaml").write_text("schedules:\n  a:\n    " + "\n    ".join(lines) + "\n")
    found = [problem.key.removeprefix("schedules.a.") for problem in check(str(tmp_path / "oncue.yaml"))]
    assert sorted(found) == sorted(keys)


@pytest.mark.parametrize(
    "schedule",
    [
        "command: [x], env: {PGPASSWORD: 727272}",
        "http: {url: 'http://h/'}",
        "http: {url: 'http://h/', headers: {X-Token: 727272}}",
        "command: mysqldump -p727272 shop",
        "command: mysqldump -p727272 shop | gzip > $HOME/x",
        "command: [mysqldump, -p, 727272]",
        "command: [mysqldump, -p727272], shell: true",
        "command: 727272, shell: true",
        "http: 'https://x/?token=727272'",
        "http: {url: 'ftp://u:727272@x/'}",
        "http: {url: 'https://u:727272@x/'}",
    ],
)
def test_what_may_be_a_secret_is_never_shown(tmp_path: Path, schedule: str) -> None:
    (tmp_path / "oncue.yaml").write_text(f"schedules: {{a: {{every: 1h, {schedule}}}}}\n")
    problems = check(str(tmp_path / "oncue.yaml"))
    assert bool(problems) is ("7272" in schedule)
    assert not any("7272" in problem.sentence for problem in problems)


@pytest.mark.parametrize(
    "value", ["'https://u:727272@x/'", "['ftp://u:727272@x/']", "['https://h?t=727272']"]
)
def test_what_may_be_called_is_refused_without_the_secret_in_it(tmp_path: Path, value: str) -> None:
    (tmp_path / "oncue.yaml").write_text(f"allow_http: {value}\n")
    (problem,) = check(str(tmp_path / "oncue.yaml"))
    assert "7272" not in problem.sentence
    assert SETTINGS["allow_http"].secret


def test_a_place_of_a_secret_that_is_misspelt_is_told_as_one(tmp_path: Path) -> None:
    (message,) = faults(tmp_path, {"a": ["every: 1h", "command: [x]", "env: {PW: {fil: /x}}"]})["a"]
    assert message.endswith("allowed: text, {file: PATH} or {env: NAME}; write {file: PATH}")


def test_a_misspelt_zone_is_compared_once_and_of_many_only_the_first_of_each_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compared: list[str] = []

    def close_to(text: str) -> str:
        compared.append(text)
        return "did you mean UTC?"

    monkeypatch.setattr(zonenames, "_close_to", close_to)
    same = faults(tmp_path, {f"s{at}": ["every: 1h", "timezone: Mars/Base"] for at in range(100)})
    assert compared == ["mars/base"]
    assert all(messages[0].endswith("; write timezone: UTC") for messages in same.values())
    for _ in range(2):
        faults(tmp_path, {f"s{at}": ["every: 1h", f"timezone: Mars/Base{at}"] for at in range(1, 30)})
        faults(tmp_path, {f"s{at}": ["every: 1h", f"timezone: Mars/Base{at}"] for at in range(1, 100)})
    assert len(compared) == 1 + 2 * (29 + 48)


def test_a_misspelt_zone_is_told_though_another_thread_begins_a_file_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Shared(dict[str, str]):
        def __setitem__(self, text: str, found: str) -> None:
            super().__setitem__(text, found)
            zonenames.begin_file()

    monkeypatch.setattr(zonenames, "_compared", Shared())
    assert zonenames.advice("Europe/Berln") == "did you mean Europe/Berlin?"
