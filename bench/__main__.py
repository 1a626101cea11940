"""``python -m bench``: runs experiments for peers, prints tables with ratios, writes JSON, draws charts."""

import argparse
import importlib
import json
import platform
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import redis

from bench import environment, figures, processes
from bench.figures import Cells
from bench.plan import Plan
from bench.server import Server
from bench.session import PeerFailed

EXPERIMENTS = ("idle", "lateness", "produce", "drain", "burst", "memory", "growth", "crash", "restart")
RESULTS = environment.ROOT / "bench" / "results"
FAULTS = (PeerFailed, OSError, LookupError, ValueError, RuntimeError, redis.RedisError, psutil.Error)
MOST_S = 3600
"""The whole run ends after so long, come what may."""


def main() -> int:
    """Runs what the command line says."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
    parser.add_argument("--only", metavar="A,B", help=f"experiments: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--peers", metavar="A,B", help=f"peers: {', '.join(environment.ORDER)}")
    parser.add_argument("--quick", action="store_true", help="smaller numbers, some minutes")
    parser.add_argument(
        "--huge", action="store_true", help="growth up to 10,000,000 waiting tasks (3 GB, some minutes more)"
    )
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="the JSON file; bench/results/latest.json else"
    )
    given = parser.parse_args()
    experiments = given.only.split(",") if given.only else list(EXPERIMENTS)
    peers = given.peers.split(",") if given.peers else list(environment.ORDER)
    if unknown := [name for name in experiments if name not in EXPERIMENTS]:
        parser.error(f"there is no experiment {unknown[0]}: choose among {', '.join(EXPERIMENTS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done after {MOST_S} s"))
    signal.alarm(MOST_S)
    path = given.output or RESULTS / "latest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    plan = Plan(given.quick, given.huge)
    for name in peers:
        _place(plan, name)
    found = _header(plan)
    for name in experiments:
        found["experiments"][name] = _run(plan, importlib.import_module(f"bench.{name}"))
        # After each: a run that is broken off has not been in vain.
        path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"written: {path}")
    # The pages show a whole run; the charts of a part must not take their place.
    is_whole = not (given.quick or given.only or given.peers)
    _draw(path, environment.ROOT / "docs" / "figures" if is_whole else environment.HOME / "figures")
    return 0


def _place(plan: Plan, name: str) -> None:
    try:
        plan.places[name] = environment.place(name)
    except RuntimeError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)


def _header(plan: Plan) -> dict[str, Any]:
    versions: dict[str, Any] = {}
    for name in list(plan.places):
        try:
            with plan.session(name) as session:
                versions[name] = {key: session.about[key] for key in ("versions", "note", "cannot")}
        except PeerFailed as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            del plan.places[name]
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
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
        "peers": versions,
        "experiments": {},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _commit() -> str:
    command = ["git", "-C", str(environment.ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _run(plan: Plan, experiment: ModuleType) -> dict[str, Any]:
    began, load = time.monotonic(), processes.load_average()
    peers = list(plan.places)
    if hasattr(experiment, "measure_all"):
        rows = _all_cells(plan, experiment)
    elif getattr(experiment, "AT_ONCE", False):
        with ThreadPoolExecutor(len(peers)) as pool:
            rows = dict(zip(peers, pool.map(lambda name: _cells(plan, experiment, name), peers), strict=True))
    else:
        rows = {name: _cells(plan, experiment, name) for name in peers}
    loads = [round(load, 2), round(processes.load_average(), 2)]
    print(f"\n{experiment.TITLE}   ({time.monotonic() - began:.0f} s, load {loads[0]} to {loads[1]})")
    print(figures.table(experiment.FIGURES, rows), flush=True)
    return {
        "title": experiment.TITLE,
        "figures": figures.plain(experiment.FIGURES),
        "rows": rows,
        "load": loads,
        "seconds": round(time.monotonic() - began, 1),
    }


def _all_cells(plan: Plan, experiment: ModuleType) -> dict[str, Cells]:
    if "oncue" not in plan.places:
        return {}
    try:
        rows: dict[str, Cells] = experiment.measure_all(plan, "oncue")
        return rows
    except FAULTS as error:
        return {"oncue": dict.fromkeys((figure.name for figure in experiment.FIGURES), f"failed: {error}")}


def _cells(plan: Plan, experiment: ModuleType, peer: str) -> Cells:
    try:
        cells: Cells = experiment.measure(plan, peer)
        return cells
    except FAULTS as error:
        text = " ".join(f"failed: {error}".split())[:200]
        print(f"{peer}: {text}", file=sys.stderr, flush=True)
        return dict.fromkeys((figure.name for figure in experiment.FIGURES), text)


def _draw(path: Path, into: Path) -> None:
    try:
        folder = environment.python("charts")
    except RuntimeError as error:
        print(f"no charts: {error}", file=sys.stderr)
        return
    command = [str(folder / "bin" / "python"), "-m", "bench.charts", str(path), str(into)]
    subprocess.run(command, cwd=environment.ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
