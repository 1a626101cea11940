"""Crash: kill -9 of a worker in a task, and of a scheduler just before a due time. What delay that adds."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench import processes
from bench.figures import Cell, Cells, Figure
from bench.plan import Plan
from bench.session import Session

TITLE = "crash: kill -9, with others of the same role at hand"
AT_ONCE = True
FIGURES = [
    Figure("worker", "s", "from the kill until the task that was running starts again"),
    Figure(
        "scheduler",
        "ms",
        "lateness of the worst of two delayed tasks, when the process that they wait for was killed 30 ms "
        "before; the worst of three times",
    ),
    Figure("tick", "ms", "lateness of a tick of a schedule, when the scheduler was killed 30 ms before"),
]
TIMES = 3
EVERY_S = 4.0
SEEN = 4
BEFORE_S = 0.03
SETTLE_S = 15.0
"""All peers start at once; until they are quiet, their lateness would be each other's."""


def measure(plan: Plan, peer: str) -> Cells:
    """The three figures at the same time, each on a server of its own: nearly all is waiting."""
    most_s = 40.0 if plan.quick else 90.0
    with ThreadPoolExecutor(3) as pool:
        found = {
            figure.name: pool.submit(measured, plan, peer, most_s)
            for figure, measured in zip(FIGURES, (_worker, _scheduler, _tick), strict=True)
        }
        return {name: cell.result() for name, cell in found.items()}


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
            return _not_within(session, "worker", most_s)
        return again()[0] - killed_at


def _scheduler(plan: Plan, peer: str, most_s: float) -> Cell:
    with plan.session(peer) as session:
        _start(session, str(session.about["promoter"]), TIMES)
        group = session.schedulers if session.about["promoter"] == "scheduler" else session.workers
        worst = 0.0
        for at in range(TIMES):
            late = _killed(session, group, {1 + 2 * at, 2 + 2 * at}, most_s)
            if late is None:
                return _not_within(session, "scheduler", most_s)
            worst = max(worst, late)
        return worst


def _killed(session: Session, group: processes.Group, numbers: set[int], most_s: float) -> float | None:
    """Lateness in ms of the later of two tasks, for which the one of ``group`` that is there longest is killed."""
    # A whole second, so that no peer has cut it to an earlier one and is done before the kill.
    due = float(int(time.time()) + 4)
    session.ask("marks", dues=[due, due], first=min(numbers))
    time.sleep(max(0.0, due - BEFORE_S - time.time()))
    processes.kill(group.members.pop(0))
    if not session.wait(lambda: numbers <= set(session.starts()), most_s):
        return None
    starts = session.starts()
    return max(starts[number] - due for number in numbers) * 1000


def _tick(plan: Plan, peer: str, most_s: float) -> Cell:
    with plan.session(peer) as session:
        if "tick" in session.about["cannot"]:
            return str(session.about["cannot"]["tick"])
        session.ask("ticks", every_s=EVERY_S)
        _start(session, "scheduler", 1)
        begun = len(_ticks(session))
        if not session.wait(lambda: len(_ticks(session)) >= begun + SEEN, (SEEN + 2) * EVERY_S):
            return "no ticks came"
        # The earliest of some ticks tells best where the next one is planned.
        seen = _ticks(session)[begun : begun + SEEN]
        planned = min(start + (SEEN - at) * EVERY_S for at, start in enumerate(seen))
        time.sleep(max(0.0, planned - BEFORE_S - time.time()))
        processes.kill(session.schedulers.members.pop(0))
        if not session.wait(lambda: len(_ticks(session)) > begun + SEEN, most_s):
            return _not_within(session, "tick", most_s)
        return (_ticks(session)[begun + SEEN] - planned) * 1000


def _ticks(session: Session) -> list[float]:
    return [mark.started_s for mark in session.marks() if mark.number == 0]


def _start(session: Session, role: str, others: int) -> None:
    """One of ``role`` first, which then holds the lock where there is one; the rest once that is at work."""
    session.start_schedulers()
    session.start_workers()
    session.warm_up()
    (session.start_schedulers if role == "scheduler" else session.start_workers)(others)
    time.sleep(SETTLE_S)


def _not_within(session: Session, figure: str, most_s: float) -> str:
    reason = session.about["reasons"].get(figure)
    return f"not within {most_s:g} s" + (f": {reason}" if reason else "")
