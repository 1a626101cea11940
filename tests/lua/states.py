"""`python -m tests.lua.states` writes the state machine into docs/task-life.md, from the headers of the scripts.

Each script says in a line `-- States` which state it moves a task from and to, or that all stay `unchanged`. "none" is
a task that the store does not know: before it is scheduled, and after it has been forgotten.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "task-life.md"
STATES = ("none", "blocked", "delayed", "ready", "leased", "done", "dead", "cancelled")
BLOCK = re.compile(r"(<!-- (diagram|table) -->\n).*?(<!-- end -->)", re.DOTALL)
_LINE = re.compile(r"^-- States  (.*(?:\n--  +.*)*)", re.MULTILINE)


class Move(NamedTuple):
    before: str
    after: str


def declared(script: str) -> set[Move]:
    """The moves that the header of a script says."""
    match = _LINE.search((ROOT / "lua" / f"{script}.lua").read_text())
    assert match, f"the header of {script}.lua has no line of states"
    text = " ".join(line.removeprefix("--").strip() for line in match[1].splitlines())
    if text == "unchanged":
        return set()
    moves = set()
    for part in text.split(","):
        before, arrow, after = part.split()
        assert arrow == "->"
        assert {before, after} <= set(STATES), f"{script}.lua speaks of a state that there is not: {part}"
        moves.add(Move(before, after))
    return moves


def scripts() -> list[str]:
    return sorted(path.stem for path in (ROOT / "lua").glob("*.lua"))


def machine() -> dict[Move, list[str]]:
    """Every move, with the scripts that make it, in the order of a task's life."""
    found: dict[Move, list[str]] = {}
    for script in scripts():
        for move in declared(script):
            found.setdefault(move, []).append(script)
    return {move: found[move] for move in sorted(found, key=_order)}


def _order(move: Move) -> tuple[int, int]:
    return STATES.index(move.before), STATES.index(move.after)


def diagram(moves: Iterable[tuple[Move, list[str]]]) -> str:
    lines = ["```mermaid", "stateDiagram-v2"]
    for move, names in moves:
        before, after = ("[*]" if state == "none" else state for state in move)
        lines.append(f"    {before} --> {after}: {', '.join(names)}")
    return "\n".join([*lines, "```"])


def table(moves: Iterable[tuple[Move, list[str]]]) -> str:
    rows = [
        f"| {move.before} | {move.after} | {', '.join(f'`{name}`' for name in names)} |"
        for move, names in moves
    ]
    return "\n".join(["| from | to | scripts |", "|---|---|---|", *rows])


def rewritten(page: str) -> str:
    made = {"diagram": diagram, "table": table}
    return BLOCK.sub(lambda match: f"{match[1]}\n{made[match[2]](machine().items())}\n\n{match[3]}", page)


def main() -> int:
    PAGE.write_text(rewritten(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
