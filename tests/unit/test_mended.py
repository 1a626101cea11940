"""Each fault that a key of the file can have comes with a line that can be written instead, and that is taken."""

from pathlib import Path

import pytest

from oncue.common.configkeys import EXAMPLES, HTTP, QUEUE, RETRY, SCHEDULE, SETTINGS, WORK
from tests.support.faults import check

WRONG = (
    "",
    "[{}]",
    "{x: [5]}",
    "-5",
    "true",
    "x",
    "'a b!'",
    "5s5",
    "12345678901234567890",
    "'\\uD800'",
    "2d",
)
"""Most keys take none of them; each takes not all."""

BESIDE = {
    "cron": "",
    "every": "",
    "rrule": "dtstart: 2026-01-05T09:00, ",
    "anchor": "every: 5m, ",
    "from": "every: 5m, ",
    "dtstart": "rrule: FREQ=DAILY, ",
    "count": "cron: '@daily', start: 2026-01-05, ",
    "on_excluded": "cron: '@daily', exclude: 2026-12-25, ",
    "catch_up_max": "cron: '@daily', catch_up: all, ",
    "retry": "cron: '@daily', ",
    "exclude": "cron: '@daily', ",
    "command": "cron: '@daily', ",
    "http": "cron: '@daily', ",
}
"""What a key of a schedule does not go without, or does not go with `cron`."""

RUNS = "cron: '@daily', command: [/usr/bin/true], "
CALLS = "cron: '@daily', http: {"


def places() -> dict[str, str]:
    """Every key by its dotted name, with the document around it."""
    found = dict.fromkeys(SETTINGS, "LINE")
    found |= dict.fromkeys(("queues", "schedules", "calendars"), "LINE")
    found |= {f"queues.q.{key}": "queues: {q: {LINE}}" for key in (*QUEUE, "retry")}
    found |= {f"queues.q.retry.{key}": "queues: {q: {retry: {LINE}}}" for key in RETRY}
    found |= {f"calendars.c.{key}": "calendars: {c: {LINE}}" for key in ("dates", "ics")}
    for key in (*SCHEDULE, "retry", "exclude", "command", "http"):
        beside = BESIDE.get(key, "cron: '@daily', ")
        found[f"schedules.s.{key}"] = f"schedules: {{s: {{{beside}LINE}}}}"
    found |= {f"schedules.s.{key}": f"schedules: {{s: {{{RUNS}LINE}}}}" for key in (*WORK, "env")}
    found["schedules.s.shell"] = "schedules: {s: {cron: '@daily', command: ls | wc, LINE}}"
    found |= {f"schedules.s.retry.{key}": "schedules: {s: {cron: '@daily', retry: {LINE}}}" for key in RETRY}
    url = "url: http://h/x, "
    for key in (*HTTP, "headers"):
        found[f"schedules.s.http.{key}"] = f"schedules: {{s: {{{CALLS}{'' if key == 'url' else url}LINE}}}}}}"
    return found


def sentences(folder: Path, text: str) -> list[str]:
    (folder / "oncue.yaml").write_text(text + "\n", encoding="utf-8")
    (folder / "holidays.ics").write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    return [problem.sentence for problem in check(str(folder / "oncue.yaml"))]


@pytest.mark.parametrize("name", places())
def test_every_key_with_a_wrong_value_is_answered_with_a_line_that_can_be_used(
    name: str, tmp_path: Path
) -> None:
    around, key, asked = places()[name], name.rpartition(".")[2], 0
    for value in WRONG:
        for sentence in sentences(tmp_path, around.replace("LINE", f"{key}: {value}")):
            if f": {name}: " not in sentence:
                continue
            asked += 1
            advice, _, line = sentence.rpartition("; write ")
            line = line.removeprefix("a line such as ")
            if line.startswith(f"{key}: "):
                assert sentences(tmp_path, around.replace("LINE", line)) == [], sentence
            else:
                assert advice or "; remove it" in sentence or "cannot be read" in sentence, sentence
    assert asked >= 2, "each key refuses some of them"


def test_every_key_has_been_asked() -> None:
    asked = {name.rpartition(".")[2] for name in places()}
    assert asked == {*SETTINGS, *QUEUE, *RETRY, *SCHEDULE, *WORK, *HTTP, *EXAMPLES}


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ("5", 'write a line such as schedules: {nightly: {cron: "30 2 * * *"}}'),
        ("queues: {q: 5}", "write {weight: 2}"),
        ("queues: {a b: {}}", "write a_b"),
        ("queues: {'!': {}}", "write queue"),
        ("calendars: {2c: [2026-12-25]}", "write days_2c"),
        ("calendars: {c: [noon]}", "write a line such as [2026-12-25]"),
        ("schedules: {a b: {cron: '@daily'}}", "write a_b"),
        ("queues: {q: {retry: {first_s: 9, max_s: 3}}}", "write max_s: 9"),
        (
            "timezone: Mars/Base",
            "write the name of a place in the zone, as the IANA time zone database has it",
        ),
        ("timezone: GMT+2", "Etc/GMT-2 is 2 hours ahead of UTC, all year round; write timezone: Etc/GMT-2"),
        ("timezone: IST", "Asia/Kolkata, Europe/Dublin and Asia/Jerusalem; write one of these"),
        ("timezone: Europe/Berln", "write timezone: Europe/Berlin"),
        ("allow_http: 'no'", "write allow_http: false"),
        (
            "calendars: {c: [2026-12-25]}\nschedules: {a: {every: 1h, exclude: Mars}}",
            "write a line such as exclude: [c]",
        ),
        ("schedules: {a: {every: 90x}}", "write a line such as every: 90m"),
        ("schedules: {a: {every: 7d, jitter: 2d}}", "write a line such as jitter: 90m"),
        ("schedules: {a: {every: 1h, timezone: PST}}", "write timezone: America/Los_Angeles"),
        ("schedules: {a: {every: 1h, command: ls, shell: 1}}", "write shell: true"),
        (
            "schedules: {a: {every: 1h, command: [ls], shell: true}}",
            'write a line such as command: "ls | wc -l", or remove shell',
        ),
        (
            "schedules: {a: {every: 1h, command: [ls], env: {A-: b}}}",
            "write A",
        ),
        ("schedules: {a: {every: 1h, command: [ls], env: {A: }}}", 'write "text"'),
        ("schedules: {a: {every: 1h, http: {url: 'http://h/', method: pots}}}", "write method: POST"),
        (
            "schedules: {a: {every: 1h, http: {url: 'http://h/', method: FETCH}}}",
            "write a line such as method: GET",
        ),
    ],
)
def test_a_fault_says_what_to_write_instead(tmp_path: Path, document: str, line: str) -> None:
    (found,) = sentences(tmp_path, document)
    assert found.endswith(line)


SLIPS = (
    ("timezon: Europe/Berlin", "write timezone: Europe/Berlin"),
    ("timezon: 'Europe/Berlin'", "write timezone: Europe/Berlin"),
    ("timezon: Mars", "write a line such as timezone: Europe/Berlin"),
    ("timezon: GMT+2", "write timezone: Etc/GMT-2"),
    ("namespce: 'true'", 'write namespace: "true"'),
    ("queues: {q: {wait: 3}}", "write weight: 3"),
    ("queues: {q: {retry: {max_attempt: 3}}}", "write max_attempts: 3"),
    ("calendars: {c: {days: [2026-12-25, '* * 1 1 *']}}", 'write dates: [2026-12-25, "* * 1 1 *"]'),
    ("schedules: {a: {crn: '@daily'}}", 'write cron: "@daily"'),
    ("schedules: {a: {cron: '@daily', overlp: quue}}", "write overlap: queue"),
    ("schedules: {a: {cron: '@daily', retri: {max_attempts: 2}}}", "write retry: {max_attempts: 2}"),
    ("schedules: {a: {cron: '@daily', enable: off}}", "write enabled: false"),
)
"""A misspelt key in its document, and the end of its fault."""


@pytest.mark.parametrize(("document", "line"), SLIPS)
def test_a_misspelt_key_is_told_with_a_line_that_can_be_used(
    tmp_path: Path, document: str, line: str
) -> None:
    (found,) = sentences(tmp_path, document)
    assert found.endswith(line)
    slip = found.partition("unknown key '")[2].partition("'")[0]
    before, _, after = document.partition(slip + ": ")
    value = after.rstrip("}") if "{" not in after.rstrip("}") else after.rstrip("}") + "}"
    assert (
        sentences(
            tmp_path,
            before + line.removeprefix("write ").removeprefix("a line such as ") + after.removeprefix(value),
        )
        == []
    )


@pytest.mark.parametrize(
    "document",
    [
        "pasword: hunter2",
        "urll: redis://:hunter2@h/0",
        "schedule: {a: {cron: '@daily', command: [x, hunter2]}}",
        "schedules: {a: {cron: '@daily', datta: {token: hunter2}}}",
        "schedules: {a: {cron: '@daily', command: [x], envv: {TOKEN: hunter2}}}",
        "schedules: {a: {cron: '@daily', http: {url: 'http://h/', boddy: hunter2}}}",
    ],
)
def test_what_may_be_a_secret_is_not_shown_behind_the_key_that_was_meant(
    tmp_path: Path, document: str
) -> None:
    (found,) = sentences(tmp_path, document)
    assert "hunter2" not in found
    assert found.endswith(": ... (what stands behind it can stay)")


def test_of_a_section_under_a_misspelt_key_only_the_key_is_written_anew(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, "schedule:\n  a: {cron: '@daily'}")
    assert found.endswith("write schedules: (what stands below it can stay)")


def test_a_misspelt_key_beside_the_right_one_is_to_be_removed(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, "schedules: {a: {cron: '@daily', cronn: '@daily'}}")
    assert found.endswith("remove cronn, since cron is there")


@pytest.mark.parametrize(
    ("schedule", "what"),
    [
        ("cron: '@daily', catch_up_max: 5", "write that beside it, or remove it"),
        ("cron: '@daily', catch_up: skip, catch_up_within: 1h", "remove it"),
        ("every: 5m, from: end, overlap: allow", "remove it"),
        ("every: 5m, from: end, catch_up: all", "write catch_up: latest"),
        ("every: 5m, from: end, anchor: 2026-01-01", "remove it"),
        ("cron: '@daily', anchor: 2026-01-01", "remove it"),
        ("cron: '@daily', every: 5m", "remove the others"),
        ("cron: '@daily', on_excluded: next_workday", "write exclude: [2026-12-25] beside it, or remove it"),
        ("cron: '@daily', start: 2026-02-02, end: 2026-02-01", "write a later one, or remove it"),
        ("cron: '@daily', exclude: '@daily'", "remove what excludes too much, or write another start or end"),
        ("cron: '@daily', shell: true", "remove it"),
        ("cron: '@daily', timeout_s: 3", "remove it"),
        ("cron: '@daily', command: [x], data: 5", "remove it"),
        ("cron: '@daily', command: [x], http: {url: 'http://h/'}", "remove one of them"),
    ],
)
def test_a_key_without_effect_is_told_with_what_to_do(tmp_path: Path, schedule: str, what: str) -> None:
    (found,) = sentences(tmp_path, f"schedules: {{a: {{{schedule}}}}}")
    assert found.endswith(f"; {what}")


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (
            "none.ics",
            "put the file there, at {folder}/none.ics, or write ics: with its path from the folder of this file",
        ),
        ("none/holidays.ics", "there is no folder {folder}/none: paths count from the folder of this file"),
        (".", "this is a folder: write the name of a file in it, as in ics: holidays.ics"),
        ("oncue.yaml", "a calendar file starts with BEGIN:VCALENDAR; export it anew as iCalendar (.ics)"),
        ("cut.ics", "is it complete? Export it anew"),
    ],
)
def test_a_calendar_file_that_cannot_be_read_is_told_with_what_to_do(
    tmp_path: Path, path: str, what: str
) -> None:
    (tmp_path / "cut.ics").write_text("BEGIN:VCALENDAR\nBEGIN:VEVENT\n")
    (found,) = sentences(tmp_path, f"calendars: {{c: {{ics: {path}}}}}")
    assert found.endswith(what.format(folder=tmp_path))


def test_a_fault_is_one_line_whatever_a_key_holds(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, 'schedules: {a: {cron: "@daily", "que\\n\\e[2Jue": x}}')
    assert found.isprintable()


def test_a_password_is_not_told_with_what_to_write_instead(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, "password: 12345")
    assert found.endswith(
        'password: found a number; allowed: text in quotes; write a line such as password: "PASSWORD"'
    )
