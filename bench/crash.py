"""Crash: kill -9 of a worker in a task, and of a scheduler just before a due time. What delay that adds."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench import processes
from bench.figures import Cell, Cells, Figure
from bench.plan import Plan
from bench.session import Session

TITLE = "crash: kill -9, with others of the same role at hand"
AT_ONCE = True
TIMES = 3
SEEN = 4
BEFORE_S = 0.03
FIGURES = [
    Figure(
        "worker",
        "s",
        "from the kill until the task that was running starts again; killed once, 1 s after the task's start, so "
        "early in a lease or time-out where there is one",
    ),
    Figure(
        "scheduler",
        "ms",
        f"lateness of the later of two delayed tasks, when one of the processes that see to delayed tasks was killed "
        f"{BEFORE_S * 1000:g} ms before; the worst of {TIMES} times; the first time it was the only one when they were "
        f"scheduled, so they wait in it if they wait in a process",
    ),
    Figure(
        "tick",
        "ms",
        f"lateness of a tick of a schedule, by the earliest of the {SEEN} before it, when the scheduler that was "
        f"there longest was killed {BEFORE_S * 1000:g} ms before; below zero it came earlier than those",
        "",
    ),
]
EVERY_S = 4.0
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
        role = str(session.about["promoter"])
        group = session.schedulers if role == "scheduler" else session.workers
        _start_one(session)
        # Scheduled while there is one only: where delayed tasks wait in a process, it is that one, the first to be killed.
        due = _schedule(session, 0, SETTLE_S + 1)
        time.sleep(1)
        _start_others(session, role, TIMES)
        worst = 0.0
        for time_ in range(TIMES):
            if time_:
                due = _schedule(session, time_, 3)
            late = _killed(session, group, time_, due, most_s)
            if late is None:
                return _not_within(session, "scheduler", most_s)
            worst = max(worst, late)
        return worst


def _schedule(session: Session, time_: int, ahead_s: float) -> float:
    """Two marked tasks; their due time is a whole second, so that no peer cuts it and is done before the kill."""
    due = float(int(time.time() + ahead_s) + 1)
    session.ask("marks", dues=[due, due], first=1 + 2 * time_)
    return due


def _killed(session: Session, group: processes.Group, time_: int, due: float, most_s: float) -> float | None:
    """Lateness in ms of the later of the two, for which the one of ``group`` that is there longest is killed."""
    numbers = {1 + 2 * time_, 2 + 2 * time_}
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
        _start_one(session)
        _start_others(session, "scheduler", 1)
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


def _start_one(session: Session) -> None:
    """One of each role, at work; where there is a lock, this one has it."""
    session.start_schedulers()
    session.start_workers()
    session.warm_up()


def _start_others(session: Session, role: str, number: int) -> None:
    (session.start_schedulers if role == "scheduler" else session.start_workers)(number)
    time.sleep(SETTLE_S - 1)


def _not_within(session: Session, figure: str, most_s: float) -> str:
    reason = session.about["reasons"].get(figure)
    return f"not within {most_s:g} s" + (f": {reason}" if reason else "")
