"""A run's experiments, one after the other: their cells, whatever a peer does, and what the run's file says of itself."""

import importlib
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import environment, figures, processes
from bench.figures import Cells
from bench.plan import Plan
from bench.server import Server
from bench.session import PeerFailed


def measured(plan: Plan, experiments: Sequence[str], path: Path) -> dict[str, Any]:
    """Runs the experiments, prints their tables, and returns what it has written to ``path``."""
    found = _header(plan)
    for name in experiments:
        plan.begin(name)
        found["experiments"][name] = _experiment(plan, importlib.import_module(f"bench.{name}"))
        # After each: a run that is broken off has not been in vain.
        path.write_text(json.dumps(found, indent=1) + "\n")
    return found


def is_complete(found: dict[str, Any]) -> bool:
    """Whether no peer was left out and no cell failed."""
    rows = [row for experiment in found["experiments"].values() for row in experiment["rows"].values()]
    cells = [cell for row in rows for cell in row.values() if isinstance(cell, str)]
    return not any(cell.startswith(("left out: ", "failed: ")) for cell in cells)


def _header(plan: Plan) -> dict[str, Any]:
    plan.begin("describe")
    with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
        server = Server(Path(folder))
        server.start()
        version = server.version()
        server.stop()
    return {
        "date": time.strftime("%Y-%m-%d"),
        "quick": plan.quick,
        "machine": f"{_processor()}, {processes.cores()} cores, Linux {platform.release()}",
        "server": version,
        "python": platform.python_version(),
        "commit": _commit(),
        "peers": {name: _about(plan, name) for name in plan.peers},
        "experiments": {},
    }


def _about(plan: Plan, name: str) -> dict[str, Any]:
    """What the peer says of itself; one that does not start is left out from here on."""
    try:
        if name in plan.places:
            with plan.session(name) as session:
                return {key: session.about[key] for key in ("versions", "note", "cannot")}
    except Exception as error:  # noqa: BLE001 - whatever keeps it from starting is told
        del plan.places[name]
        plan.left_out[name] = _sentence(error)
        print(f"{name} is left out: {plan.left_out[name]}", file=sys.stderr)
    return {"versions": {}, "left_out": plan.left_out[name]}


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    """The commit, with ``-dirty`` where the tree is not as it says."""
    command = ["git", "-C", str(environment.ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _experiment(plan: Plan, experiment: ModuleType) -> dict[str, Any]:
    began, load = time.monotonic(), processes.load_average()
    found = rows(plan, experiment)
    loads = [round(load, 2), round(processes.load_average(), 2)]
    spent_s = time.monotonic() - began
    print(f"\n{experiment.TITLE}   ({spent_s:.0f} s, load {loads[0]} to {loads[1]}; {figures.MARKS})")
    print(figures.table(experiment.FIGURES, found), flush=True)
    return {
        "title": experiment.TITLE,
        "figures": figures.plain(experiment.FIGURES),
        "rows": found,
        "load": loads,
        "seconds": round(spent_s, 1),
    }


def rows(plan: Plan, experiment: ModuleType) -> dict[str, Cells]:
    """The experiment's cells, a row for each peer asked for, with a reason where there is no figure."""
    if hasattr(experiment, "measure_all"):
        return _rows_of_oncue(plan, experiment)
    at_once = getattr(experiment, "AT_ONCE", False)
    with ThreadPoolExecutor(len(plan.peers) if at_once else 1) as pool:
        found = pool.map(lambda name: _cells(plan, experiment, name), plan.peers)
        return dict(zip(plan.peers, found, strict=True))


def _rows_of_oncue(plan: Plan, experiment: ModuleType) -> dict[str, Cells]:
    """For an experiment of oncue alone, whose rows are something else than peers."""
    if "oncue" not in plan.places:
        why = plan.left_out.get("oncue", "not among the peers")
        return {"oncue": _all(experiment, f"left out: {why}")}
    try:
        found: dict[str, Cells] = experiment.measure_all(plan, "oncue")
        return found
    except Exception as error:  # noqa: BLE001 - as below
        return {"oncue": _all(experiment, _failed("oncue", error))}


def _cells(plan: Plan, experiment: ModuleType, peer: str) -> Cells:
    if peer not in plan.places:
        return _all(experiment, f"left out: {plan.left_out[peer]}")
    try:
        cells: Cells = experiment.measure(plan, peer)
        return cells
    except Exception as error:  # noqa: BLE001 - a fault of one measurement is told in its row, and the others go on
        return _all(experiment, _failed(peer, error))


def _failed(peer: str, error: Exception) -> str:
    text = f"failed: {_sentence(error)}"
    print(f"{peer}: {text}", file=sys.stderr, flush=True)
    return text


def _sentence(error: Exception) -> str:
    told = str(error) if isinstance(error, PeerFailed | RuntimeError) else f"{type(error).__name__}: {error}"
    return " ".join(told.split())[:200]


def _all(experiment: ModuleType, text: str) -> Cells:
    return dict.fromkeys((figure.name for figure in experiment.FIGURES), text)
