"""What the documentation names exists: files, make targets, commands."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oncue.cli.program import program

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").glob("*.md")])
FOLDERS = (
    "oncue",
    "scheduler",
    "worker",
    "common",
    "lua",
    "web",
    "systemd",
    "tests",
    "bench",
    "docs",
    "examples",
)
# A path in code: it starts in one of our folders and goes on; `common/keys.py`, `lua/include/`, `docs/decisions/*.md`.
PATH = re.compile(rf"(?<![\w/.{{@-])(?:{'|'.join(FOLDERS)}|\.ci)/[\w./*@-]*")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
CODE = re.compile(r"^(?: {4}|\t).*$|`[^`\n]+`", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(params=PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def page(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def code_of(text: str) -> str:
    """Spans, indented and fenced blocks of a page: what a reader would type or open."""
    fenced = FENCE.findall(text)
    return "\n".join([*fenced, *CODE.findall(FENCE.sub("", text))])


@cache
def make_targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def commands() -> frozenset[str]:
    shown = CliRunner().invoke(program, ["--help"]).stdout.partition("Commands:")[2]
    return frozenset(re.findall(r"^  ([a-z]+)  ", shown, re.MULTILINE))


def exists(pattern: str) -> bool:
    named = pattern.rstrip("./") or pattern
    return any(ROOT.glob(named)) if "*" in named else (ROOT / named).exists()


def test_every_path_in_code_exists(page: Path) -> None:
    named = set(PATH.findall(code_of(page.read_text())))
    assert sorted(path for path in named if not exists(path)) == []


def test_every_relative_link_leads_somewhere(page: Path) -> None:
    named = set(LINK.findall(page.read_text()))
    assert sorted(link for link in named if not (page.parent / link).exists()) == []


def test_every_make_target_exists(page: Path) -> None:
    named = set(re.findall(r"(?:^|[`$;&]|\s)make ([a-z][\w-]*)", code_of(page.read_text()), re.MULTILINE))
    assert sorted(named - make_targets()) == []


def test_every_command_exists(page: Path) -> None:
    # `oncue` at the start of a line or span, or behind a path: "the `oncue` user" and "import oncue" are no commands.
    named = set(
        re.findall(r"(?:^\s*|[`/]|\$ )oncue ([a-z]+)\b(?! -)", code_of(page.read_text()), re.MULTILINE)
    )
    assert sorted(named - commands()) == []


def test_the_checks_see_what_is_missing() -> None:
    text = "See `common/nowhere.py` and `make nothing`.\n\n    make all-of-it\n\n```\nlua/absent.lua\n```\n"
    code = code_of(text)
    assert PATH.findall(code) == ["lua/absent.lua", "common/nowhere.py"]
    assert not exists("common/nowhere.py")
    assert exists("lua/*.lua")
    assert re.findall(r"make ([a-z-]+)", code) == ["nothing", "all-of-it"]
