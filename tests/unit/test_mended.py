"""Each fault that a key of the file can have comes with a line that can be written instead, and that is taken."""

from pathlib import Path

import pytest

from oncue.common.config import check
from oncue.common.configkeys import EXAMPLES, HTTP, QUEUE, RETRY, SCHEDULE, SETTINGS, WORK

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
            if line.startswith(f"{key}: "):
                assert sentences(tmp_path, around.replace("LINE", line)) == [], sentence
            else:
                assert advice or "did you mean " in sentence or "cannot be read" in sentence, sentence
    assert asked >= 2, "each key refuses some of them"


def test_every_key_has_been_asked() -> None:
    asked = {name.rpartition(".")[2] for name in places()}
    assert asked == {*SETTINGS, *QUEUE, *RETRY, *SCHEDULE, *WORK, *HTTP, *EXAMPLES}


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ("5", 'write schedules: {nightly: {cron: "30 2 * * *"}}'),
        ("queues: {q: 5}", "write {weight: 2}"),
        ("queues: {a b: {}}", "write a_b"),
        ("queues: {'!': {}}", "write queue"),
        ("calendars: {2c: [2026-12-25]}", "write days_2c"),
        ("calendars: {c: [noon]}", "write [2026-12-25]"),
        ("schedules: {a b: {cron: '@daily'}}", "write a_b"),
        ("queues: {q: {retry: {first_s: 9, max_s: 3}}}", "write max_s: 9"),
        ("timezone: Mars/Base", "write timezone: Europe/Berlin"),
        ("timezone: Europe/Berln", "did you mean Europe/Berlin?"),
        ("allow_http: 'no'", "write allow_http: false"),
        ("calendars: {c: [2026-12-25]}\nschedules: {a: {every: 1h, exclude: Mars}}", "write exclude: [c]"),
        ("schedules: {a: {every: 90x}}", "write every: 90m"),
        ("schedules: {a: {every: 7d, jitter: 2d}}", "write jitter: 90m"),
        ("schedules: {a: {every: 1h, timezone: Mars/Base}}", "write timezone: Europe/Berlin"),
        ("schedules: {a: {every: 1h, command: ls, shell: 1}}", "write shell: true"),
        ("schedules: {a: {every: 1h, command: [ls], shell: true}}", 'write command: "ls | wc -l"'),
        ("schedules: {a: {every: 1h, command: [ls], env: {A-: b}}}", "write env: {LANG: C.UTF-8}"),
        ("schedules: {a: {every: 1h, command: [ls], env: {A: }}}", 'write "text"'),
        ("schedules: {a: {every: 1h, http: {url: 'http://h/', method: pots}}}", "write method: POST"),
    ],
)
def test_a_fault_says_what_to_write_instead(tmp_path: Path, document: str, line: str) -> None:
    (found,) = sentences(tmp_path, document)
    assert found.endswith(line)


def test_a_password_is_not_told_with_what_to_write_instead(tmp_path: Path) -> None:
    (found,) = sentences(tmp_path, "password: 12345")
    assert found.endswith('password: found a number; allowed: text in quotes; write password: "PASSWORD"')
