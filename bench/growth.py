"""Growth: what a call costs the server when few and when very many tasks wait. Server time by SLOWLOG, script by script.

Beside the server that fills there is one with the first number of tasks, and both are measured in turns: the cost relative
to the first is that of the same minute, whatever else the machine does meanwhile.
"""

import statistics
import time

from bench.figures import Cells, Figure, percentile
from bench.plan import Plan
from bench.session import Session

TITLE = "growth: server time per call by number of waiting tasks (a row is a number of tasks)"
NAMES = ("schedule", "promote", "reserve", "complete")
FIGURES = [
    *(
        Figure(
            name,
            "us/call",
            f"server time of the script {name}: lower quartile of a round, median of the rounds",
        )
        for name in NAMES
    ),
    *(
        Figure(f"{name} beside", "us/call", "the same on the server with the first number of tasks, in turn")
        for name in NAMES
    ),
    *(
        Figure(
            f"{name} to first",
            "ratio",
            "the one relative to the other, round by round, median",
        )
        for name in NAMES
    ),
]
ROUNDS = 5
SINGLES = 300
MARKS = 60
LONG_CALLS = 20_000
Costs = dict[str, float]


def sizes(plan: Plan) -> list[int]:
    """How many tasks wait."""
    if plan.quick:
        return [10_000, 100_000]
    return [10_000, 100_000, 1_000_000, *([10_000_000] if plan.huge else [])]


def measure_all(plan: Plan, peer: str) -> dict[str, Cells]:
    """Adds waiting tasks in steps; at each, both servers schedule, and run, some hundred tasks one by one."""
    rows: dict[str, Cells] = {}
    with plan.session(peer) as first, plan.session(peer) as filling:
        waiting = 0
        for session in (first, filling):
            session.start_schedulers()
            session.start_workers()
            session.warm_up()
        _fill(first, sizes(plan)[0])
        for size in sizes(plan):
            waiting += _fill(filling, size - waiting)
            for session in (first, filling):
                _costs(session)  # A warm-up: what a first call costs is not asked for.
            rounds = [(_costs(filling), _costs(first)) for _ in range(ROUNDS)]
            rows[f"{waiting:,}"] = _row(rounds)
    return rows


def _fill(session: Session, number: int) -> int:
    request = {"number": number, "window": _far(), "most_s": number / 10_000 + 10}
    return int(session.ask("fill", **request)["number"])


def _far() -> list[float]:
    now = time.time()
    return [now + 7200, now + 7200 + 86_400]


def _row(rounds: list[tuple[Costs, Costs]]) -> Cells:
    row: Cells = {}
    for name in NAMES:
        pairs = [(many[name], few[name]) for many, few in rounds if name in many and name in few]
        if not pairs:
            row[name] = row[f"{name} beside"] = row[f"{name} to first"] = "none seen"
            continue
        row[name] = statistics.median(many for many, _ in pairs)
        row[f"{name} beside"] = statistics.median(few for _, few in pairs)
        row[f"{name} to first"] = statistics.median(many / few for many, few in pairs)
    return row


def _costs(session: Session) -> Costs:
    client = session.server.client
    client.config_set("slowlog-max-len", LONG_CALLS)
    client.config_set("slowlog-log-slower-than", 0)
    client.slowlog_reset()
    session.ask("single", seconds=20, most=SINGLES, window=_far())
    before = len(session.marks())
    begin = time.time() + 0.2
    session.ask("marks", dues=[begin + at * 0.01 for at in range(MARKS)], first=before)
    session.wait(lambda: len(session.marks()) >= before + MARKS, 30)
    time.sleep(0.1)
    client.config_set("slowlog-log-slower-than", -1)
    names = session.ask("scripts")
    times: dict[str, list[int]] = {}
    for entry in client.slowlog_get(LONG_CALLS):  # pyright: ignore[reportGeneralTypeIssues]
        words = entry["command"].split()
        if len(words) > 1 and words[0].upper() == b"EVALSHA" and words[1].decode() in names:
            times.setdefault(names[words[1].decode()], []).append(entry["duration"])
    # The lower quartile: noise only adds, and so do the calls that are for several tasks because a process came late.
    return {name: percentile([float(us) for us in found], 0.25) for name, found in times.items()}
