"""Files of other schedulers: what they become passes oncue's own check, and what is lost is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oncue.cli.imported import duration, named, quoted, unique
from oncue.common import yamlfile
from tests.support.importing import imported, run


@pytest.mark.parametrize(
    ("name", "text", "words", "sentence"),
    [
        ("x.py", "x = 1", (), "no beat_schedule can be read: there is none"),
        ("x.py", "beat_schedule = make()", (), "it is computed, and no code is run here"),
        ("x.py", "beat_schedule = (", (), "this is no Python that can be read"),
        ("x.json", "{", (), "this is no JSON"),
        ("x.yaml", "kind: Job", (), "holds no object of kind: CronJob"),
        ("x.yaml", "a: [", (), "x.yaml:1:"),
        ("x", "1 2 * * * a", ("--tz", "Mars/Base"), "Mars/Base"),
        ("x.py", "beat_schedule = " + "1+" * 20_000 + "1", (), "this is no Python that can be read"),
        ("x", "", ("--format", "at"), "allowed: crontab, system-crontab, celery, kubernetes"),
        ("x", "# nothing\n", (), "x holds no entry that could become a schedule"),
        ("x", "", ("--json",), "x holds no entry that could become a schedule"),
        ("x.py", "beat_schedule = {}", (), "x.py holds no entry that could become a schedule"),
        ("x.json", '{"beat_schedule": {}}', (), "x.json holds no entry that could become a schedule"),
        ("x.py", "beat_schedule = " + "[" * 5000, (), "this is no Python that can be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, name: str, text: str, words: tuple[str, ...], sentence: str
) -> None:
    result = run(tmp_path / name, text, *words)
    assert result.exit_code != 0
    assert sentence in str(result.exception)
    assert result.stdout == ""


def test_a_value_cannot_become_keys_or_lines_of_the_file(tmp_path: Path) -> None:
    manifest = {
        "kind": "CronJob",
        "metadata": {"name": "a\n: b"},
        "spec": {
            "schedule": "1 2 * * *",
            "timeZone": "UTC",
            "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"command": ["x\n  y: #"]}]}}}},
        },
    }
    found, _ = imported(tmp_path, "x.json", json.dumps(manifest))
    (job,) = found.values()
    assert (job.name, job.data) == ("a-b", {"command": ["x\n  y: #"]})
    found, result = imported(
        tmp_path, "x.json", json.dumps(manifest).replace("UTC", "UTC\\n    enabled: false")
    )
    assert (found, result.exit_code) == ({}, 1)


def test_what_is_left_out_is_told_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "61 * * * * late\n1 2 * * * a\n@reboot b\n0 0 31 2 * never\n"
    result = run(tmp_path / "tab", text, "--format", "crontab")
    for told, mark in ((result.stderr, "oncue: left out: line "), (result.stdout, "#   line ")):
        assert [line[len(mark)] for line in told.splitlines() if line.startswith(mark)] == ["1", "3", "4"]


def test_a_file_whose_entries_are_all_left_out_takes_no_schedule_away(tmp_path: Path) -> None:
    result = run(tmp_path / "tab", "61 * * * * late\n", "--format", "crontab")
    assert result.exit_code == 1
    assert all(line.startswith("#") for line in result.stdout.splitlines())
    assert "line 1: 61 * * * *" in result.stdout


@pytest.mark.parametrize(
    ("limit", "most", "reason"),
    [
        ("MAX_NODES", 200, "more than 200 keys and values in one file, which is the limit"),
        ("MAX_BYTES", 1000, "larger than 1000 bytes (1 MB), which is the limit"),
    ],
)
def test_what_becomes_too_large_for_one_file_is_refused_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, reason: str
) -> None:
    lines = "".join(f"{n} 2 * * * job-{n}\n" for n in range(20))
    monkeypatch.setattr(yamlfile, limit, most)
    result = run(tmp_path / "tab", lines, "--format", "crontab")
    assert result.stdout == ""
    assert str(result.exception) == f"tab makes a file that oncue does not read: {reason}; split tab"


def test_the_same_as_json(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path / "tab", "1 2 * * * a\n@reboot b\n", "--json").stdout)
    assert told["schedules"]["a"]["cron"] == "1 2 * * *"
    assert len(told["refused"]) == 1


class CountedLookups(dict[str, int]):
    """A dictionary that counts how often it was asked for a key."""

    count = 0

    def __contains__(self, key: object) -> bool:
        self.count += 1
        return super().__contains__(key)


def test_a_name_is_found_in_few_steps_however_often_a_file_has_it() -> None:
    taken = CountedLookups()
    names = []
    for _ in range(1000):
        names.append(unique("a", taken))
        taken[names[-1]] = 2
    assert (names[:3], names[-1]) == (["a", "a-2", "a-3"], "a-1000")
    assert taken.count < 5 * len(names)


def test_a_name_of_the_file_is_never_given_twice(tmp_path: Path) -> None:
    lines = [f"1 2 * * * {command}\n" for command in ("a", "a-2", "a", "a", "a-2")]
    found, _ = imported(tmp_path, "tab", "".join(lines), "--format", "crontab")
    assert list(found) == ["a", "a-2", "a-3", "a-4", "a-2-2"]


def test_words_of_the_file_that_comes_out() -> None:
    assert [duration(seconds) for seconds in (1, 90, 5400, 86_400, 200, 0.5, 0)] == [
        "1s", "1m30s", "1h30m", "1d", "3m20s", "0.5s", "0s",
    ]  # fmt: skip
    assert (named("a name/€"), named("€"), named("x" * 200)) == ("a-name", "job", "x" * 100)
    assert quoted("ü\x7f\u2028") == '"ü\\u007f\\u2028"'
