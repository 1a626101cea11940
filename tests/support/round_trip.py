"""A process that schedules, sleeps, runs and retries with whichever redis-py it finds: `round_trip URL NAMESPACE SHARDS`."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass

import redis

from oncue import Task
from oncue.common.clock import monotonic_s
from oncue.common.retry import RetryPolicy
from tests.support.product import app_on, opened, running
from tests.support.waiting import eventually, pause

IDLE_S = 6
"""Longer than redis-py 8 waits for a reply unless told otherwise."""

MOST_MS = 50
"""How long a task may wait for a worker after that, at the best of some times: a machine may be busy at any one."""
TIMES = 3


@dataclass
class At:
    """A server by its URL alone."""

    url: str


def main(url: str, namespace: str, shards: str) -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
    began: dict[str, float] = {}
    lock = threading.Lock()

    def handler(task: Task) -> None:
        with lock:
            began[task.id] = monotonic_s()
        if task.data == "once more" and task.failed == 0:
            raise ValueError("once more")

    policies = {"default": RetryPolicy(first_s=0.05)}
    with opened(At(url), namespace, shards=int(shards)) as store:
        app = app_on(store)
        with running(store, handlers={"default": handler}, policies=policies):
            now = store.now_ms("default")
            app.schedule_task(None, "once more", id="now")
            app.schedule_task((now + 200) / 1000, b"raw", id="later")
            app.schedule_task((now + 3_600_000) / 1000, 1, id="far")
            assert app.cancel("far")
            for name in ("now", "later"):
                eventually(lambda name=name: app.get(name).state == "done", 10)  # type: ignore[misc]
            assert app.get("now").failed == 1
            took_ms = [MOST_MS + 1.0]
            for n in range(TIMES):
                if min(took_ms) >= MOST_MS:
                    pause(IDLE_S)
                    scheduled_at = monotonic_s()
                    app.schedule_task(None, 1, id=f"after{n}")
                    eventually(lambda n=n: f"after{n}" in began, 10)  # type: ignore[misc]
                    took_ms.append((began[f"after{n}"] - scheduled_at) * 1000)
    assert min(took_ms) < MOST_MS, took_ms
    print(f"redis-py {redis.__version__} woke in {min(took_ms):.1f} ms, all went well")


if __name__ == "__main__":
    main(*sys.argv[1:])
