"""SAQ. Each choice, and the page of its documentation that it follows:

- concurrency 10: "Settings"; its default, and what it documents for one worker process.
- timers left (schedule and abort every second, sweep every 60 s): "Settings".
- time-out of 10 s: "Job", the default. Only a task with a time-out, or a heartbeat, is ever swept from a dead worker.
- three attempts: "Job", retries; with the default of one, a swept task is dropped.
- ttl=-1 keeps no result: "Job". Many at once are gathered, 20 calls at a time by its own limit: "Queue".
- cancelling: 50 calls at a time, gathered as well.
- due times are whole seconds; rounded up here, so as not to ask for an early start.
"""

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
    note = "saq, concurrency 10, three attempts, no result kept; due times are whole seconds"
    cannot: ClassVar = {"batch": "none", "tick": "a tick is a delayed task there: see scheduler"}
    reasons: ClassVar = {"worker": "tasks past their time-out of 10 s are swept every 60 s"}
    forgets_s = 5.0

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
    scheduled = 0 if due is None else math.ceil(due)
    return Job("run", kwargs={"text": text}, scheduled=scheduled, ttl=-1, retries=3)


PEER = Saq()
