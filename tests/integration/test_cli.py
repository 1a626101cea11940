"""Commands that ask the store once: what they print, for people and for scripts, and their exit codes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from oncue import App
from oncue.common import record
from oncue.common.task import instant
from tests.support.commands import Ended, ended
from tests.support.fixtures import app_by_url
from tests.support.processes import Process
from tests.support.product import MINUTE_MS, FixedClock, Hands, opened
from tests.support.servers import RedisServer
from tests.support.terminal import all_shown

app = app_by_url()

Start = Callable[..., Process]
Run = Callable[..., Ended]


def test_a_task_is_scheduled_shown_and_cancelled(oncue: Run, app: App) -> None:
    task = oncue("schedule", "emails", '{"to": "ada"}', "--in", "1h30m").output.strip()
    known = app.get(task)
    assert (known.queue, known.data, known.state) == ("emails", {"to": "ada"}, "delayed")
    left = (known.due - datetime.now(UTC)).total_seconds() if known.due else 0
    assert 5390 < left < 5401
    shown = oncue("task", "show", task, "--json").json
    assert (shown["id"], shown["state"], shown["data"]) == (task, "delayed", {"to": "ada"})
    lines = [line.split() for line in oncue("task", "show", task).output.splitlines()]
    assert ["state:", "delayed"] in lines
    cancelled = oncue("task", "cancel", task)
    assert (cancelled.code, cancelled.output) == (0, "cancelled: 1\n")
    assert oncue("stats", "--json").json["emails"]["cancelled"] == 1


@pytest.mark.parametrize(
    ("words", "queue", "data", "due"),
    [
        (("q", "7", "--at", "2100-01-01T00:00:00+01:00"), "q", 7, "2099-12-31T23:00:00+00:00"),
        (("q", "--at", "4102444800"), "q", None, "2100-01-01T00:00:00+00:00"),
        (("q", "--at", "4102444800.25"), "q", None, "2100-01-01T00:00:00.250000+00:00"),
        (("q", "it's text", "--text", "--at", "4102444800"), "q", "it's text", None),
        (("q", '"äöü"', "--at", "4102444800", "--priority", "9", "--id", "mine"), "q", "äöü", None),
    ],
)
def test_times_and_data_arrive_as_written(
    oncue: Run, app: App, words: tuple[str, ...], queue: str, data: object, due: str | None
) -> None:
    known = app.get(oncue("schedule", *words, "--json").json["id"])
    assert (known.queue, known.data) == (queue, data)
    if due is not None:
        assert known.due is not None
        assert known.due.isoformat() == due
    if "mine" in words:
        assert (known.id, known.priority) == ("mine", 9)


def test_all_that_a_schedule_call_takes_can_be_said(
    oncue: Run, app: App, valkey: RedisServer, namespace: str
) -> None:
    own = ("--timeout", "90s", "--retry", '{"max_attempts": 2}')
    said = oncue("schedule", "q", "1", "--in", "1h", "--expires-in", "2h", *own, "--json").json["id"]
    (shard,) = app.store.shards
    known = record.unpack(shard.command("HGET", shard.keys.records, said))
    assert known.options == {"timeout_s": 90, "retry": {"max_attempts": 2}}
    late = oncue("schedule", "late", "1", "--expires-in", "1m").output.strip()
    with opened(valkey, namespace, clock=FixedClock(app.store.now_anywhere_ms() + MINUTE_MS)) as later:
        assert Hands(later, ["late"]).reserve() == []
    assert app.get(late).reason == "expired"
    assert oncue("schedule", "q", "1", "--expires", "2100-01-01T00:00:00Z", "--at", "4102444801").code == 2
    # No replica is there to have it.
    assert oncue("schedule", "q", "1", "--in", "1h", "--durability", "replicas:1").code == 3


def test_a_key_given_twice_is_one_task_that_is_found_by_its_key(oncue: Run, app: App) -> None:
    unique = ("schedule", "q", "--in", "1h", "--unique", "report", "--unique-for", "1d", "--unique-while")
    first = oncue(*unique, "running").output.strip()
    assert oncue(*unique, "waiting").output.strip() == first
    debounced = ("schedule", "q", "--debounce", "page:17", "--max-wait", "2h", "--in")
    pushed = [oncue(*debounced, later).output.strip() for later in ("1h", "90m", "5h")]
    assert len({first, *pushed}) == 2
    due = app.get(pushed[0]).due
    assert due is not None
    assert 7000 < (due - datetime.now(UTC)).total_seconds() < 7201
    for key, task in (("report", first), ("page:17", pushed[0])):
        found = oncue("task", "list", "--queue", "q", "--key", key, "--json").json
        assert ([task["id"] for task in found["tasks"]], found["cursor"]) == ([task], None)
    assert oncue("task", "list", "--queue", "q", "--key", "none", "--json").json["tasks"] == []
    assert oncue("task", "list", "--key", "report").code == 2


def test_data_comes_from_stdin(oncue: Run, app: App, tmp_path: Path) -> None:
    # stdin of the tests' processes is empty: no JSON, but a text.
    assert oncue("schedule", "q", "-").code == 2
    assert app.get(oncue("schedule", "q", "-", "--text", "--in", "1d").output.strip()).data == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("schedule", "q", "{to: ada}"), "DATA is no JSON"),
        (("schedule", "q", "1", "--at", "2100-01-01T00:00:00"), "has no time zone: write"),
        (("schedule", "q", "1", "--at", "tomorrow"), "is not an ISO 8601 time"),
        (("schedule", "q", "1", "--at", "4102444800000"), "looks like milliseconds"),
        (("schedule", "q", "1", "--in", "5 minutes"), "write a number and ms, s, m, h or d"),
        (("schedule", "q", "1", "--in", "5m", "--at", "0"), "give --at or --in, not both"),
        (("schedule", "q", "1", "--expires", "0", "--expires-in", "1s"), "give --expires or --expires-in"),
        (("schedule", "q", "1", "--max-wait", "5"), "--max-wait says more of --debounce"),
        (("schedule", "q", "1", "--unique-for", "5m"), "--unique-for says more of --unique"),
        (("schedule", "q", "1", "--unique", "k", "--unique-for", "5"), "--unique-for: found '5'; write"),
        (("schedule", "q", "1", "--unique", "k", "--unique-while", "asleep"), "allowed: waiting, running"),
        (("schedule", "q", "1", "--unique", "k", "--debounce", "k"), "give debounce or unique, not both"),
        (("schedule", "q", "1", "--timeout", "soon"), "--timeout: found 'soon'; write"),
        (("schedule", "q", "1", "--retry", "max_attempts=2"), "--retry is no JSON"),
        (("schedule", "q", "1", "--retry", "[2]"), "give an object such as"),
        (("schedule", "q", "1", "--retry", '{"tries": 2}'), "tries"),
        (("schedule", "q", "1", "--durability", "paper"), "paper"),
        (("schedule", "q/1", "1"), "q/1"),
        (("schedule", "q", "1", "--priority", "10"), "0 to 9"),
        (("cron", "preview", "61 * * * *"), "minute field: found '61'"),
        (("cron", "preview", "0 0 * * *", "--tz", "Mars/Base"), "Mars/Base"),
        (("stats", "--url", "http://localhost"), "--url: the server URL must start with redis://"),
        (("stats", "--shards", "many"), "--shards: found the text 'many'"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(oncue: Run, words: tuple[str, ...], sentence: str) -> None:
    end = oncue(*words)
    assert end.code == 2
    assert sentence in end.output
    assert end.output.startswith("oncue: ")
    assert end.output.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("cron", "check"), "missing argument 'file'; see oncue cron check -h"),
        (("cron", "preview", "--count", "0"), "invalid value for '--count'"),
        (("cron", "preview", "--count"), "'--count' requires an argument"),
        (("cron", "chek", "x"), "no such command 'chek'"),
        (("cron", "preview", "--count", "x"), "invalid value for '--count': allowed: a whole number;"),
        (
            ("cron", "explain", "* * * * *", "--days", "foo"),
            "invalid value for '--days': 'foo' is not one of 'either', 'both';",
        ),
        (("cron", "explain", "@every 5m", "--days", "both"), "--days has no effect with @every"),
        (("cron", "explain", "@every 5m", "--gap", "skip"), "--gap has no effect with @every"),
        (("cron", "calendar", "-"), "settings are not read from stdin (-): name a file"),
        (("cron", "diff", "-"), "settings are not read from stdin (-): name a file"),
        (("cron", "list", "--jsn"), "no such option: --jsn"),
        (("worker", "--concurency", "3"), "no such option: --concurency"),
        (("nothing",), "no such command 'nothing'"),
    ],
)
def test_a_misuse_is_one_sentence_and_code_2(run_oncue: Start, words: tuple[str, ...], sentence: str) -> None:
    end = ended(run_oncue, *words)
    assert end.code == 2
    assert sentence in end.output.lower()
    assert end.output.startswith("oncue: ")
    assert end.output.count("\n") == 1


def test_an_output_that_cannot_be_written_is_one_sentence_and_code_2(tmp_path: Path) -> None:
    file = tmp_path / "oncue.yaml"
    for schedules in (1, 3000):  # within what is kept back until the end, and more than that
        text = "".join(f"  s{at}: {{cron: '0 25 * * *'}}\n" for at in range(schedules))
        file.write_text("schedules:\n" + text)
        with open("/dev/full", "w") as full:
            words = [sys.executable, "-m", "oncue", "cron", "check", str(file)]
            end = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        sentence = "oncue: stdout takes no more: No space left on device\n"
        assert (end.returncode, end.stderr) == (2, sentence)


def test_a_group_without_a_command_shows_what_there_is(run_oncue: Start) -> None:
    end = ended(run_oncue, "cron")
    assert end.code == 2
    assert end.output.startswith("Usage: oncue cron [OPTIONS] COMMAND")


def test_a_preview_without_a_file_asks_the_store_and_says_no_where_it_has_no_such_schedule(
    oncue: Run,
) -> None:
    end = oncue("cron", "preview", "nightly")
    assert (end.code, end.output) == (1, "oncue: there is no schedule nightly\n")


@pytest.mark.parametrize(
    "words", [("stats",), ("doctor",), ("schedule", "q", "1"), ("task", "show", "x"), ("cron", "list")]
)
def test_a_server_that_is_away_is_one_sentence_and_code_3(oncue: Run, words: tuple[str, ...]) -> None:
    end = oncue(*words, ONCUE_URL=f"redis://127.0.0.1:{free_port()}/0")
    assert end.code == 3
    assert "cannot be reached" in end.output
    assert end.output.count("\n") == 1


def test_with_no_server_at_all_one_sentence_says_what_to_do(run_oncue: Start) -> None:
    end = ended(run_oncue, "stats")
    assert end.code == 2
    assert end.output.count("\n") == 1
    assert "set ONCUE_URL" in end.output
    assert "oncue up" in end.output


def test_no_such_task_and_too_late_are_code_1(oncue: Run) -> None:
    assert oncue("task", "show", "nobody").code == 1
    assert oncue("task", "cancel", "nobody").code == 1


def test_stats_are_a_table_for_people_and_for_pipes(oncue: Run, app: App) -> None:
    assert oncue("stats").output == "no tasks yet\n"
    app.schedule_task(None, 1, queue="emails")
    lines = oncue("stats").output.splitlines()
    assert lines[0].split() == ["queue", "delayed", "ready", "leased", "done", "dead", "cancelled", "blocked"]
    assert lines[1].split() == ["emails", "0", "1", "0", "0", "0", "0", "0"]


def test_a_terminal_gets_a_table_of_its_width(valkey: RedisServer, namespace: str, run_oncue: Start) -> None:
    ours, theirs = pty.openpty()
    try:
        env = {**os.environ, "ONCUE_URL": valkey.url, "TERM": "xterm", "COLUMNS": "60"}
        command = [sys.executable, "-m", "oncue", "doctor"]
        code = subprocess.run(command, stdout=theirs, env=env, check=False, timeout=30).returncode
    finally:
        text = all_shown(ours, theirs).decode()
        os.close(ours)
    assert code == 1
    assert "\x1b[1m" in text
    assert max(len(line) for line in text.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()) <= 60


def facts(end: Ended) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in end.json["findings"]}


def test_the_doctor_tells_what_would_lose_tasks(oncue: Run, run_oncue: Start, tmp_path: Path) -> None:
    end = oncue("doctor", "--json")
    found = facts(end)
    assert end.code == 1
    assert not found["append-only file"]["ok"]
    assert "appendonly" in found["append-only file"]["advice"]
    assert found["server"]["value"].startswith("Valkey ")
    assert found["round trip ms"]["value"] < 1000
    assert abs(found["clock of this host ahead by ms"]["value"]) < 1000
    with RedisServer("valkey", tmp_path, aof=True) as server:
        assert ended(run_oncue, "doctor", env={"ONCUE_URL": server.url}).code == 0
        server.admin.config_set("maxmemory-policy", "allkeys-lru")
        wrong = ended(run_oncue, "doctor", "--json", env={"ONCUE_URL": server.url})
    assert wrong.code == 1
    assert not facts(wrong)["maxmemory-policy"]["ok"]


def test_the_commands_work_on_a_cluster(run_oncue: Start, cluster: Any, namespace: str) -> None:
    env = {"ONCUE_URL": cluster.url, "ONCUE_NAMESPACE": namespace, "ONCUE_SHARDS": "3"}
    task = ended(run_oncue, "schedule", "emails", "1", "--in", "1h", env=env).output.strip()
    assert ended(run_oncue, "task", "show", task, env=env).code == 0
    assert ended(run_oncue, "stats", "--json", env=env).json["emails"]["delayed"] == 1
    found = facts(ended(run_oncue, "doctor", "--json", env=env))
    assert {"shard 0 mode", "shard 1 mode", "shard 2 mode"} <= set(found)
    assert ended(run_oncue, "cron", "list", env=env).code == 0


def test_a_preview_needs_no_server_and_speaks_the_zone(run_oncue: Start, tmp_path: Path) -> None:
    words = (
        "30 2 * * *",
        "--tz",
        "America/New_York",
        "--from",
        "2026-03-07T12:00:00Z",
        "--count",
        "2",
        "--json",
    )
    (found,) = ended(run_oncue, "cron", "preview", *words).json
    assert found["ticks"] == ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]
    file = tmp_path / "oncue.yaml"
    file.write_text('timezone: Asia/Tokyo\nschedules: {night: {cron: "0 0 * * *"}}\n')
    more = ("--config", str(file), "--from", instant(0).isoformat(), "--count", "1")
    assert "1970-01-02T00:00:00+09:00" in ended(run_oncue, "cron", "preview", "night", *more).output
    end = ended(run_oncue, "cron", "preview", "day", *more)
    assert end.code == 1
    assert "there is no schedule day in" in end.output


def test_a_check_counts_and_warns(run_oncue: Start, tmp_path: Path) -> None:
    file = tmp_path / "oncue.yaml"
    file.write_text('schedules:\n  both: {cron: "0 0 13 * 5"}\n  night: {cron: "0 0 * * *"}\n')
    end = ended(run_oncue, "cron", "check", file)
    assert end.code == 0
    assert f"{file}: ok, 2 schedules" in end.output
    assert "warning: schedules.both: day-of-month '13' and day-of-week '5'" in end.output
    found = ended(run_oncue, "cron", "check", file, "--json").json
    assert (found["ok"], found["schedules"], found["warnings"][0]["line"]) == (True, 2, 2)
    file.write_text('schedules:\n  night: {cron: "0 0 * * *"}\n')
    assert ended(run_oncue, "cron", "check", file).output == f"{file}: ok, 1 schedule\n"


def test_a_check_of_a_file_that_cannot_be_read_is_code_2(run_oncue: Start, tmp_path: Path) -> None:
    end = ended(run_oncue, "cron", "check", tmp_path / "nowhere.yaml")
    assert (end.code, end.output.startswith("oncue: "), end.output.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    "text", ["", "# nothing but words\n", "schedules:\n", "timezone: Europe/Berlin\nschedules: {}\n"]
)
def test_a_check_warns_of_a_file_without_any_schedule(run_oncue: Start, tmp_path: Path, text: str) -> None:
    file = tmp_path / "oncue.yaml"
    file.write_text(text)
    end = ended(run_oncue, "cron", "check", file)
    assert end.code == 0
    assert f"{file}: warning: there is no schedule in it" in end.output
    assert len(ended(run_oncue, "cron", "check", file, "--json").json["warnings"]) == 1
    file.write_text("queues: {emails: {weight: 2}}\n")
    assert "warning" not in ended(run_oncue, "cron", "check", file).output


@pytest.mark.parametrize(("cron", "code"), [("0 0 * * *", 0), ("0 24 * * *", 1)])
def test_a_check_reads_stdin(cron: str, code: int) -> None:
    words = [sys.executable, "-m", "oncue", "cron", "check", "-"]
    text = f'schedules: {{night: {{cron: "{cron}"}}}}'
    end = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert (end.returncode, end.stdout.startswith("stdin:")) == (code, True)


def test_a_preview_of_a_file_shows_the_schedules_beside_a_faulty_one(
    run_oncue: Start, tmp_path: Path
) -> None:
    file = tmp_path / "oncue.yaml"
    file.write_text('schedules:\n  night: {cron: "0 0 * * *"}\n  bad: {cron: "0 24 * * *", queue: 5}\n')
    end = ended(run_oncue, "cron", "preview", "--config", file)
    assert end.code == 1
    assert "night: 0 0 * * *" in end.output
    assert end.output.count("oncue: ") == 2
    bad = ended(run_oncue, "cron", "preview", "bad", "--config", file)
    assert (bad.code, bad.output.count("oncue: ")) == (1, 2)
    assert ended(run_oncue, "cron", "preview", "night", "--config", file).code == 0


def test_a_preview_of_what_counts_from_the_end_of_runs_is_told_as_estimates(
    run_oncue: Start, tmp_path: Path
) -> None:
    file = tmp_path / "oncue.yaml"
    file.write_text("schedules: {poll: {every: 1h, from: end}}\n")
    assert (
        "  estimates, as if each run took no time:\n  20"
        in ended(run_oncue, "cron", "preview", "--config", file).output
    )


def test_a_check_shows_the_next_ticks_of_what_it_warns_of(run_oncue: Start, tmp_path: Path) -> None:
    """P10: what the rule of the two day fields makes of a schedule is seen before it runs."""
    file = tmp_path / "oncue.yaml"
    file.write_text(
        'schedules:\n  both: {cron: "0 12 13 1 5", start: 2030-01-01, enabled: false}\n  night: {cron: "0 0 * * *"}\n'
    )
    days = [f"2030-01-{day}T12:00:00+00:00" for day in ("04", "11", "13", "18", "25")]
    assert (
        f"next ticks: schedules.both: {', '.join(days)}\n" in ended(run_oncue, "cron", "check", file).output
    )
    (warning,) = ended(run_oncue, "cron", "check", file, "--json").json["warnings"]
    assert warning["ticks"] == days


def test_an_expression_is_explained_with_the_options_that_its_warnings_advise(run_oncue: Start) -> None:
    explain = (
        "cron",
        "explain",
        "30 2 13 * fri",
        "--tz",
        "Europe/Berlin",
        "--from",
        "2026-03-13",
        "--count",
        "2",
    )
    found = ended(run_oncue, *explain, "--json").json
    assert "set days: both for AND" in found["warnings"][0]
    assert found["ticks"] == ["2026-03-13T02:30:00+01:00", "2026-03-20T02:30:00+01:00"]
    found = ended(run_oncue, *explain, "--json", "--days", "both").json
    assert found["warnings"] == []
    assert found["ticks"] == ["2026-03-13T02:30:00+01:00", "2026-11-13T02:30:00+01:00"]
    gap = ("cron", "explain", "30 2 29 3 *", "--tz", "Europe/Berlin", "--from", "2026-03-01", "--count", "1")
    assert "2026-03-29T03:00:00+02:00" in ended(run_oncue, *gap).output
    assert "2027-03-29T02:30:00+02:00" in ended(run_oncue, *gap, "--gap", "skip").output
    assert ended(run_oncue, *gap, "--gap", "later").code == 2


def test_a_shell_can_complete_commands_and_flags(run_oncue: Start) -> None:
    def completed(line: str) -> list[str]:
        env = {"_ONCUE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return ended(run_oncue, env=env).output.split()

    assert {"schedule", "scheduler"} <= set(completed("oncue sch"))
    assert completed("oncue cron pre") == ["preview"]
    assert completed("oncue worker --stop") == ["--stop-timeout-s"]
