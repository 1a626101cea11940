"""Drain: how many ready no-op tasks per second workers run, from the first handler's start to the last one's."""

import time

from bench import traces
from bench.figures import Cell, Cells, Figure
from bench.plan import Plan

TITLE = "drain: ready no-op tasks"
FIGURES = [
    Figure("1 process", "tasks/s", "one worker process, 10 threads", "higher"),
    Figure("2 processes", "tasks/s", "two such workers", "higher"),
    Figure("batch", "tasks/s", "one worker process with a batch handler", "higher"),
    Figure(
        "commands/task", "commands", "that the server executed for each task, inside scripts too (1 process)"
    ),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Fills for some seconds, then lets workers run until nothing is left or the time is up."""
    one, commands = _rate(plan, peer, 1, "worker")
    two, _ = _rate(plan, peer, 2, "worker")
    batch, _ = _rate(plan, peer, 1, "batch_worker")
    return {"1 process": one, "2 processes": two, "batch": batch, "commands/task": commands}


def _rate(plan: Plan, peer: str, workers: int, kind: str) -> tuple[Cell, Cell]:
    fill_s, drain_s = (1.0, 2.0) if plan.quick else (3.0, 5.0)
    with plan.session(peer) as session:
        if not session.about[kind]:
            return session.about["cannot"].get("batch", "none"), "-"
        session.start_schedulers()
        batch = kind == "batch_worker"
        filled = session.ask("fill", number=200_000, window=[], most_s=fill_s, batch=batch)["number"]
        before = sum(session.server.commands().values())
        session.start_workers(workers, kind)
        session.wait(lambda: session.count().number > 0, 40)
        done = session.drain(filled, drain_s)
        time.sleep(0.3)
        after = sum(session.server.commands().values())
        # A peer that has not finished has gone on meanwhile.
        ran = session.count().number
    if done.number < 2:
        return "nothing ran", "-"
    return _per_second(done), (after - before) / ran


def _per_second(done: traces.Count) -> float:
    return (done.number - 1) / max(1e-9, done.last_s - done.first_s)
