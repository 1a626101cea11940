"""Produce: how many tasks per second one process schedules, due at random within a day."""

import statistics
import time

from bench.figures import Cells, Figure
from bench.plan import Plan

TITLE = "produce: one process, 100 bytes of data, due within 24 h"
FIGURES = [
    Figure("single", "tasks/s", "one call per task, median of three rounds", "higher"),
    Figure(
        "bulk", "tasks/s", "the fastest way for many that its adapter knows, median of three rounds", "higher"
    ),
    Figure(
        "bare EVALSHA", "calls/s", "a script that does nothing, through oncue's client, same run", "higher"
    ),
    Figure("single/bare", "ratio", "oncue's single calls as a share of bare ones, round by round", "higher"),
    Figure("bare pipeline", "calls/s", "the same script, 500 calls in a pipeline", "higher"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Rounds of single, bulk and bare calls in turn, so that noise hits all alike."""
    rounds, seconds = (2, 0.6) if plan.quick else (3, 1.5)
    single, bulk, bare, pipeline = [], [], [], []
    with plan.session(peer) as session:
        if session.about["scheduler"]:
            session.start_schedulers()
        now = time.time()
        window = [now + 300, now + 86_400]
        for _ in range(rounds):
            done = session.ask("single", seconds=seconds, window=window)
            single.append(done["number"] / done["seconds"])
            done = session.ask("fill", number=200_000, window=window, most_s=seconds)
            bulk.append(done["number"] / done["seconds"])
            for name, rate in session.ask("bare", seconds=seconds).items():
                (bare if name == "evalsha" else pipeline).append(rate)
    cells: Cells = {"single": statistics.median(single), "bulk": statistics.median(bulk)}
    if bare:
        cells["bare EVALSHA"] = statistics.median(bare)
        cells["bare pipeline"] = statistics.median(pipeline)
        cells["single/bare"] = statistics.median(a / b for a, b in zip(single, bare, strict=True))
    return cells
