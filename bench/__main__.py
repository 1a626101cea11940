"""``python -m bench``: runs experiments for peers, prints tables with ratios, writes JSON, draws charts."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import environment, processes
from bench.plan import Plan
from bench.run import is_complete, measured

EXPERIMENTS = ("idle", "lateness", "produce", "drain", "burst", "memory", "growth", "crash", "restart")
RESULTS = environment.ROOT / "bench" / "results"
FIGURES = environment.ROOT / "docs" / "figures"
MOST_S = 3600
"""The whole run ends after so long, come what may."""


def main() -> int:
    """Runs what the command line says; 1 if a peer was left out or a cell failed."""
    parser = _parser()
    given = parser.parse_args()
    experiments = _chosen(parser, "experiment", given.only, EXPERIMENTS)
    peers = _chosen(parser, "peer", given.peers, environment.ORDER)
    if given.publish and (given.quick or given.only or given.peers):
        parser.error("--publish is for a whole run: without --quick, --only and --peers")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done after {MOST_S} s"))
    signal.alarm(MOST_S)
    path = given.output or environment.HOME / "latest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        plan = Plan(peers, Path(folder), given.quick, given.huge)
        for name in peers:
            _place(plan, name)
        try:
            # In a thread of its own: signals are handled in the main one, which must not be held up by a peer.
            found = ThreadPoolExecutor(1).submit(measured, plan, experiments, path).result()
        finally:
            processes.end_all()
    print(f"written: {path}")
    if given.publish:
        _publish(path, found)
    elif not given.quick:
        # Its numbers are too small for a chart.
        _draw(path, environment.HOME / "figures")
    return 0 if is_complete(found) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=...",
        description=__doc__,
        epilog="The server is the program that BENCH_SERVER names; else redis-server, if it is there and oncue takes it; "
        "else the one that oncue brings.",
    )
    parser.add_argument("--only", metavar="A,B", help=f"experiments: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--peers", metavar="A,B", help=f"peers: {', '.join(environment.ORDER)}")
    parser.add_argument("--quick", action="store_true", help="smaller numbers, some minutes, no charts")
    parser.add_argument(
        "--huge", action="store_true", help="growth up to 10,000,000 waiting tasks (3 GB, some minutes more)"
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="of a whole run: its file into bench/results, its charts into docs/figures",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="the JSON file; .bench/latest.json else")
    return parser


def _chosen(
    parser: argparse.ArgumentParser, kind: str, text: str | None, known: tuple[str, ...]
) -> list[str]:
    chosen = text.split(",") if text else list(known)
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"there is no {kind} {unknown[0]}: choose among {', '.join(known)}")
    return chosen


def _place(plan: Plan, name: str) -> None:
    try:
        plan.places[name] = environment.place(name)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        plan.left_out[name] = str(error)
        print(f"{name} is left out: {error}", file=sys.stderr)


def _publish(path: Path, found: dict[str, Any]) -> None:
    if any("left_out" in about for about in found["peers"].values()):
        print("not published: peers were left out", file=sys.stderr)
        return
    kept = RESULTS / f"{found['date']}.json"
    shutil.copy(path, kept)
    print(f"written: {kept}")
    _draw(kept, FIGURES)


def _draw(path: Path, into: Path) -> None:
    try:
        folder = environment.python("charts")
    except RuntimeError as error:
        print(f"no charts: {error}", file=sys.stderr)
        return
    command = [str(folder / "bin" / "python"), "-m", "bench.charts", str(path), str(into)]
    subprocess.run(command, cwd=environment.ROOT, check=True)


def _run() -> int:
    try:
        return main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    except BaseException:  # noqa: BLE001 - a key pressed, a bug
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    status = _run()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: it would wait for threads that wait for a peer, though everything they started is gone.
    os._exit(status)
