"""Burst: many tasks due at one instant. How soon they can be had, how long the server stalls, how fast they run."""

import time

from bench.figures import Cell, Cells, Figure
from bench.plan import Plan
from bench.session import PeerFailed, Session

TITLE = "burst: tasks due at one instant, one scheduler, one worker"
MOST_S = 35.0
FIGURES = [
    Figure(
        "tasks", "tasks", f"due at the instant: 100,000, or what the peer takes in {MOST_S:g} s", "higher"
    ),
    Figure("first start", "ms", "first handler's start minus due"),
    Figure("stall", "ms", "longest answer to a PING beside it every ms, from before due until drained"),
    Figure(
        "quiet", "ms", "the same figure on the quiet server just before: what the machine itself adds", ""
    ),
    Figure("drained", "tasks/s", "from due until the last ran or the time is up", "higher"),
    Figure("all reservable", "ms", "oncue without a worker: when all are ready, after due"),
    Figure("1,000,000: all reservable", "ms", "the same for a million (not with --quick)"),
    Figure("1,000,000: stall", "ms", "longest PING from before due until one second after"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Fills ahead of the instant, which is chosen by the peer's own rate."""
    number, drain_s = (20_000, 4.0) if plan.quick else (100_000, 7.0)
    each_s = _each_s(plan, peer)
    with plan.session(peer) as session:
        session.start_schedulers()
        session.start_workers()
        session.warm_up()
        quiet = _quiet(session)
        filled, due = _fill(session, number, min(_fill_s(number, each_s), 5.0 if plan.quick else MOST_S))
        time.sleep(max(0.0, due - 1.5 - time.time()))
        stall = session.stall()
        time.sleep(max(0.0, due - time.time()))
        done = session.drain(filled, drain_s)
        stalled = stall.end()
    cells: Cells = {"tasks": filled, "stall": stalled, "quiet": quiet}
    if done.number:
        cells["first start"] = (done.first_s - due) * 1000
        cells["drained"] = done.number / (done.last_s - due)
    else:
        cells["first start"] = f"later than {drain_s:g} s"
    if peer == "oncue":
        cells["all reservable"], _ = _ready(plan, peer, number, each_s)
        if not plan.quick:
            ready, stalled_ms = _ready(plan, peer, 1_000_000, each_s)
            cells["1,000,000: all reservable"], cells["1,000,000: stall"] = ready, stalled_ms
    return cells


def _each_s(plan: Plan, peer: str) -> float:
    """What the peer's client takes for a task in bulk."""
    with plan.session(peer) as session:
        later = time.time() + 3600
        fill = session.ask("fill", number=20_000, window=[later, later], most_s=1)
    return float(fill["seconds"] / fill["number"])


def _fill_s(number: int, each_s: float) -> float:
    # Twice that: beside a worker, and with more tasks there already, a client is slower.
    return 2 + 2 * number * each_s


def _fill(session: Session, number: int, most_s: float) -> tuple[int, float]:
    """How many tasks there are, and when all of them are due."""
    due = float(int(time.time() + most_s + 4))
    filled = int(session.ask("fill", number=number, window=[due, due], most_s=most_s)["number"])
    if time.time() > due - 0.5:
        raise PeerFailed("its client took too long")
    return filled, due


def _quiet(session: Session) -> float:
    stall = session.stall()
    time.sleep(1)
    return stall.end()


def _ready(plan: Plan, peer: str, number: int, each_s: float) -> tuple[Cell, Cell]:
    """Promotion alone: a scheduler, no worker; when all tasks are ready, and the stall, in ms, or why there is no figure."""
    with plan.session(peer) as session:
        session.start_schedulers()
        filled, due = _fill(session, number, _fill_s(number, each_s))
        if filled < number:
            why = f"failed: {filled:,} of {number:,} tasks in time"
            return why, why
        time.sleep(max(0.0, due - 1.5 - time.time()))
        stall = session.stall()
        time.sleep(max(0.0, due - 0.2 - time.time()))
        ready_ms = float(session.ask("ready", number=filled, due=due, most_s=20)["ready_ms"])
        time.sleep(1)
        return ready_ms, stall.end()
