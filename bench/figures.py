"""What an experiment yields: cells of a table, each a number or a sentence, with a ratio to oncue's."""

import math
from dataclasses import dataclass
from typing import Any

Cell = float | int | str
Cells = dict[str, Cell]


@dataclass(frozen=True)
class Figure:
    """One column: what the number is, and which way is better: ``lower``, ``higher``, or neither (``""``).

    Where neither is, as for a number that may be below zero, its ratio to oncue's would mean nothing and is not shown.
    """

    name: str
    unit: str
    means: str
    better: str = "lower"

    @property
    def title(self) -> str:
        """The head of its column; what the mark means says MARKS."""
        return self.name + {"lower": " ↓", "higher": " ↑"}.get(self.better, "")


MARKS = "↓ lower is better, ↑ higher is better"


def percentile(values: list[float], share: float) -> float:
    """The nearest rank: the smallest of the values such that at least ``share`` of them are no greater."""
    # Rounded first: 0.07 * 100 is a little more than 7.
    rank = math.ceil(round(share * len(values), 6))
    return sorted(values)[max(rank, 1) - 1]


def shown(cell: Cell | None) -> str:
    """A cell as people read it."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"


def ratio(figure: Figure, cell: Cell | None, base: Cell | None) -> str:
    """How many times oncue's figure it is; nothing where that means nothing."""
    if not figure.better or isinstance(cell, str) or isinstance(base, str) or cell is None or base is None:
        return ""
    if cell < 0 or base <= 0:
        return ""
    return f"{cell / base:.2g}x" if cell / base < 100 else f"{cell / base:,.0f}x"


def table(figures: list[Figure], rows: dict[str, Cells]) -> str:
    """Peers down, figures across; beside each number its ratio to oncue's, sentences below."""
    base = rows.get("oncue", {})
    notes: list[str] = []
    lines = [
        ["", *(f"{figure.title} [{figure.unit}]" if figure.unit else figure.title for figure in figures)]
    ]
    for peer, cells in rows.items():
        line = [peer]
        for figure in figures:
            cell = cells.get(figure.name)
            if isinstance(cell, str) and len(cell) > 16:
                notes.append(cell)
                line.append(f"[{len(notes)}]" if notes.count(cell) == 1 else f"[{notes.index(cell) + 1}]")
                if notes.count(cell) > 1:
                    notes.pop()
            else:
                beside = ratio(figure, cell, base.get(figure.name)) if peer != "oncue" else ""
                line.append(f"{shown(cell)} {beside}".strip())
        lines.append(line)
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    text = [
        "  ".join(word.rjust(widths[at]) if at else word.ljust(widths[at]) for at, word in enumerate(line))
        for line in lines
    ]
    return "\n".join([*text, *(f"  [{at + 1}] {note}" for at, note in enumerate(notes))])


def plain(figures: list[Figure]) -> list[dict[str, Any]]:
    """For JSON."""
    return [vars(figure) for figure in figures]
