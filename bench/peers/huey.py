"""Huey. Each choice, and the page of its documentation that it follows:

- RedisHuey with its blocking reads, no polling of the queue: "Huey's API", the default; delay and backoff are for polling.
- -k thread -w 10: "Consuming Tasks" ("when in doubt, thread").
- the scheduler runs every second, the least that -s takes.
- results=False: "Deploying to Production", so that the result store does not grow.
- one consumer alone has periodic tasks, the others -n: "Deploying to Production". There are none here, so all are alike.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from huey import RedisHuey

from bench import work
from bench.side import Due, Peer

app = RedisHuey("bench", url=os.environ.get("BENCH_URL"), results=False, utc=False)


@app.task()
def run(text: str) -> None:
    work.handle(text)


class Huey(Peer):
    packages = ("huey", "redis")
    note = "huey_consumer -k thread -w 10, RedisHuey, results off"
    cannot: ClassVar = {
        "batch": "none",
        "cancel": "a revoked task stays until it is due",
        "tick": "one consumer only may fire ticks, and nothing takes over from a dead one",
    }
    reasons: ClassVar = {"worker": "a task is off the queue once it starts, and lost with its worker"}

    def worker(self, threads: int) -> Sequence[str]:
        return ("huey_consumer", "bench.peers.huey.app", "-k", "thread", "-w", str(threads), "-q")

    def one(self, due: Due, text: str) -> Any:
        if due is None:
            return run(text)
        return run.schedule((text,), eta=datetime.fromtimestamp(due))  # noqa: DTZ006 - what Huey takes


PEER = Huey()
