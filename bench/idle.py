"""Idle: what a cluster with nothing to do costs. 2 schedulers, 4 workers of 10 threads, one task an hour away."""

import statistics
import time

from bench.figures import Cells, Figure
from bench.plan import Plan
from bench.session import PeerFailed, Session

TITLE = "idle: 2 schedulers, 4 workers x 10 threads, one task an hour away"
AT_ONCE = True
FIGURES = [
    Figure(
        "commands", "per min", "commands executed by the server, those inside scripts too (INFO commandstats)"
    ),
    Figure("round trips", "per min", "commands sent by clients"),
    Figure("server CPU", "ms/min", "CPU time of the server"),
    Figure("CPU", "ms/min", "CPU time of all processes of the peer together"),
    Figure("CPU each", "%", "CPU of one core, mean over the peer's top processes"),
    Figure("RSS each", "MB", "resident memory of one top process, median"),
    Figure("RSS all", "MB", "resident memory of the cluster, the children of its processes included"),
    Figure("processes", "", "top processes: schedulers and workers", ""),
    Figure("children", "", "processes that these have started and keep", ""),
]
FIRST_TASKS = 60
FIRST_TASK_S = 0.2
"""More tasks at once than the cluster has slots, so that no worker is idle for having never run one."""

SETTLE_S = 70.0
"""Until then the first tasks, which show that all are at work, are forgotten everywhere (oncue: after a minute)."""


def measure(plan: Plan, peer: str) -> Cells:
    """Counts over 60 s after a rest of 70 s. --quick: over 15 after 8, which counts the forgetting of the first tasks."""
    span_s = 15.0 if plan.quick else 60.0
    with plan.session(peer) as session:
        session.start_schedulers(2)
        session.start_workers(4)
        session.warm_up()
        _use_all(session)
        session.ask("marks", dues=[time.time() + 3600], first=0)
        time.sleep(8 if plan.quick else SETTLE_S)
        groups = (session.workers, session.schedulers)

        def cpu() -> float:
            return sum(group.cpu_s() for group in groups)

        before, trips = session.server.commands(), session.server.round_trips()
        server, mine = session.server.cpu_s(), cpu()
        time.sleep(span_s)
        minute = 60 / span_s
        # Less the harness's own INFO for the first count.
        trips = session.server.round_trips() - trips - 1
        after = session.server.commands()
        by_command = {name: number - before.get(name, 0) for name, number in after.items()}
        server, mine = (session.server.cpu_s() - server) * minute, (cpu() - mine) * minute
        families = [family for group in groups for family in group.memory_bytes()]
    return {
        "commands": sum(by_command.values()) * minute,
        "round trips": trips * minute,
        "server CPU": server * 1000,
        "CPU": mine * 1000,
        "CPU each": mine / 60 * 100 / len(families),
        "RSS each": statistics.median(first for first, *_ in families) / 2**20,
        "RSS all": sum(map(sum, families)) / 2**20,
        "processes": len(families),
        "children": sum(map(len, families)) - len(families),
        "_by_command": ", ".join(f"{name} {number}" for name, number in sorted(by_command.items()) if number),
    }


def _use_all(session: Session) -> None:
    numbers = set(range(1, FIRST_TASKS + 1))
    session.ask("marks", dues=[None] * FIRST_TASKS, first=1, kind="s", seconds=FIRST_TASK_S)
    if not session.wait(lambda: numbers <= set(session.starts()), 60):
        raise PeerFailed(f"not all of {FIRST_TASKS} tasks ran within 60 s; {session.last_words()}")
