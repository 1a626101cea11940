"""Lateness: how long after its due time a handler starts, by the handler's own clock."""

import random
import statistics
import time

from bench.figures import Cells, Figure, percentile
from bench.plan import Plan
from bench.session import PeerFailed, Session

WAIT_S = 20.0
TITLE = "lateness: tasks at random instants, one scheduler, one worker"
FIGURES = [
    Figure("p50", "ms", "median of start minus due"),
    Figure("p95", "ms", "95th percentile"),
    Figure("p99", "ms", "99th percentile"),
    Figure("max", "ms", "the latest start"),
    Figure("min", "ms", "the earliest start; below zero is early", ""),
    Figure("early", "tasks", "tasks that started before they were due"),
    Figure(
        "not started",
        "tasks",
        f"tasks that had not started {WAIT_S:g} s after the last was due; not in the others",
    ),
]


def measure(plan: Plan, peer: str) -> Cells:
    """200 tasks over 30 s (40 over 6 s with --quick)."""
    tasks, span_s = (40, 6.0) if plan.quick else (200, 30.0)
    with plan.session(peer) as session:
        session.start_schedulers()
        session.start_workers()
        session.warm_up()
        late = _late(session, tasks, span_s)
    if not late:
        raise PeerFailed(f"none of {tasks} tasks started")
    return {
        "p50": statistics.median(late),
        "p95": percentile(late, 0.95),
        "p99": percentile(late, 0.99),
        "max": max(late),
        "min": min(late),
        "early": sum(ms < 0 for ms in late),
        "not started": tasks - len(late),
        "_late_ms": ",".join(f"{ms:.3f}" for ms in late),
    }


def _late(session: Session, tasks: int, span_s: float) -> list[float]:
    begin = time.time() + 1
    # Whole milliseconds: what every peer's wire format can at best express.
    dues = [round(begin + random.uniform(0, span_s), 3) for _ in range(tasks)]
    session.ask("marks", dues=dues)
    session.wait(lambda: sum(number >= 0 for number in session.starts()) >= tasks, span_s + WAIT_S, 0.2)
    starts = session.starts()
    return [(starts[number] - due) * 1000 for number, due in enumerate(dues) if number in starts]
