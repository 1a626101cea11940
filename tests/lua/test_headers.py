"""The header of each script is its contract: it is complete, and it fits what the script does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "lua").glob("*.lua"))
INCLUDES = sorted((ROOT / "lua" / "include").glob("*.lua"))
SECTIONS = ("KEYS", "ARGV", "Output", "Cost")
INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)
DEFINED = re.compile(r"^local function (\w+)|^local ([A-Z_]+(?:, [A-Z_]+)*) =", re.MULTILINE)
# A fixed slot in a header, "3 timetable" or "9.. slots", at the start of a list or after a comma or semicolon.
SLOT = re.compile(r"(?:^|[,;]\s+)(\d+)(\.\.)? (\w+)")
FORBIDDEN = {
    "the clock comes as an argument": r'"TIME"|\bos\.',
    "chance comes as an argument": r"math\.random|RANDOMKEY|SRANDMEMBER|HRANDFIELD|ZRANDMEMBER|SPOP",
    "no command that looks at all keys": r'"(?:KEYS|SCAN|FLUSH\w+|DBSIZE)"',
    "no key is built": r'redis\.p?call\("\w+", *(?:"|[^,()]*\.\. )',
    "an error must not pass unseen": r"\bpcall\b",
}


def parts(text: str) -> tuple[str, str]:
    """Header and body of a script, comments of the body gone."""
    lines = text.splitlines()
    end = next(n for n, line in enumerate(lines) if not line.startswith("--"))
    return "\n".join(lines[:end]), re.sub(r"--.*", "", "\n".join(lines[end:]))


def section(header: str, name: str) -> str:
    """The text of one section of a header, its lines joined."""
    match = re.search(rf"^-- {name}  (.*(?:\n--  +.*)*)", header, re.MULTILINE)
    assert match, f"the header has no {name}"
    return " ".join(line.removeprefix("--").strip() for line in match[1].splitlines())


def slots(text: str) -> dict[int, str]:
    return {int(number): name for number, _, name in SLOT.findall(text)}


def names(include: str) -> set[str]:
    """What an include gives to the script."""
    text = (ROOT / "lua" / "include" / f"{include}.lua").read_text()
    found = set()
    for function, constants in DEFINED.findall(text):
        found |= {function} if function else set(constants.split(", "))
    return found


def uses(body: str, include: str) -> bool:
    return any(re.search(rf"\b{name}\b", body) for name in names(include))


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_the_header_says_purpose_keys_arguments_output_cost_and_what_if_anyone_dies(path: Path) -> None:
    header, _ = parts(path.read_text())
    assert re.match(rf"-- {path.stem}: \S", header)
    for name in SECTIONS:
        assert section(header, name)
    assert re.search(r"\b[Dd]ies (?:before|after|between)", header)
    order = [header.index(f"-- {name}  ") for name in SECTIONS]
    assert order == sorted(order)


@pytest.mark.parametrize("table", ["KEYS", "ARGV"])
def test_the_header_numbers_each_slot_that_the_script_uses(path: Path, table: str) -> None:
    header, body = parts(path.read_text())
    text = section(header, table)
    named = slots(text)
    assert sorted(named) == list(range(1, len(named) + 1))
    used = {int(number) for number in re.findall(rf"\b{table}\[(\d+)\]", body)}
    beyond = "then" in text or ".." in text
    assert used <= set(named) or (beyond and max(used) <= len(named) + 2)
    if table == "KEYS" and not beyond:
        # Every declared key is used by the script itself: what nobody needs must not be asked for.
        assert used == set(named)


def test_the_names_of_keys_are_those_of_the_header(path: Path) -> None:
    header, body = parts(path.read_text())
    named = slots(section(header, "KEYS"))
    for name, number in re.findall(r"\b(\w+) = KEYS\[(\d+)\]", body):
        assert named.get(int(number), name) in (name, "the")


def test_every_include_is_there_and_needed_and_none_is_missing(path: Path) -> None:
    text = path.read_text()
    included = INCLUDE.findall(text)
    _, body = parts(text)
    assert len(included) == len(set(included))
    known = {include.stem: include.read_text() for include in INCLUDES}
    code = {name: re.sub(r"--.*", "", text) for name, text in known.items()}
    for name in included:
        others = "\n".join(code[other] for other in included if other != name)
        assert uses(body + others, name), f"{path.name} does not need {name}"
    for name in set(known) - set(included):
        whole = body + "\n".join(code[other] for other in included)
        mine = set(re.findall(r"\blocal (?:function )?(\w+)", whole))
        missing = {found for found in names(name) - mine if re.search(rf"\b{found}\b", whole)}
        assert not missing, f"{path.name} lacks {name}"


def test_includes_stand_before_those_that_use_them(path: Path) -> None:
    included = INCLUDE.findall(path.read_text())
    for at, name in enumerate(included):
        code = re.sub(r"--.*", "", (ROOT / "lua" / "include" / f"{name}.lua").read_text())
        for later in included[at + 1 :]:
            assert not uses(code, later), f"{path.name}: {name} uses {later}, which comes after it"


@pytest.mark.parametrize("why", FORBIDDEN)
@pytest.mark.parametrize("text", [*SCRIPTS, *INCLUDES], ids=lambda path: path.stem)
def test_no_script_asks_for_what_has_to_be_given(text: Path, why: str) -> None:
    code = re.sub(r"--.*", "", text.read_text())
    assert re.findall(FORBIDDEN[why], code) == []


@pytest.mark.parametrize(
    "code",
    [
        'redis.call("TIME")',
        "os.time()",
        "math.random(3)",
        'redis.call("KEYS", "*")',
        'redis.call("GET", "x")',
        'redis.call("GET", prefix .. "x")',
        'redis.pcall("GET", KEYS[1])',
    ],
)
def test_the_check_sees_what_is_forbidden(code: str) -> None:
    assert any(re.search(pattern, code) for pattern in FORBIDDEN.values())


def test_every_include_is_used_by_some_script() -> None:
    used = {name for path in SCRIPTS for name in INCLUDE.findall(path.read_text())}
    assert used == {path.stem for path in INCLUDES}


@pytest.mark.parametrize("include", INCLUDES, ids=lambda path: path.stem)
def test_every_include_says_first_what_it_is_for(include: Path) -> None:
    assert include.read_text().startswith("-- ")
