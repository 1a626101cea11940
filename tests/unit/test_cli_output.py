"""The command line without a server: what is read, what is printed, and what the documentation says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from oncue.cli import lean, logs
from oncue.cli.failure import exit_code, sentence
from oncue.cli.options import WORKER, Given
from oncue.cli.output import print_facts, print_json, print_table
from oncue.cli.program import program
from oncue.cli.schedule import duration_ms, read_data, read_time
from oncue.cli.scheduler import scheduler
from oncue.cli.up import up
from oncue.cli.worker import worker
from oncue.common.errors import BadInput, NotFound, StoreUnavailable, WrongServer
from oncue.common.problem import Problem, Refused

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "docs" / name
    for name in ("cli.md", "quickstart.md", "deploy.md", "configuration.md", "migrating.md")
]


@pytest.mark.parametrize(
    ("text", "ms"), [("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000), ("1h30m", 5_400_000),
                     ("250ms", 250), ("0.5s", 500), ("0s", 0)]
)  # fmt: skip
def test_a_duration_is_read_to_the_millisecond(text: str, ms: int) -> None:
    assert duration_ms(text, "--in") == ms


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5w", "5m ", "1e3s"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--in: .* write a number and ms, s, m, h or d"):
        duration_ms(text, "--in")


def test_numbers_are_epoch_seconds_and_all_else_is_left_to_the_store() -> None:
    assert read_time("4102444800") == 4102444800
    assert read_time("1.5") == 1.5
    assert read_time("-1") == -1
    assert read_time("2026-12-24T18:00:00Z") == "2026-12-24T18:00:00Z"


def test_data_is_json_or_a_plain_string() -> None:
    assert read_data('{"a": [1, null]}', text=False) == {"a": [1, None]}
    assert read_data("{", text=True) == "{"
    with pytest.raises(BadInput, match="give --text"):
        read_data("{", text=False)


def test_each_kind_of_error_has_its_exit_code() -> None:
    assert exit_code(NotFound("")) == 1
    assert exit_code(BadInput("")) == exit_code(WrongServer("")) == 2
    assert exit_code(StoreUnavailable("")) == 3


def test_every_fault_of_a_configuration_is_a_line_and_none_can_steer_a_terminal() -> None:
    faults = [Problem("f", 1, 1, "a", "is wrong"), Problem("f", 2, 1, "b", "is wrong, too")]
    assert sentence(Refused(faults)) == "f:1:1: a: is wrong\noncue: f:2:1: b: is wrong, too"
    assert sentence(BadInput("found \x1b[31m\r\n")) == "found  [31m  "


def test_json_has_times_and_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"at": datetime(2026, 1, 1, tzinfo=UTC), "data": b"\0\xff", "text": "ä"})
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == {"at": "2026-01-01T00:00:00+00:00", "data": {"base64": "AP8="}, "text": "ä"}


def test_a_table_for_a_pipe_keeps_each_row_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "text"), [("[red]a", "x" * 300), ("b", "two\nlines \x1b[31m")])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", "[red]a", "b"]
    assert "x" * 300 in lines[1]
    assert "\x1b" not in "".join(lines)


def test_facts_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts([("state", "dead\x07"), ("data", {"a": b"x"})])
    assert capsys.readouterr().out == 'state: dead \ndata:  {"a": {"base64": "eA=="}}\n'


def test_a_log_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInput, match="--log-level: found 'loud'; allowed: debug, info, warning, error"):
        logs.begin("loud")


def test_settings_go_to_a_child_that_accepts_them() -> None:
    given = Given("oncue.yaml", {"lease_s": "5", "timezone": "UTC", "shards": None})
    assert given.arguments(WORKER) == ["--config", "oncue.yaml", "--lease-s", "5"]
    switched = Given(None, {"allow_commands": True, "allow_http": False})
    assert switched.arguments(WORKER) == ["--allow-commands", "--no-allow-http"]


COMMANDS: dict[str, Any] = {"up": up, "scheduler": scheduler, "worker": worker}


@pytest.mark.parametrize(
    "words",
    [
        "up",
        "up shop:app --data-dir d --schedulers 3 --workers=2",
        "scheduler --url redis://h --config f --log-level debug",
        "worker shop:app",
        "worker --queues a,b shop:app --concurrency 3 --processes 2 --lifeline 7 --name w",
        "worker shop:app --stop-timeout-s=0.5",
        "worker",
        "worker --allow-commands shop:app --no-allow-http --name w",
        "up --allow-http",
    ],
)
def test_the_lean_reading_of_a_command_line_is_typers(words: str) -> None:
    name, *rest = words.split()
    seen: list[dict[str, Any]] = []
    command = COMMANDS[name]

    def record(**values: Any) -> None:
        seen.append(values)

    record.__signature__ = command.__signature__  # type: ignore[attr-defined]
    record.__annotations__ = command.__annotations__
    probe = typer.Typer()
    probe.command()(record)
    assert CliRunner().invoke(probe, rest).exit_code == 0
    assert lean.parsed(command, rest) == seen[0]


@pytest.mark.parametrize(
    "words",
    ["--help", "worker a:b c", "worker --allow-commands=true", "worker a:b --what 1", "worker a:b --queues", "worker a:b --queues --name",
     "worker a:b --processes 0", "worker a:b --processes x", "worker a:b -q 1", "scheduler --log_level info",
     "worker a:b --app c:d"],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_typer(words: str) -> None:
    name, *rest = words.split()
    if name in COMMANDS:
        assert lean.parsed(COMMANDS[name], rest) is None
    else:
        assert not lean.run(words.split())


def all_commands(group: Any = None, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    group = group or typer.main.get_command(program)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from all_commands(command, (*before, name))
        else:
            yield (*before, name), command


EVERY = dict(all_commands())


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_a_help_text_with_an_example_and_is_documented(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(program, [*words, "--help"], env={"LC_ALL": "C"})
    assert result.exit_code == 0
    assert f"Example: oncue {' '.join(words)}" in " ".join(result.output.split())
    assert f"`oncue {' '.join(words)}" in (ROOT / "docs" / "cli.md").read_text()


def test_every_command_about_schedules_speaks_json() -> None:
    for words, command in EVERY.items():
        if words[0] == "cron":
            assert any("--json" in param.opts for param in command.params), words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_flag_named_in_the_documentation_exists(page: Path) -> None:
    text = re.sub(r"\\\n\s*", "", page.read_text())
    lines = re.findall(r"(?m)(?:`|^ {4}(?:\S+/bin/)?|\$ )oncue ([a-z][^`\n]*)", text)
    assert lines
    for line in lines:
        words = tuple(word for word in line.split("#")[0].split() if re.fullmatch(r"[a-z]+", word))
        known = next((EVERY[words[:n]] for n in (2, 1) if words[:n] in EVERY), None)
        groups = {name[0] for name in EVERY if len(name) == 2}
        assert known is not None or (len(words) == 1 and words[0] in groups), line
        flags = re.findall(r"(?<!\S)\[?(--[a-z-]+)", line.split("#")[0])
        accepted = {flag for param in (known.params if known else ()) for flag in param.opts} | {"--help"}
        assert set(flags) <= accepted, line


def test_every_exit_code_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    for code in (0, 1, 2, 3, 130):
        assert re.search(rf"(?m)^\| {code} \|", text)
