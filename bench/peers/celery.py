# type: ignore - the peer's packages are in an environment of its own
# /// script
# dependencies = ["celery[redis]", "celery-redbeat", "hiredis"]
# ///
"""Celery with RedBeat: late acknowledgement (a killed worker's task must come back), results off, threads as the others."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import celery

from bench import work
from bench.side import Due, Peer

app = celery.Celery("bench", broker=os.environ.get("BENCH_URL"))
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
    redbeat_redis_url=os.environ.get("BENCH_URL"),
)


@app.task(name="run")
def run(text: str) -> None:
    work.handle(text)


class Celery(Peer):
    packages = ("celery", "celery-redbeat", "redis")
    note = "worker --pool threads, acks_late, results off; two beats with RedBeat's lock"
    cannot: ClassVar = {
        "batch": "not in Celery itself",
        "scheduler crash": "its ETA tasks wait in the workers",
    }

    def worker(self, threads: int) -> Sequence[str]:
        pool = ("--pool", "threads", "--concurrency", str(threads))
        return ("celery", "-A", "bench.peers.celery", "worker", *pool, "-n", "w{index}@%h", "-l", "warning")

    def scheduler(self) -> Sequence[str]:
        plugin = ("-S", "redbeat.RedBeatScheduler", "--pidfile=", "-l", "warning")
        return ("celery", "-A", "bench.peers.celery", "beat", *plugin)

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

    def cancel(self, made: Sequence[Any]) -> None:
        app.control.revoke(list(made))


PEER = Celery()
