"""P24: the far future stays on the server; no process takes it into its own memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from oncue import NewTask
from tests.support.processes import Process
from tests.support.product import DAY_MS, app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

FAR = 200_000
MOST_GROWTH_BYTES = 20_000_000
MOST_MS = 100

TASKS = """\
import time

import oncue

app = oncue.App()


@app.handler()
def run(task):
    print(f"ran {task.data} after {time.time() * 1000 - task.due_ms:.1f} ms", flush=True)
"""


@pytest.mark.slow
def test_two_hundred_thousand_tasks_of_the_next_month_weigh_on_no_process(
    valkey: RedisServer,
    namespace: str,
    tmp_path: Path,
    run_oncue: Callable[..., Process],
    env: dict[str, str],
    record_property: Callable[[str, object], None],
) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    scheduler = run_oncue("scheduler", env=env, cwd=tmp_path)
    worker = run_oncue("worker", "tasks:app", env=env, cwd=tmp_path)
    with opened(valkey, namespace) as store:
        app = app_on(store)
        app.schedule_task(None, "first")
        worker.wait_for_line("ran first")
        eventually(lambda: store.counts()["default"].get("done") == 1)
        before = scheduler.rss_bytes(), worker.rss_bytes()
        now = store.now_ms("default")
        step = 29 * DAY_MS // FAR
        app.schedule_many(NewTask((now + DAY_MS + n * step) / 1000, n) for n in range(FAR))
        # The best of some: any one may meet a moment in which the machine stands still.
        for n in range(5):
            app.schedule_task(None, f"now {n}")
            worker.wait_for_line(rf"ran now {n} after ")
        took_ms = [float(ms) for ms in re.findall(r"ran now \d after (\S+) ms", worker.output)]
        after = scheduler.rss_bytes(), worker.rss_bytes()
    growth = [late - early for early, late in zip(before, after, strict=True)]
    print("after the call", took_ms, "ms; growth of scheduler and worker", growth, "bytes")
    record_property("rss_growth_bytes", growth)
    assert max(growth) < MOST_GROWTH_BYTES
    assert min(took_ms) < MOST_MS
