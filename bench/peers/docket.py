# type: ignore - the peer's packages are in an environment of its own
# /// script
# dependencies = ["pydocket", "hiredis"]
# ///
"""docket: one worker of ten tasks at once; each worker moves due tasks to the stream."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from docket import Docket

from bench import work
from bench.side import Due, Peer

loop = asyncio.new_event_loop()


async def run(text: str) -> None:
    # A handler that sleeps must not stop the loop; the others need no thread.
    if text[0] == "s":
        await asyncio.to_thread(work.handle, text)
    else:
        work.handle(text)


tasks = [run]


async def _opened() -> Docket:
    found = Docket("bench", os.environ["BENCH_URL"], execution_ttl=timedelta(0))
    await found.__aenter__()
    found.register(run)
    return found


class Pydocket(Peer):
    packages = ("pydocket", "redis")
    note = "docket worker --concurrency 10, no result kept; add_many for bulk"
    cannot: ClassVar = {"batch": "none", "scheduler crash": "each worker schedules"}
    _docket: Docket | None = None

    @property
    def docket(self) -> Docket:
        if self._docket is None:
            self._docket = loop.run_until_complete(_opened())
        return self._docket

    def worker(self, threads: int) -> Sequence[str]:
        at = ("--docket", "bench", "--url", os.environ["BENCH_URL"], "--name", "w{index}")
        tasks = ("--tasks", "bench.peers.docket:tasks", "--concurrency", str(threads))
        return ("docket", "worker", *at, *tasks, "--logging-level", "WARNING")

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
