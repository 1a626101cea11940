# type: ignore - the peer's packages are in an environment of its own
# /// script
# dependencies = ["rq", "hiredis"]
# ///
"""RQ: its default worker (a process for each job) with the scheduler inside, as `rq worker --with-scheduler` runs it."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from redis import Redis
from rq import Queue

from bench import work
from bench.side import Due, Peer

connection = Redis.from_url(os.environ.get("BENCH_URL", "redis://"))
queue = Queue("default", connection=connection)


def run(text: str) -> None:
    """Each job has a process of its own, so its runs are counted with the parent's."""
    work.handle(text, os.getppid())


class Rq(Peer):
    packages = ("rq", "redis")
    note = "rq worker --with-scheduler, one job at a time in a fork, no results; schedulers: rq cron"
    cannot: ClassVar = {"batch": "none", "threads": "one job at a time in each worker"}

    def worker(self, threads: int) -> Sequence[str]:
        url = ("--url", os.environ["BENCH_URL"], "--path", ".")
        return ("rq", "worker", "--with-scheduler", "--logging_level", "WARNING", *url, "default")

    def scheduler(self) -> Sequence[str]:
        return ("rq", "cron", "--url", os.environ["BENCH_URL"], "-l", "warning", "bench.peers.rq_cron")

    def one(self, due: Due, text: str) -> Any:
        if due is None:
            return queue.enqueue(run, text, result_ttl=0)
        return queue.enqueue_at(datetime.fromtimestamp(due, UTC), run, text, result_ttl=0)

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        if tasks and tasks[0][0] is None:
            return queue.enqueue_many([Queue.prepare_data(run, (text,), result_ttl=0) for _, text in tasks])
        with connection.pipeline() as pipe:
            made = []
            for due, text in tasks:
                assert due is not None
                job = queue.create_job(run, (text,), result_ttl=0)
                made.append(queue.schedule_job(job, datetime.fromtimestamp(due, UTC), pipeline=pipe))
            pipe.execute()
        return made

    def cancel(self, made: Sequence[Any]) -> None:
        for job in made:
            queue.scheduled_job_registry.remove(job, delete_job=True)


PEER = Rq()
