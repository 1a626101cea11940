"""oncue: its own commands, ten threads in a worker, all settings left as they are (a lease of 15 s among them)."""

import os
import time
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

import redis

import oncue
from bench import work
from bench.side import Due, Peer
from oncue.common.scripts import script

app = oncue.App(os.environ.get("BENCH_URL"))


@app.handler("work")
def run(task: oncue.Task) -> None:
    work.handle(task.data)


@app.batch_handler("batch", max_size=500)
def run_all(tasks: Sequence[oncue.Task]) -> None:
    for task in tasks:
        work.handle(task.data)


class Oncue(Peer):
    packages = ("oncue", "redis", "hiredis")
    note = "oncue worker --concurrency 10; schedule_many for bulk"
    promoter = "scheduler"
    forgets_s = 60.0

    def worker(self, threads: int, queue: str = "work") -> Sequence[str]:
        at = ("--url", os.environ["BENCH_URL"], "--concurrency", str(threads), "--log-level", "warning")
        return ("python", "-m", "oncue", "worker", "bench.peers.oncue:app", "--queues", queue, *at)

    def batch_worker(self, threads: int) -> Sequence[str]:
        return self.worker(threads, "batch")

    def scheduler(self) -> Sequence[str]:
        at = ("--url", os.environ["BENCH_URL"], "--log-level", "warning")
        return ("python", "-m", "oncue", "scheduler", *at)

    def ticks(self, every_s: float, text: str) -> None:
        app.schedules.create("tick", every_s=every_s, queue="work", data=text)

    def one(self, due: Due, text: str) -> Any:
        return app.schedule_task(due, text, "work")

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        return app.schedule_many([oncue.NewTask(due, text, "work") for due, text in tasks])

    def many_batch(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        return app.schedule_many([oncue.NewTask(due, text, "batch") for due, text in tasks])

    def cancel(self, made: Sequence[Any]) -> None:
        for one in made:
            app.cancel(one)

    def ready(self) -> int:
        return app.store.counts().get("work", {}).get("ready", 0)

    def scripts(self) -> dict[str, str]:
        folder = files("oncue.lua")
        names = [file.name.removesuffix(".lua") for file in folder.iterdir() if file.name.endswith(".lua")]
        return {script(name).sha: name for name in names}

    def bare(self, seconds: float) -> dict[str, float]:
        """A trivial script: one call each through redis-py's client and over oncue's own connection, and 500 in a pipeline."""
        client = redis.Redis.from_url(os.environ["BENCH_URL"], protocol=2)
        sha = client.script_load("return 1")
        body, link = work.data("n", 0), app.store.link

        def pipeline() -> int:
            with client.pipeline(transaction=False) as pipe:
                for _ in range(500):
                    pipe.evalsha(sha, 1, "bare", body)
                return len(pipe.execute())

        def single() -> int:
            client.evalsha(sha, 1, "bare", body)
            return 1

        def own() -> int:
            link.execute_command("EVALSHA", sha, 1, "bare", body)
            return 1

        calls = {"bare EVALSHA": single, "bare, own way": own, "bare pipeline": pipeline}
        return {name: _rate(call, seconds) for name, call in calls.items()}


def _rate(call: Any, seconds: float) -> float:
    number, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        number += call()
    return number / (time.perf_counter() - began)


PEER = Oncue()
