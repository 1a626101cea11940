"""Draws the charts of a run (its JSON) into a folder. Runs in an environment of its own that has matplotlib.

``python -m bench.charts FILE.json FOLDER``
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl  # pyright: ignore[reportMissingImports] - in an environment of its own
import matplotlib.pyplot as plt  # pyright: ignore[reportMissingImports]

OURS, PEERS, INK, FAINT = "#0b6e4f", "#b8bfc6", "#24292f", "#8b949e"


class Panel(NamedTuple):
    """One small bar chart."""

    experiment: str
    figure: str
    title: str
    direction: str


PANELS = (
    Panel(
        "drain",
        "1 process",
        "Ready no-op tasks run per second,\none worker process of 10 threads",
        "more is better",
    ),
    Panel("produce", "bulk", "Tasks scheduled per second,\none process, in bulk", "more is better"),
    Panel("produce", "single", "Tasks scheduled per second,\none process, one call each", "more is better"),
    Panel(
        "idle",
        "commands",
        "Commands per minute of an idle cluster,\n2 schedulers and 4 workers",
        "less is better",
    ),
    Panel("memory", "per task", "Bytes of server memory\nper delayed task of 100 bytes", "less is better"),
    Panel("crash", "worker", "Seconds until the task of a killed\nworker runs again", "less is better"),
)


def main(source: Path, folder: Path) -> None:
    """Draws what the run has measured, and leaves the rest out."""
    run = json.loads(source.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams.update(
        {
            "font.size": 9,
            "svg.hashsalt": "oncue",
            "text.color": INK,
            "axes.edgecolor": FAINT,
            "xtick.color": FAINT,
        }
    )
    panels = [panel for panel in PANELS if panel.experiment in run["experiments"]]
    if panels:
        _save(_bars(run, panels), run, folder / "performance.svg")
    if "lateness" in run["experiments"]:
        _save(_lateness(run), run, folder / "lateness.svg")


def _bars(run: dict[str, Any], panels: list[Panel]) -> Any:
    rows = (len(panels) + 2) // 3
    figure, axes = plt.subplots(rows, 3, figsize=(12, 3.1 * rows + 0.8), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels, strict=False):
        _bar(axis, run["experiments"][panel.experiment]["rows"], panel)
    return figure


def _bar(axis: Any, rows: dict[str, dict[str, Any]], panel: Panel) -> None:
    names = list(rows)[::-1]
    cells = [rows[name].get(panel.figure) for name in names]
    numbers = [cell if isinstance(cell, int | float) and cell > 0 else None for cell in cells]
    known = [number for number in numbers if number is not None]
    floor = min(known, default=1) / 2
    for at, (name, cell, number) in enumerate(zip(names, cells, numbers, strict=True)):
        if number is not None:
            axis.barh(at, number, color=OURS if name == "oncue" else PEERS, height=0.7)
        is_number = isinstance(cell, int | float)
        said = str(cell or "not measured").partition(":")[0]
        text = f" {cell:,.0f}" if is_number else f" {textwrap.shorten(said, 38)}"
        weight = "bold" if name == "oncue" else "normal"
        colour = INK if is_number else FAINT
        axis.text(number or floor, at, text, va="center", fontsize=8, weight=weight, color=colour)
    axis.set_xscale("log")
    axis.set_xlim(floor, max(known, default=1) * 6)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_title(panel.title, fontsize=9.5, loc="left")
    axis.set_xlabel(f"logarithmic; {panel.direction}", fontsize=7.5, color=FAINT)
    axis.minorticks_off()
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=7)


def _lateness(run: dict[str, Any]) -> Any:
    figure, axis = plt.subplots(figsize=(9, 4.6))
    colours = plt.get_cmap("tab10")
    for at, (name, cells) in enumerate(run["experiments"]["lateness"]["rows"].items()):
        text = cells.get("_late_ms")
        if not text:
            continue
        late = sorted(float(ms) for ms in text.split(","))
        shares = [(number + 1) / len(late) for number in range(len(late))]
        early = f" ({cells['early']} early)" if cells["early"] else ""
        colour, width = (OURS, 2.6) if name == "oncue" else (colours(at), 1.3)
        axis.plot(
            late,
            shares,
            label=name + early,
            color=colour,
            linewidth=width,
            zorder=3 if name == "oncue" else 2,
        )
    axis.set_xscale("symlog", linthresh=1)
    axis.axvline(0, color=FAINT, linewidth=0.8)
    axis.set_xlabel("start minus due in ms (linear below 1 ms, logarithmic above; left of zero is early)")
    axis.set_ylabel("share of tasks started")
    axis.set_title("Lateness of a handler's start, tasks at random instants", loc="left", fontsize=10)
    axis.grid(color="#e6e8eb", linewidth=0.6)
    axis.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.12, 0))
    return figure


def _save(figure: Any, run: dict[str, Any], path: Path) -> None:
    versions = ", ".join(
        f"{package} {version}"
        for peer in run["peers"].values()
        for package, version in peer["versions"].items()
        if package not in ("redis", "hiredis")
    )
    text = f"{run['date']}, {run['server']}, Python {run['python']}, {run['machine']}. {versions}"
    text += ". A quick run." if run["quick"] else ""
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.text(0.01, 0.01, "\n".join(textwrap.wrap(text, 150)), fontsize=7, color=FAINT, va="bottom")
    figure.savefig(path, metadata={"Date": None})
    print(f"drawn: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
