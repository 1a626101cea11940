"""Memory: what the server needs for a waiting task, and what it gives back after cancelling."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench.figures import Cell, Cells, Figure
from bench.plan import Plan
from bench.session import Session

TITLE = "memory: delayed tasks of 100 bytes over 24 h"
MOST_S = 35.0
FIGURES = [
    Figure("tasks", "tasks", f"100,000, or what the peer takes in {MOST_S:g} s", "higher"),
    Figure("per task", "bytes", "used_memory of the server, per task, over that of the empty server"),
    Figure("left", "bytes", "per task, after cancelling all of them and the time that the peer documents"),
    Figure("cancelled", "tasks/s", "one call each", "higher"),
    Figure("1,000,000", "bytes", "per task, with a million waiting (oncue; not with --quick)"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Fills, weighs, cancels, weighs; for oncue a million in the meantime that cancelled tasks take to be forgotten."""
    number, fill_s = (5_000, 2.0) if plan.quick else (100_000, MOST_S)
    with plan.session(peer) as session, ThreadPoolExecutor(1) as pool:
        refusal = session.about["cannot"].get("cancel")
        empty = _empty(session, cancels=not refusal)
        filled = session.ask("fill", number=number, window=_window(), most_s=fill_s, keep=True)["number"]
        cells: Cells = {"tasks": filled, "per task": (session.server.used_bytes() - empty) / filled}
        if refusal:
            cells["left"] = cells["cancelled"] = refusal
        else:
            done = session.ask("cancel")
            cells["cancelled"] = done["number"] / done["seconds"]
            million = pool.submit(_million, plan, peer) if peer == "oncue" and not plan.quick else None
            cells["left"] = _left(session, empty, float(cells["per task"]) * filled) / filled
            if million is not None:
                cells["1,000,000"] = million.result()
    return cells


def _empty(session: Session, cancels: bool) -> int:
    """Bytes in use once all that is there but once has come: scripts, connections, the first keys."""
    session.start_schedulers()
    if session.schedulers.members:
        time.sleep(4)
    session.ask("fill", number=3, window=_window(), most_s=5, keep=cancels)
    if cancels:
        session.ask("cancel")
    return session.server.used_bytes()


def _left(session: Session, empty: int, full: float) -> float:
    """Bytes over ``empty`` once the peer has forgotten what it documents, and some seconds for the server to do it."""

    def left() -> int:
        return session.server.used_bytes() - empty

    session.wait(lambda: left() < full / 100, session.about["forgets_s"] + 10, 1)
    return left()


def _million(plan: Plan, peer: str) -> Cell:
    with plan.session(peer) as session:
        session.ask("single", seconds=5, most=3, window=_window())
        empty = session.server.used_bytes()
        filled = int(session.ask("fill", number=1_000_000, window=_window(), most_s=90)["number"])
        if filled < 1_000_000:
            return f"failed: {filled:,} tasks in 90 s"
        return (session.server.used_bytes() - empty) / filled


def _window() -> list[float]:
    now = time.time()
    return [now + 600, now + 600 + 86_400]
