"""`python -m tests.lua.lint`: luacheck over every script as the server gets it, includes in their places.

A script alone would have undefined names and an include alone unused ones; only the assembled text can be judged.
Findings are led back to the file and line that they come from.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from oncue.common.scripts import assembled

ROOT = Path(__file__).resolve().parents[2]
LUA = ROOT / "lua"
INCLUDE = re.compile(r"-- include: (\w+)$")
LUACHECK = [
    "luacheck",
    "--config",
    ".luacheckrc",
    "--no-color",
    "--codes",
    "--ranges",
    "--formatter",
    "plain",
]
FINDING = re.compile(r"^script:(?P<line>\d+):\d+-\d+: (?P<what>.*)$")
UNUSED_FUNCTION = "(W211) unused function"


class Line(NamedTuple):
    """One line of an assembled script, and where it stands."""

    file: str
    number: int
    text: str


class Finding(NamedTuple):
    at: Line
    what: str


def script_lines(path: Path) -> list[Line]:
    """The lines of a script with those of its includes in their places."""
    lines: list[Line] = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        include = INCLUDE.match(text)
        here = Line(path.relative_to(LUA.parent).as_posix(), number, text)
        lines += script_lines(LUA / "include" / f"{include[1]}.lua") if include else [here]
    return lines


def findings(lines: list[Line]) -> list[Finding]:
    """What luacheck says of one assembled script."""
    done = subprocess.run(
        [*LUACHECK, "--filename", "script", "-"],
        input="".join(f"{line.text}\n" for line in lines),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    matches = [match for match in map(FINDING.match, done.stdout.splitlines()) if match]
    # 1 is warnings, 2 errors in the script; beyond that, or with nothing to show for it, luacheck itself did not work.
    if done.returncode > 2 or (done.returncode and not matches):
        raise SystemExit(f"luacheck failed: {done.stderr.strip() or done.stdout.strip()}")
    # A text that ends too soon is faulted one line past its last.
    return [Finding(lines[min(int(m["line"]), len(lines)) - 1], m["what"]) for m in matches]


def unexcused(scripts: list[list[Line]]) -> list[Finding]:
    """The findings of all scripts, each once. A function of an include may be unused in a script, not in all of them."""
    holders = Counter(line for lines in scripts for line in set(lines))
    found = Counter(finding for lines in scripts for finding in findings(lines))
    return sorted(
        finding
        for finding, times in found.items()
        if not finding.what.startswith(UNUSED_FUNCTION) or times == holders[finding.at]
    )


def main() -> int:
    if not shutil.which("luacheck"):
        print("luacheck is missing: install it (on Debian: apt-get install lua-check).", file=sys.stderr)
        return 1
    paths = sorted(LUA.glob("*.lua"))
    scripts = [script_lines(path) for path in paths]
    for path, lines in zip(paths, scripts, strict=True):
        if "".join(f"{line.text}\n" for line in lines) != assembled(path.stem):
            raise SystemExit(
                f"{path.name} is not assembled here as in oncue.common.scripts: mend tests/lua/lint.py"
            )
    found = unexcused(scripts)
    for at, what in found:
        print(f"{at.file}:{at.number}: {what}\n    {at.text.strip()}")
    print(f"luacheck: {len(paths)} scripts, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
