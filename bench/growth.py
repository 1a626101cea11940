"""Growth: what a call costs the server when few and when very many tasks wait. Server time by SLOWLOG, script by script."""

import statistics
import time

from bench.figures import Cells, Figure
from bench.plan import Plan
from bench.session import Session

TITLE = "growth: server time per call by number of waiting tasks (a row is a number of tasks)"
NAMES = ("schedule", "promote", "reserve", "complete")
FIGURES = [
    *(Figure(name, "us/call", f"median server time of the script {name}") for name in NAMES),
    *(Figure(f"{name} to first", "ratio", "the same relative to the first number") for name in NAMES),
]
LONG_CALLS = 20_000


def sizes(plan: Plan) -> list[int]:
    """How many tasks wait."""
    if plan.quick:
        return [10_000, 100_000]
    return [10_000, 100_000, 1_000_000, *([10_000_000] if plan.huge else [])]


def measure_all(plan: Plan, peer: str) -> dict[str, Cells]:
    """Adds waiting tasks in steps; at each it schedules, and runs, some hundred tasks one by one."""
    rows: dict[str, Cells] = {}
    first: dict[str, float] = {}
    with plan.session(peer) as session:
        session.start_schedulers()
        session.start_workers()
        session.warm_up()
        waiting = 0
        for size in sizes(plan):
            now = time.time()
            window = [now + 7200, now + 7200 + 86_400]
            more = session.ask("fill", number=size - waiting, window=window, most_s=size / 10_000 + 10)[
                "number"
            ]
            waiting += more
            costs = _costs(session)
            first = first or costs
            row: Cells = {name: costs.get(name, "none seen") for name in NAMES}
            for name in NAMES:
                if name in costs and name in first:
                    row[f"{name} to first"] = costs[name] / first[name]
            rows[f"{waiting:,}"] = row
    return rows


def _costs(session: Session) -> dict[str, float]:
    client = session.server.client
    client.config_set("slowlog-log-slower-than", 0)
    client.config_set("slowlog-max-len", LONG_CALLS)
    client.slowlog_reset()
    now = time.time()
    far = [now + 7200, now + 7200 + 86_400]
    session.ask("single", seconds=20, most=1000, window=far)
    before = len(session.marks())
    begin = time.time() + 1
    session.ask("marks", dues=[begin + at * 0.01 for at in range(300)], first=before)
    session.wait(lambda: len(session.marks()) >= before + 300, 30, 0.2)
    time.sleep(0.3)
    names = session.ask("scripts")
    times: dict[str, list[int]] = {}
    for entry in client.slowlog_get(LONG_CALLS):  # pyright: ignore[reportGeneralTypeIssues]
        words = entry["command"].split()
        if len(words) > 1 and words[0].upper() == b"EVALSHA" and words[1].decode() in names:
            times.setdefault(names[words[1].decode()], []).append(entry["duration"])
    client.config_set("slowlog-log-slower-than", -1)
    return {name: float(statistics.median(found)) for name, found in times.items()}
