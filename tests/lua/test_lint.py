"""The Lua linter finds what it is there to find: a gate that passes everything looks the same as a clean tree."""

from __future__ import annotations

import pytest

from tests.lua.lint import Line, findings, unexcused


def script(text: str, file: str = "lua/example.lua") -> list[Line]:
    return [Line(file, number, line) for number, line in enumerate(text.splitlines(), 1)]


def test_a_clean_script_has_no_findings() -> None:
    assert findings(script('local now = tonumber(ARGV[1])\nreturn redis.call("GET", KEYS[1]) or now\n')) == []


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("local left = 1\nreturn 2\n", "unused variable 'left'", 1),
        ("local x = 2\ntotal = x\nreturn 1\n", "'total'", 2),
        ("return os.time()\n", "'os'", 1),
        ("KEYS = {}\nreturn 1\n", "'KEYS'", 1),
        ("return 1 +\n", "expected expression", 1),
        (f"return 1 -- {'x' * 120}\n", "line is too long", 1),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, says: str, line: int) -> None:
    found = findings(script(text))
    assert found
    assert says in found[0].what
    assert found[0].at.number == line


def test_a_function_of_an_include_must_be_used_by_one_script_at_least() -> None:
    include = script("local function due(text)\n  return tonumber(text)\nend\n", "lua/include/due.lua")
    uses, does_not = script("return due(ARGV[1])\n"), script("return 1\n")
    assert unexcused([include + uses, include + does_not]) == []
    (found,) = unexcused([include + does_not, include + does_not])
    assert found.at == include[0]
