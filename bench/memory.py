"""Memory: what the server needs for a waiting task, and what it gives back after cancelling."""

import time

from bench.figures import Cells, Figure
from bench.plan import Plan

TITLE = "memory: delayed tasks of 100 bytes over 24 h"
FIGURES = [
    Figure("tasks", "tasks", "100,000, or what the peer takes in the time given", "higher"),
    Figure("per task", "bytes", "used_memory of the server, per task, over that of the empty server"),
    Figure("left", "bytes", "per task, after cancelling all of them"),
    Figure("cancelled", "tasks/s", "one call each", "higher"),
    Figure("1,000,000", "bytes", "per task, with a million waiting (oncue; not with --quick)"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """Fills, weighs, cancels, weighs."""
    number, fill_s = (20_000, 4.0) if plan.quick else (100_000, 10.0)
    with plan.session(peer) as session:
        session.ask("single", seconds=5, most=3, window=_window())
        empty = session.server.used_bytes()
        filled = session.ask("fill", number=number, window=_window(), most_s=fill_s, keep=True)["number"]
        cells: Cells = {"tasks": filled, "per task": (session.server.used_bytes() - empty) / filled}
        refusal = session.about["cannot"].get("cancel") or session.about["cannot"].get(
            "memory after cancelling"
        )
        if refusal:
            cells["left"] = cells["cancelled"] = refusal
        else:
            done = session.ask("cancel")
            cells["cancelled"] = done["number"] / done["seconds"]
            if peer == "oncue" and plan.quick:
                cells["left"] = "not with --quick: the marks of cancelled tasks stay for a minute"
            else:
                if peer == "oncue":
                    session.start_schedulers()
                    time.sleep(65)
                cells["left"] = (session.server.used_bytes() - empty) / filled
    if peer == "oncue" and not plan.quick:
        cells["1,000,000"] = _million(plan, peer)
    return cells


def _million(plan: Plan, peer: str) -> float:
    with plan.session(peer) as session:
        session.ask("single", seconds=5, most=3, window=_window())
        empty = session.server.used_bytes()
        filled = session.ask("fill", number=1_000_000, window=_window(), most_s=90)["number"]
        return (session.server.used_bytes() - empty) / filled


def _window() -> list[float]:
    now = time.time()
    return [now + 600, now + 600 + 86_400]
