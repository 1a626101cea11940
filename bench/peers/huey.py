# type: ignore - the peer's packages are in an environment of its own
# /// script
# dependencies = ["huey", "redis", "hiredis"]
# ///
"""Huey: RedisHuey with blocking reads, results off, ten worker threads; the scheduler is a thread of each consumer."""

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
    cannot: ClassVar = {"batch": "none", "memory after cancelling": "a revoked task stays until it is due"}

    def worker(self, threads: int) -> Sequence[str]:
        return ("huey_consumer", "bench.peers.huey.app", "-k", "thread", "-w", str(threads), "-q")

    def one(self, due: Due, text: str) -> Any:
        if due is None:
            return run(text)
        return run.schedule((text,), eta=datetime.fromtimestamp(due))  # noqa: DTZ006 - what Huey takes

    def cancel(self, made: Sequence[Any]) -> None:
        raise NotImplementedError(self.cannot["memory after cancelling"])


PEER = Huey()
