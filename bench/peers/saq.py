# type: ignore - the peer's packages are in an environment of its own
# /// script
# dependencies = ["saq[redis,hiredis]", "typing-extensions"]
# ///
"""SAQ: one event loop with ten tasks at once; each worker schedules and sweeps beside its work."""

import asyncio
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from saq import Job, Queue

from bench import work
from bench.side import Due, Peer

queue = Queue.from_url(os.environ.get("BENCH_URL", "redis://"))
loop = asyncio.new_event_loop()


async def run(_: Any, *, text: str) -> None:
    # A handler that sleeps must not stop the loop; the others need no thread.
    if text[0] == "s":
        await asyncio.to_thread(work.handle, text)
    else:
        work.handle(text)


settings = {"queue": queue, "functions": [("run", run)], "concurrency": 10}


class Saq(Peer):
    packages = ("saq", "redis")
    note = "saq, concurrency 10, no result kept; due times are whole seconds"
    cannot: ClassVar = {"batch": "none", "scheduler crash": "each worker schedules"}

    def worker(self, threads: int) -> Sequence[str]:
        return ("saq", "bench.peers.saq.settings")

    def one(self, due: Due, text: str) -> Any:
        return loop.run_until_complete(queue.enqueue(_job(due, text)))

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        async def all_of_them() -> list[Any]:
            made: list[Any] = []
            for at in range(0, len(tasks), 50):
                made += await asyncio.gather(*(queue.enqueue(_job(*task)) for task in tasks[at : at + 50]))
            return made

        return loop.run_until_complete(all_of_them())

    def cancel(self, made: Sequence[Any]) -> None:
        async def all_of_them() -> None:
            for at in range(0, len(made), 50):
                await asyncio.gather(*(queue.abort(job, "cancelled") for job in made[at : at + 50]))

        loop.run_until_complete(all_of_them())


def _job(due: Due, text: str) -> Any:
    # Its due times are whole seconds, rounded up here so as not to ask for an early one; ttl -1 keeps no result.
    return Job(
        "run", kwargs={"text": text}, scheduled=0 if due is None else math.ceil(due), ttl=-1, timeout=0
    )


PEER = Saq()
