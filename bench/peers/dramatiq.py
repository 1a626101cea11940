"""Dramatiq. Each choice, and the page of its documentation that it follows:

- RedisBroker with its default middleware, no results: "User Guide".
- --processes 1 --threads 10: "User Guide", workers; one process, so as to compare like with like.
- --skip-logging leaves logging to the application; hiredis: the parser that redis-py takes when it is there.
- prefetch (two messages a thread, 1000 delayed ones), heartbeat_timeout (60 s), maintenance_chance (one command in a
  thousand): the defaults; no page advises others.
- no call for many messages at once: "User Guide" and "Cookbook" send one by one.
"""

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
        "tick": "no schedules: its documentation names other programs",
    }
    reasons: ClassVar = {
        "worker": "dead workers are looked for after 60 s, by one command in a thousand",
        "scheduler": "delayed messages wait in a worker; a dead one is looked for as above",
    }

    def worker(self, threads: int) -> Sequence[str]:
        size = ("--processes", "1", "--threads", str(threads), "--skip-logging")
        return ("dramatiq", *size, "bench.peers.dramatiq")

    def one(self, due: Due, text: str) -> Any:
        if due is None:
            return run.send(text)
        return run.send_with_options(args=(text,), delay=max(0, round((due - time.time()) * 1000)))


PEER = Dramatiq()
