"""Prints the tables of a run (its JSON) as Markdown: ``python -m bench.tables FILE.json [EXPERIMENT ...]``."""

import json
import sys
from pathlib import Path
from typing import Any

from bench.figures import MARKS, Cell, Figure, ratio, shown


def main(source: Path, wanted: list[str]) -> None:
    """All tables, or those wanted."""
    run = json.loads(source.read_text())
    for name, experiment in run["experiments"].items():
        if not wanted or name in wanted:
            print(
                f"### {experiment['title']}\n\nLoad average {experiment['load'][0]} to {experiment['load'][1]}.\n"
            )
            print(markdown(experiment))


def markdown(experiment: dict[str, Any]) -> str:
    """One table, and below it what its figures mean."""
    figures, rows = [Figure(**figure) for figure in experiment["figures"]], experiment["rows"]
    base = rows.get("oncue", {})
    head = "".join(f"| {figure.title}{_unit(figure.unit)} " for figure in figures)
    lines = [f"| {head}|", "|---" * (len(figures) + 1) + "|"]
    for peer, cells in rows.items():
        words = (
            _cell(figure, cells.get(figure.name), base.get(figure.name), peer == "oncue")
            for figure in figures
        )
        lines.append(f"| {peer} | {' | '.join(words)} |")
    means = "; ".join(f"*{figure.name}*: {figure.means}" for figure in figures)
    return "\n".join([*lines, "", f"{MARKS}. {means}.", ""])


def _unit(unit: str) -> str:
    return f", {unit}" if unit else ""


def _cell(figure: Figure, cell: Cell | None, base: Cell | None, is_base: bool) -> str:
    beside = "" if is_base else ratio(figure, cell, base)
    return f"{shown(cell)} ({beside})" if beside else shown(cell)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
