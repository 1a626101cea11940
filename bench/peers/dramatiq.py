# type: ignore - the peer's packages are in an environment of its own
# /// script
# dependencies = ["dramatiq[redis]", "hiredis"]
# ///
"""Dramatiq: RedisBroker, one process of ten threads; delayed messages wait in the workers. It has no scheduler of its own."""

import os
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench import work
from bench.side import Due, Peer

broker = RedisBroker(url=os.environ.get("BENCH_URL", "redis://"))
dramatiq.set_broker(broker)


@dramatiq.actor(max_retries=3)
def run(text: str) -> None:
    work.handle(text)


class Dramatiq(Peer):
    packages = ("dramatiq", "redis")
    note = "dramatiq --processes 1 --threads 10, RedisBroker; cron is left to other programs"
    cannot: ClassVar = {
        "batch": "none",
        "cancel": "a message cannot be cancelled",
        "scheduler crash": "delayed messages wait in the workers",
    }

    def worker(self, threads: int) -> Sequence[str]:
        size = ("--processes", "1", "--threads", str(threads), "--skip-logging")
        return ("dramatiq", *size, "bench.peers.dramatiq")

    def one(self, due: Due, text: str) -> Any:
        if due is None:
            return run.send(text)
        return run.send_with_options(args=(text,), delay=max(0, round((due - time.time()) * 1000)))

    def cancel(self, made: Sequence[Any]) -> None:
        raise NotImplementedError(self.cannot["cancel"])


PEER = Dramatiq()
