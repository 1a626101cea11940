"""docket: the client and, started as a program, a worker. Each choice, and the page of its documentation that it follows:

- execution_ttl=0 in client and worker: "Docket in Production", fire-and-forget mode, for the most throughput. Its command
  line has no option for it, so the worker is made as that page makes one.
- concurrency 10: its default, and the condition here; that page shows 20, and 50 on the command line. It matters: a worker
  whose slots are all taken sleeps for minimum_check_interval, so no-op tasks run at ten in each 100 ms.
- minimum_check_interval 100 ms (the default in code is 250 ms), scheduling_resolution 250 ms, redelivery_timeout 5 min,
  reconnection_delay 5 s: as on that page. It advises no shorter ones, and no other page speaks of them.
- add_many for bulk: "Getting Started".
- cancelling: one call after another; ten or fifty at once were no faster.
"""

import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from docket import Docket, Worker

from bench import work
from bench.side import Due, Peer

loop = asyncio.new_event_loop()


async def run(text: str) -> None:
    # A handler that sleeps must not stop the loop; the others need no thread.
    if text[0] == "s":
        await asyncio.to_thread(work.handle, text)
    else:
        work.handle(text)


async def _opened() -> Docket:
    found = Docket("bench", os.environ["BENCH_URL"], execution_ttl=timedelta(0))
    await found.__aenter__()
    found.register(run)
    return found


async def _work(name: str, concurrency: int) -> None:
    times = {
        "redelivery_timeout": timedelta(minutes=5),
        "reconnection_delay": timedelta(seconds=5),
        "minimum_check_interval": timedelta(milliseconds=100),
        "scheduling_resolution": timedelta(milliseconds=250),
    }
    async with Worker(await _opened(), name=name, concurrency=concurrency, **times) as worker:
        await worker.run_forever()


class Pydocket(Peer):
    packages = ("pydocket", "redis")
    note = "Worker with concurrency 10, fire-and-forget mode, redelivery after 5 min; add_many for bulk"
    cannot: ClassVar = {"batch": "none", "tick": "a tick is a delayed task there: see scheduler"}
    reasons: ClassVar = {"worker": "delivered again after the redelivery time-out, five minutes"}
    _docket: Docket | None = None

    @property
    def docket(self) -> Docket:
        if self._docket is None:
            self._docket = loop.run_until_complete(_opened())
        return self._docket

    def worker(self, threads: int) -> Sequence[str]:
        return ("python", "-m", "bench.peers.docket", "w{index}", str(threads))

    def one(self, due: Due, text: str) -> Any:
        return loop.run_until_complete(self.docket.add(run, when=_when(due))(text)).key

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        calls = [self.docket.call(run, when=_when(due))(text) for due, text in tasks]
        return [execution.key for execution in loop.run_until_complete(self.docket.add_many(calls))]

    def cancel(self, made: Sequence[Any]) -> None:
        async def all_of_them() -> None:
            for key in made:
                await self.docket.cancel(key)

        loop.run_until_complete(all_of_them())


def _when(due: Due) -> datetime | None:
    return None if due is None else datetime.fromtimestamp(due, UTC)


PEER = Pydocket()

if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], int(sys.argv[2])))
