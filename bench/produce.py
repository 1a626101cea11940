"""Produce: how many tasks per second one process schedules, due at random within a day."""

import statistics
import time
from collections import defaultdict

from bench.figures import Cells, Figure
from bench.plan import Plan

TITLE = "produce: one process, 100 bytes of data, due within 24 h"
FIGURES = [
    Figure("single", "tasks/s", "one call per task, median of the rounds", "higher"),
    Figure(
        "bulk", "tasks/s", "the fastest way for many that its adapter knows, median of the rounds", "higher"
    ),
    Figure(
        "bare EVALSHA", "calls/s", "a script that does nothing, through redis-py's client, same run", "higher"
    ),
    Figure("single/bare", "ratio", "oncue's single calls as a share of these, round by round", "higher"),
    Figure(
        "bare, own way",
        "calls/s",
        "the same script over oncue's own connection, without that client",
        "higher",
    ),
    Figure("bare pipeline", "calls/s", "the same script, 500 calls in a pipeline of redis-py's", "higher"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Rounds of single, bulk and bare calls in turn, so that noise hits all alike."""
    rounds, seconds = (3, 0.4) if plan.quick else (8, 0.5)
    rates: dict[str, list[float]] = defaultdict(list)
    with plan.session(peer) as session:
        if session.about["scheduler"]:
            session.start_schedulers()
        now = time.time()
        window = [now + 300, now + 86_400]
        for _ in range(rounds):
            done = session.ask("single", seconds=seconds, window=window)
            rates["single"].append(done["number"] / done["seconds"])
            for name, rate in session.ask("bare", seconds=seconds).items():
                rates[name].append(rate)
            done = session.ask("fill", number=200_000, window=window, most_s=seconds)
            rates["bulk"].append(done["number"] / done["seconds"])
    cells: Cells = {name: statistics.median(found) for name, found in rates.items()}
    if bare := rates.get("bare EVALSHA"):
        cells["single/bare"] = statistics.median(a / b for a, b in zip(rates["single"], bare, strict=True))
    return cells
