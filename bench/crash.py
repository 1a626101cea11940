"""Crash: kill -9 of a worker in a task, and of a scheduler just before a due time. What delay that adds."""

import time

from bench import processes
from bench.figures import Cell, Cells, Figure
from bench.plan import Plan
from bench.session import Session

TITLE = "crash: kill -9, with a second worker and a second scheduler at hand"
AT_ONCE = True
FIGURES = [
    Figure("worker", "s", "from the kill until the task that was running starts again"),
    Figure(
        "scheduler",
        "ms",
        "lateness of the worst of the tasks whose scheduler was killed 30 ms before they were due",
    ),
]
_ROUNDS = 3


def measure(plan: Plan, peer: str) -> Cells:
    """Waits up to 90 s (40 s with --quick) for what the killed worker had in hand."""
    most_s = 40.0 if plan.quick else 90.0
    return {"worker": _worker(plan, peer, most_s), "scheduler": _scheduler(plan, peer)}


def _worker(plan: Plan, peer: str, most_s: float) -> Cell:
    with plan.session(peer) as session:
        session.start_schedulers(2)
        session.start_workers(2)
        session.warm_up()
        time.sleep(3)
        session.ask("marks", dues=[None], first=1, kind="s", seconds=6)
        if not session.wait(lambda: 1 in session.starts(), 20):
            return "its task never started"
        mark = next(mark for mark in session.marks() if mark.number == 1)
        time.sleep(1)
        processes.kill(session.workers.owner_of(mark.pid))
        killed_at = time.time()

        def again() -> list[float]:
            return [mark.started_s for mark in session.marks() if mark.number == 1][1:]

        if not session.wait(lambda: bool(again()), most_s, 0.1):
            return f"not within {most_s:g} s"
        return again()[0] - killed_at


def _scheduler(plan: Plan, peer: str) -> Cell:
    with plan.session(peer) as session:
        if "scheduler crash" in session.about["cannot"]:
            return str(session.about["cannot"]["scheduler crash"])
        session.start_schedulers(2)
        session.start_workers(2)
        session.warm_up()
        time.sleep(5)
        late = [_killed(session, number) for number in range(1, 1 + (1 if plan.quick else _ROUNDS))]
        found = [ms for ms in late if ms is not None]
        return max(found) if len(found) == len(late) else "a task did not start within 60 s"


def _killed(session: Session, number: int) -> float | None:
    """Kills the scheduler that has been there longest (a holder of a lock, where there is one), then starts another."""
    group = session.schedulers if session.about["scheduler"] else session.workers
    due = time.time() + 3
    session.ask("marks", dues=[due], first=number)
    time.sleep(max(0.0, due - 0.03 - time.time()))
    processes.kill(group.members.pop(0))
    if not session.wait(lambda: number in session.starts(), 60):
        return None
    late = (session.starts()[number] - due) * 1000
    if group is session.schedulers:
        session.start_schedulers()
    else:
        session.start_workers()
    time.sleep(2)
    return late
