"""Celery with RedBeat. Each choice, and the page of its documentation that it follows:

- results off, JSON: "Tasks", ignore results you don't want.
- late acknowledgement, reject on a lost worker: "Frequently Asked Questions" on acks_late, and "Configuration"; without
  them a killed worker's task is gone.
- prefetch 64 for each thread: "Optimizing", prefetch limits for many short tasks ("64, or 128").
- ten threads: "Workers Guide", --pool threads, so as to compare like with like; its default is a process for each core.
- visibility time-out of one hour: "Using Redis", its default. A shorter one repeats each task that is due later than that.
- gossip, mingle and heartbeats on: the default, and no page advises against them.
- redbeat_redis_url set, lock and loop interval left: RedBeat's "Configuration". Its lock lasts 5 x 300 s.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import celery
from celery.schedules import schedule
from redbeat import RedBeatSchedulerEntry

from bench import work
from bench.side import Due, Peer

app = celery.Celery("bench", broker=os.environ.get("BENCH_URL"))
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
    redbeat_redis_url=os.environ.get("BENCH_URL"),
)


@app.task(name="run")
def run(text: str) -> None:
    work.handle(text)


class Celery(Peer):
    packages = ("celery", "celery-redbeat", "redis")
    note = "worker --pool threads, acks_late, prefetch 64, results off; two beats with RedBeat's lock"
    cannot: ClassVar = {
        "batch": "not in Celery itself",
        "cancel": "a revoked task stays until it is due, and is skipped then",
    }
    reasons: ClassVar = {
        "worker": "delivered again after the visibility time-out, one hour",
        "scheduler": "tasks with an ETA wait in a worker, and are delivered again after one hour",
        "tick": "RedBeat's lock lasts 25 minutes",
    }

    def worker(self, threads: int) -> Sequence[str]:
        pool = ("--pool", "threads", "--concurrency", str(threads))
        return ("celery", "-A", "bench.peers.celery", "worker", *pool, "-n", "w{index}@%h", "-l", "warning")

    def scheduler(self) -> Sequence[str]:
        plugin = ("-S", "redbeat.RedBeatScheduler", "--pidfile=", "-l", "warning")
        return ("celery", "-A", "bench.peers.celery", "beat", *plugin)

    def ticks(self, every_s: float, text: str) -> None:
        RedBeatSchedulerEntry("tick", "run", schedule(every_s), args=(text,), app=app).save()

    def one(self, due: Due, text: str) -> Any:
        eta = None if due is None else datetime.fromtimestamp(due, UTC)
        return run.apply_async((text,), eta=eta).id

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        # Celery has no bulk call; one producer, and with it one connection, is kept.
        made = []
        with app.producer_pool.acquire(block=True) as producer:
            for due, text in tasks:
                eta = None if due is None else datetime.fromtimestamp(due, UTC)
                made.append(run.apply_async((text,), eta=eta, producer=producer).id)
        return made


PEER = Celery()
