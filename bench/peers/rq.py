"""RQ. Each choice, and the page of its documentation that it follows:

- the default Worker, a process for each job: "Notes on Performance" ("run Worker or SpawnWorker in production").
- a worker script of its own, bench/peers/rq_worker.py, that imports the jobs' module before the fork: "Workers", "Performance
  Notes". `rq worker` imports it in each job's process.
- one job at a time in each worker: "Workers"; ten at a time are ten processes there (`rq worker-pool -n 10`), which would
  multiply its idle cost and memory by ten.
- with_scheduler: "Scheduling Jobs"; due times are whole seconds there.
- result_ttl=0: "Results", no results kept. enqueue_many with prepared data: "Jobs", for bulk; for delayed ones, which it
  does not take, the same calls in one pipeline.
- cancelling: one call after another, for the client blocks.
- `rq cron`: "Cron Scheduler". Nothing there keeps two of them from firing each tick twice.
"""

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
    note = "own worker script with scheduler, one job at a time in a fork, no results; schedulers: rq cron"
    cannot: ClassVar = {
        "batch": "none",
        "tick": "one rq cron only: two fire each tick twice, and nothing takes over from a dead one",
    }
    reasons: ClassVar = {
        "worker": "abandoned jobs are looked for every ten minutes",
        "scheduler": "the other workers try for the scheduler's lock every ten minutes",
    }

    def worker(self, threads: int) -> Sequence[str]:
        return ("python", "-m", "bench.peers.rq_worker")

    def scheduler(self) -> Sequence[str]:
        return ("rq", "cron", "--url", os.environ["BENCH_URL"], "-l", "warning", "bench.peers.rq_cron")

    def one(self, due: Due, text: str) -> Any:
        if due is None:
            return queue.enqueue(run, text, result_ttl=0)
        return queue.enqueue_at(datetime.fromtimestamp(due, UTC), run, text, result_ttl=0)

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        made: list[Any] = []
        if tasks and tasks[0][0] is None:
            made = queue.enqueue_many([Queue.prepare_data(run, (text,), result_ttl=0) for _, text in tasks])
            return made
        with connection.pipeline() as pipe:
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
