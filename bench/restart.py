"""Restart: the server is killed under load and comes back with its append-only file."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench.figures import Cells, Figure
from bench.plan import Plan

TITLE = "restart: kill -9 of the server under load, AOF every second, back after half a second"
FIGURES = [
    Figure("acknowledged", "tasks", "scheduled by calls that returned, one every 2 ms at most", "higher"),
    Figure(
        "not started",
        "tasks",
        "acknowledged, but not started 10 s after the load: lost, late, or a worker that is behind",
    ),
    Figure("twice", "tasks", "started more than once"),
    Figure("ended", "processes", "workers and schedulers that ended, and were started again within a second"),
    Figure("first task", "ms", "from the server's first answer after the kill to the first start"),
]


def measure(plan: Plan, peer: str) -> Cells:
    """One scheduler, one worker, one client that schedules single tasks up to 2 s ahead through it all."""
    wait_s = 5.0 if plan.quick else 10.0
    ended = 0
    with plan.session(peer, aof=True) as session, ThreadPoolExecutor(1) as pool:
        session.start_schedulers()
        session.start_workers()
        session.warm_up()
        session.send("acknowledged", seconds=6, ahead_s=2)
        time.sleep(2.5)
        session.server.kill()
        time.sleep(0.5)
        session.server.start()
        back_at = time.time()
        answer = pool.submit(session.answer)
        while not answer.done():
            ended += session.revive()
            time.sleep(0.5)
        numbers, ends = set(answer.result()["numbers"]), time.time() + wait_s
        while time.time() < ends and numbers - set(session.starts()):
            ended += session.revive()
            time.sleep(0.5)
        marks = [mark for mark in session.marks() if mark.number > 0]
    started = {mark.number for mark in marks}
    after = [mark.started_s for mark in marks if mark.started_s >= back_at]
    return {
        "acknowledged": len(numbers),
        "not started": len(numbers - started),
        "twice": len(marks) - len(started),
        "ended": ended,
        "first task": (min(after) - back_at) * 1000 if after else "none started",
    }
