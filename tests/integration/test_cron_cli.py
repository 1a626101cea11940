"""`oncue cron` against a server: what is deployed, changed and told, for people and for scripts."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oncue import App
from oncue.common.clock import host_now_ms
from oncue.common.task import instant
from tests.support.commands import Ended, ended
from tests.support.fixtures import app_by_url
from tests.support.processes import Process
from tests.support.product import HOUR_MS, FixedClock, app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

app = app_by_url()

Start = Callable[..., Process]
Run = Callable[..., Ended]

# Half a year from now: on the day itself the ticks before and after an edit could be a year apart.
MONTH = (datetime.now(UTC).month + 5) % 12 + 1
OLD = f"""timezone: Europe/Berlin
schedules:
  early: {{cron: "0 12 1 {MONTH} *"}}
  late: {{cron: "0 12 1 {MONTH} *"}}
  gone: {{every: 90m}}
  same: {{cron: "@hourly"}}
"""
NEW = f"""timezone: Europe/Berlin
schedules:
  early: {{cron: "0 11 1 {MONTH} *"}}
  late: {{cron: "0 13 1 {MONTH} *", queue: other}}
  same: {{cron: "@hourly"}}
  fresh: {{every: 1d}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "oncue.yaml"
    path.write_text(OLD)
    return path


def listed(oncue: Run) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in oncue("cron", "list", "--json").json}


def test_a_file_is_compared_and_deployed_and_the_last_deployment_has_the_last_word(
    oncue: Run, file: Path
) -> None:
    assert oncue("cron", "diff", file).output.count("created") == 4
    assert listed(oncue) == {}
    first = oncue("cron", "apply", file, "--json")
    assert (first.code, len(first.json)) == (0, 4)
    assert oncue("cron", "diff", file).output == "nothing would change\n"
    file.write_text(NEW)
    found = {entry["name"]: entry for entry in oncue("cron", "diff", file, "--json").json}
    told = {name: (entry["what"], entry["ticks"]) for name, entry in found.items()}
    assert told == {
        "early": ("edited", "earlier"),
        "late": ("edited", "later"),
        "gone": ("removed", "end"),
        "fresh": ("created", "start"),
    }
    assert found["late"]["settings"]["queue"] == ["default", "other"]
    offset = "+02:00" if 4 <= MONTH <= 10 else "+01:00"
    assert found["late"]["next_before"].endswith(f"-{MONTH:02}-01T12:00:00{offset}")
    assert found["late"]["next_after"].endswith(f"-{MONTH:02}-01T13:00:00{offset}")
    assert oncue("cron", "apply", file).code == 0
    assert listed(oncue)["gone"]["state"] == "removed"
    file.write_text(OLD)
    assert "created gone" in oncue("cron", "apply", file).output
    assert listed(oncue)["late"]["queue"] == "default"


WORK = """schedules:
  dump:
    cron: "@daily"
    command: [pg_dump, %(name)s]
    env: {PGPASSWORD: %(secret)s, PGHOST: db, KEY: {file: %(place)s}}
  ping:
    every: 1d
    http: {url: "https://hooks.example.org/", headers: {Authorization: %(secret)s, Accept: text/plain}}
"""


def test_a_section_emptied_on_purpose_takes_its_schedules_away_and_an_accident_does_not(
    oncue: Run, file: Path
) -> None:
    oncue("cron", "apply", file)
    for content in ("", "timezone: UTC\n", "schedules: {bad: {cron: '0 0 * 13 *'}}\n"):
        file.write_text(content)
        end = oncue("cron", "apply", file, "--prune", "--yes")
        assert (end.code, "changes nothing" in end.output, "--prune" in end.output) == (1, True, False)
    for content in ("schedules: {}\n", "schedules:\n"):
        file.write_text(content)
        for end in (oncue("cron", "apply", file), oncue("cron", "diff", file)):
            assert end.code == 1
            assert (
                "changes nothing; `oncue cron apply --prune` takes away those that came from it" in end.output
            )
        assert oncue("cron", "apply", file, "--prune").code != 0
    assert {entry["state"] for entry in listed(oncue).values()} == {"active"}
    end = oncue("cron", "apply", file, "--prune", "--yes")
    assert (end.code, end.output.count("pruned")) == (0, 4)
    assert listed(oncue) == {}


def test_a_file_with_a_name_is_the_same_at_any_path(oncue: Run, file: Path, tmp_path: Path) -> None:
    file.write_text("source: shop\n" + OLD)
    oncue("cron", "apply", file)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "schedules.yaml"
    other.write_text("source: shop\n" + OLD)
    assert oncue("cron", "diff", other).output == "nothing would change\n"
    other.write_text("source: shop\n" + NEW)
    assert "removed gone" in oncue("cron", "apply", other).output
    assert {entry["source"] for entry in listed(oncue).values()} == {"shop"}
    end = oncue("cron", "apply", other, "--source", "/etc/shop")
    assert (end.code, "allowed: 1 to 64 of the characters" in end.output) == (2, True)


def test_a_difference_knows_that_a_tick_stays_that_jitter_keeps_for_later(
    oncue: Run, file: Path, valkey: RedisServer, namespace: str
) -> None:
    past = FixedClock(host_now_ms() // 1000 * 1000 - 2 * HOUR_MS)
    every = {"every_s": 86_400, "anchor": instant(past.ms + HOUR_MS).isoformat()}
    with opened(valkey, namespace, clock=past) as store:
        schedules = app_on(store).schedules
        late = (
            info.name
            for info in (schedules.create(f"n{n}", jitter_s=80_000, **every) for n in range(100))
            if (info.next_run_ms or 0) > past.ms + 6 * HOUR_MS
        )
        stays, goes = next(late), next(late)
    anchor = every["anchor"]
    file.write_text(
        f"""schedules:
  {stays}: {{every: 1d, anchor: "{anchor}", jitter: 1m}}
  {goes}: {{every: 12h, anchor: "{instant(past.ms).isoformat()}"}}
"""
    )
    found = {entry["name"]: entry for entry in oncue("cron", "diff", file, "--json").json}
    assert {name: found[name]["ticks"] for name in (stays, goes)} == {stays: "same", goes: "later"}
    assert oncue("cron", "apply", file).code == 0
    told = listed(oncue)
    for name in (stays, goes):
        assert told[name]["next"] == found[name]["next_after"]


def test_a_difference_never_shows_what_may_be_secret(oncue: Run, file: Path) -> None:
    file.write_text(WORK % {"name": "shop", "secret": "old-s3cret", "place": "/a"})
    outputs = [oncue("cron", "diff", file).output]
    oncue("cron", "apply", file)
    file.write_text(WORK % {"name": "mail", "secret": "new-s3cret", "place": "/b"})
    outputs += [oncue("cron", "diff", file).output, oncue("cron", "diff", file, "--json").output]
    outputs += [oncue("cron", "list", "--json").output]
    assert not any("s3cret" in output or "text/plain" in output for output in outputs)
    found = {entry["name"]: entry["settings"] for entry in oncue("cron", "diff", file, "--json").json}
    assert found["dump"] == {
        "command": [["pg_dump", "shop"], ["pg_dump", "mail"]],
        "env.PGPASSWORD": ["(hidden)", "(hidden, another one)"],
        "env.KEY": [{"file": "/a"}, {"file": "/b"}],
    }
    assert found["ping"] == {"http.headers.Authorization": ["(hidden)", "(hidden, another one)"]}


def test_limits_are_told_wherever_a_schedule_is(oncue: Run, file: Path) -> None:
    file.write_text(
        'schedules:\n  trial: {every: 1d, start: "2098-12-01", count: 14}\n'
        '  advent: {cron: "0 18 * * sun", end: "2099-12-24"}\n'
    )
    assert "every 1 day; from 2098-12-01 on; 14 times" in oncue("cron", "diff", file).output
    oncue("cron", "apply", file)
    assert listed(oncue)["trial"]["count"] == 14
    assert listed(oncue)["advent"]["end"] == "2099-12-24"
    output = oncue("cron", "list").output
    assert "0 18 * * sun; until 2099-12-24" in output
    assert "14 times" in oncue("cron", "preview", "trial", "--config", file).output
    file.write_text(file.read_text().replace("14", "15"))
    assert "count: 14 -> 15" in oncue("cron", "diff", file).output


def test_a_faulty_schedule_stays_as_it_was_and_the_code_says_so(oncue: Run, file: Path) -> None:
    assert oncue("cron", "apply", file).code == 0
    file.write_text(OLD.replace('"@hourly"', '"61 * * * *"').replace("90m", "45m"))
    for command in ("diff", "apply"):
        end = oncue("cron", command, file)
        assert end.code == 1
        assert f"{file}:6:" in end.output
    assert listed(oncue)["same"]["cron"] == "@hourly"
    assert listed(oncue)["gone"]["when"] == "every 45 minutes"
    file.write_text("schedules: {}\n")
    end = oncue("cron", "apply", file)
    assert (end.code, "has no usable schedule" in end.output) == (1, True)
    assert len(listed(oncue)) == 4


def test_what_cannot_be_undone_needs_a_yes(oncue: Run, file: Path) -> None:
    oncue("cron", "apply", file)
    assert oncue("cron", "apply", file, "--prune").output == "nothing changed\n"
    file.write_text(NEW)
    for words in (("remove", "gone"), ("apply", file, "--prune")):
        end = oncue("cron", *words)
        assert (end.code, "give --yes" in end.output) == (2, True)
    assert "oncue: gone will be deleted for good" in end.output
    assert listed(oncue)["gone"]["state"] == "active"
    assert listed(oncue)["early"]["cron"] == f"0 12 1 {MONTH} *"
    assert oncue("cron", "remove", "gone", "--yes").output == "removed gone\n"
    assert oncue("cron", "remove", "gone", "--yes").code == 1
    assert "pruned gone" in oncue("cron", "apply", file, "--prune", "--yes").output
    assert "gone" not in listed(oncue)
    assert oncue("cron", "remove", "early", "--for-good", "--yes", "--json").json["removed"]
    assert "early" not in listed(oncue)


def test_a_terminal_is_asked(env: dict[str, str], app: App) -> None:
    app.schedules.create("nightly", cron="0 3 * * *")
    command = [sys.executable, "-m", "oncue", "cron", "remove", "nightly"]
    for answer, code in ((b"\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        try:
            os.write(ours, answer)
            end = subprocess.run(
                command, stdin=theirs, capture_output=True, env={**os.environ, **env}, check=False, timeout=30
            )
        finally:
            os.close(ours)
            os.close(theirs)
        assert (end.returncode, b"Go on? [y/N]" in end.stderr) == (code, True)
    assert app.schedules.get("nightly").state == "removed"


def test_a_pause_tells_who_and_why(oncue: Run, app: App) -> None:
    app.schedules.create("nightly", cron="0 3 * * *")
    end = oncue("cron", "pause", "nightly", "--why", "audit", "--by", "ada")
    assert (end.code, end.output) == (0, "nightly: paused by ada: audit\n")
    entry = listed(oncue)["nightly"]
    assert (entry["state"], entry["by"], entry["why"], entry["next"]) == ("paused", "ada", "audit", None)
    head, line = oncue("cron", "list").output.splitlines()
    assert head.split() == ["name", "when", "timezone", "queue", "next", "last", "late", "missed", "state"]
    assert "paused by ada: audit" in line
    assert oncue("cron", "resume", "nightly", "--json").json["state"] == "active"
    told = oncue("cron", "pause", "nightly", "--by", "ada", "--why", "x\ny\x1b[31m").output
    assert told == "nightly: paused by ada: x y [31m\n"
    oncue("cron", "resume", "nightly")
    assert oncue("cron", "resume", "nightly").code == 1
    assert oncue("cron", "pause", "nobody").code == 1


def test_the_reason_of_a_faulty_schedule_stands_below_the_list_and_widens_no_row(
    oncue: Run, app: App, file: Path
) -> None:
    app.schedules.create("nightly", cron="30 2 * * *")
    file.write_text('schedules: {bad: {cron: "0 24 * * *"}}')
    head, nightly, bad, reason = oncue("cron", "list", "--config", file).output.splitlines()
    assert max(map(len, (head, nightly.rstrip(), bad.rstrip()))) < 120
    assert bad.split()[-1] == "invalid"
    assert reason.startswith("bad: invalid: ")
    assert "hour field: found '24'" in reason


def test_times_without_an_offset_are_those_of_the_zone(oncue: Run, app: App, file: Path) -> None:
    app.schedules.create("nightly", cron="30 2 * * *", timezone="Europe/Berlin")
    # Of the store, as there is no file.
    output = oncue("cron", "preview", "nightly", "--from", "2027-03-28", "--count", "2").output
    assert "2027-03-28T03:00:00+02:00\n  2027-03-29T02:30:00+02:00" in output
    assert oncue("cron", "preview", "--json").json[0]["name"] == "nightly"
    output = oncue("cron", "preview", "0 9 * * *", "--tz", "Asia/Tokyo", "--from", "2027-03-28T08:30").output
    assert "2027-03-28T09:00:00+09:00" in output
    month = ("0 0 1 * *", "--tz", "Asia/Tokyo", "--from", "2027-01-01", "--count", "1", "--json")
    assert oncue("cron", "preview", *month).json[0]["ticks"] == ["2027-01-01T00:00:00+09:00"]
    end = oncue("cron", "backfill", "nightly", "--from", "2026-01-01", "--to", "2026-01-02")
    assert end.output.splitlines()[:2] == ["nightly@2026-01-01T01:30:00Z", "nightly@2026-01-02T01:30:00Z"]
    end = oncue("cron", "backfill", "nightly", "--from", "2100-01-01", "--to", "2100-01-02")
    assert (end.code, "--to lies in the future: what is due by now is taken" in end.output) == (0, True)
    end = oncue("cron", "backfill", "nightly", "--from", "2100-01-02", "--to", "2100-01-01")
    assert (end.code, end.output) == (2, "oncue: --to: found '2100-01-01', which is before --from\n")
    app.schedules.create("poll", every_s=3600, from_end=True)
    (poll,) = oncue("cron", "preview", "poll", "--json").json
    # To the millisecond, unless it is a whole second.
    next_run = datetime.fromisoformat(listed(oncue)["poll"]["next"])
    assert (poll["ticks"][0], poll["estimated"]) == (next_run.isoformat(timespec="seconds"), True)
    for words in (
        ("preview", "0 9 * * *", "--from", "soon"),
        ("backfill", "nightly", "--from", "soon", "--to", "2026-01-02"),
    ):
        end = oncue("cron", *words)
        assert (end.code, end.output.count("\n"), "--from: found 'soon'" in end.output) == (2, 1, True)
    assert oncue("cron", "preview", "none").code == 1


def test_tasks_are_made_by_hand_and_the_history_tells_it(oncue: Run, app: App) -> None:
    assert oncue("cron", "history", "nightly").code == 1
    app.schedules.create("nightly", cron="0 3 * * *", overlap="allow")
    assert oncue("cron", "history", "nightly").output == "nothing yet\n"
    task = oncue("cron", "trigger", "nightly", "--json").json["id"]
    assert app.get(task).state == "ready"
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    span = ("--from", (today - timedelta(days=60)).isoformat(), "--to", today.isoformat())
    made = oncue("cron", "backfill", "nightly", *span, "--json").json
    assert (len(made["made"]), made["there"]) == (60, [])
    again = oncue("cron", "backfill", "nightly", *span)
    assert (again.code, again.output) == (0, "0 tasks were made; 60 had run already\n")
    events = oncue("cron", "history", "nightly", "--count", "3", "--json").json
    assert [event["what"] for event in events] == ["backfilled"] * 3
    assert events[0]["planned"].endswith("T03:00:00+00:00")
    head, *lines = oncue("cron", "history", "nightly", "--count", "100").output.splitlines()
    assert head.split() == ["planned", "what", "late", "task", "remark"]
    assert head.split()[:2] == ["planned", "what"]
    assert (len(lines), "triggered" in lines[-1]) == (61, True)
    assert oncue("cron", "backfill", "nightly", "--from", "today", "--to", "now").code == 2


def test_an_expression_is_explained_without_a_server(run_oncue: Start) -> None:
    end = ended(
        run_oncue, "cron", "explain", "0 9 * * mon", "--tz", "Europe/Berlin", "--count", "2", "--json"
    )
    assert "on Monday" in end.json["meaning"]
    assert (len(end.json["ticks"]), end.json["timezone"]) == (2, "Europe/Berlin")
    assert "warning: " in ended(run_oncue, "cron", "explain", "*/90 * * * *").output
    refused = ended(run_oncue, "cron", "explain", "61 * * * *")
    assert (refused.code, refused.output.count("\n")) == (2, 1)


def test_a_month_is_drawn_with_what_runs_on_each_day(run_oncue: Start, tmp_path: Path) -> None:
    file = tmp_path / "oncue.yaml"
    file.write_text(
        "timezone: Europe/Berlin\nschedules:\n"
        '  payroll: {cron: "0 9 LW * *"}\n  often: {cron: "*/5 * * * * *"}\n  minutely: {cron: "* * * * *"}\n'
        '  a: {cron: "0 2 2 * *"}\n  b: {cron: "0 0 1 1 *"}\n  late: {cron: "30 23 1 * *"}\n'
    )
    words = ("cron", "calendar", file, "--month", "2026-03")
    end = ended(run_oncue, *words, env={"LC_ALL": "C", "COLUMNS": "80"})
    lines = end.output.splitlines()
    assert (end.code, end.output.isascii(), lines[0]) == (0, True, "2026-03, Europe/Berlin")
    assert lines[2].split() == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert lines[3].split() == ["1"]
    assert lines[4].split() == ["late"]
    assert max(map(len, lines[: lines.index("30         31")])) <= 80
    found = ended(run_oncue, *words, "--json").json
    days = {day["date"]: day["ticks"] for day in found["days"]}
    assert (len(days), days["2026-03-31"]["payroll"], days["2026-03-02"]["a"]) == (31, 1, 1)
    # The day on which the clock goes forward has 23 hours.
    assert (days["2026-03-28"]["minutely"], days["2026-03-29"]["minutely"]) == (1440, 1380)
    schedules = {entry["name"]: entry for entry in found["schedules"]}
    assert schedules["payroll"]["first"] == schedules["payroll"]["last"] == "2026-03-31T09:00:00+02:00"
    assert (schedules["b"]["ticks"], schedules["b"]["first"]) == (0, None)
    tokyo = ended(run_oncue, *words, "--tz", "Asia/Tokyo", "--json").json
    assert tokyo["days"][1]["ticks"]["late"] == 1
    assert next(line for line in lines if line.startswith("often  ")).split()[7:11] == [
        "over",
        "1440",
        "a",
        "day",
    ]
    assert ended(run_oncue, "cron", "calendar", file, "--month", "2026-13").code == 2


def test_a_crontab_is_taken_over_without_any_python(
    oncue: Run, run_oncue: Start, env: dict[str, str], app: App, tmp_path: Path
) -> None:
    tab, file, place = tmp_path / "tab", tmp_path / "oncue.yaml", tmp_path / "made here"
    tab.write_text(f"WHAT=a line\n0 0 1 1 * cat > '{place}'; echo $WHAT 100\\% >> '{place}' %stdin\n")
    file.write_text(oncue("cron", "import", tab, "--format", "crontab").output)
    assert oncue("cron", "apply", file).output == "created cat\n"
    task = oncue("cron", "trigger", "cat").output.strip()
    run_oncue("worker", "--allow-commands", "--config", str(file), env=env)
    eventually(lambda: app.get(task).state == "done", 20, "the command to be done")
    assert place.read_text() == "stdin\na line 100%\n"


def test_a_diff_tells_that_a_tick_which_counts_from_the_end_of_a_run_stays(oncue: Run, file: Path) -> None:
    file.write_text("schedules: {crawl: {every: 1h, from: end}}\n")
    oncue("cron", "apply", file)
    told = []
    for edited in ("every: 1h, from: end, priority: 7", "every: 2h, from: end", "every: 30m, from: end"):
        file.write_text(f"schedules: {{crawl: {{{edited}}}}}\n")
        (found,) = oncue("cron", "diff", file, "--json").json
        told.append(found["ticks"])
    assert told == ["same", "later", "earlier"]
