"""Burst: many tasks due at one instant. How soon they can be had, how long the server stalls, how fast they run."""

import time
from typing import Any

from bench.figures import Cells, Figure
from bench.plan import Plan
from bench.session import Session

TITLE = "burst: tasks due at one instant, one scheduler, one worker"
FIGURES = [
    Figure(
        "tasks", "tasks", "due at the instant: 100,000, or what the peer takes in the time given", "higher"
    ),
    Figure("first start", "ms", "first handler's start minus due"),
    Figure("stall", "ms", "longest answer to a PING beside it every ms, from before due until drained"),
    Figure("quiet", "ms", "the same figure on the quiet server just before: what the machine itself adds"),
    Figure("drained", "tasks/s", "from due until the last ran or the time is up", "higher"),
    Figure("all reservable", "ms", "oncue without a worker: when all are ready, after due"),
    Figure("1,000,000: all reservable", "ms", "the same for a million (not with --quick)"),
    Figure("1,000,000: stall", "ms", "longest PING from before due until one second after"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Fills ahead of the instant; the instant is set once the filling is done."""
    number, fill_s, drain_s = (20_000, 3.0, 4.0) if plan.quick else (100_000, 6.0, 7.0)
    with plan.session(peer) as session:
        session.start_schedulers()
        session.start_workers()
        session.warm_up()
        quiet = _quiet(session)
        due = float(int(time.time() + fill_s + 4))
        fill = session.ask("fill", number=number, window=[due, due], most_s=fill_s)
        filled = fill["number"]
        if time.time() > due - 0.5:
            return dict.fromkeys((figure.name for figure in FIGURES), "its client took too long")
        time.sleep(max(0.0, due - 1.5 - time.time()))
        stall = session.stall()
        time.sleep(max(0.0, due - time.time()))
        done = session.drain(filled, drain_s)
        stalled = stall.end()
    if not done.number:
        return {"tasks": filled, "stall": stalled["max_ms"], "first start": f"later than {drain_s:g} s"}
    cells: Cells = {
        "tasks": filled,
        "first start": (done.first_s - due) * 1000,
        "stall": stalled["max_ms"],
        "quiet": quiet,
        "drained": done.number / (done.last_s - due),
    }
    if peer == "oncue":
        each_s = fill["seconds"] / filled
        cells["all reservable"] = _ready(plan, peer, number, each_s)["ready_ms"]
        if not plan.quick:
            million = _ready(plan, peer, 1_000_000, each_s)
            cells["1,000,000: all reservable"] = million["ready_ms"]
            cells["1,000,000: stall"] = million["stall_ms"]
    return cells


def _quiet(session: Session) -> float:
    stall = session.stall()
    time.sleep(1)
    return float(stall.end()["max_ms"])


def _ready(plan: Plan, peer: str, number: int, each_s: float) -> dict[str, Any]:
    """Promotion alone: a scheduler, no worker; the count of ready tasks is read until it is complete."""
    with plan.session(peer) as session:
        session.start_schedulers()
        # Twice what it took before, so that the instant is ahead of the last task also on a busy machine.
        fill_s = 3 + 2 * number * each_s
        due = float(int(time.time() + fill_s + 4))
        filled = session.ask("fill", number=number, window=[due, due], most_s=fill_s)["number"]
        time.sleep(max(0.0, due - 1.5 - time.time()))
        stall = session.stall()
        time.sleep(max(0.0, due - 0.2 - time.time()))
        ready_ms = session.ask("ready", number=filled, due=due, most_s=20)["ready_ms"]
        time.sleep(1)
        return {"ready_ms": ready_ms, "stall_ms": stall.end()["max_ms"]}
