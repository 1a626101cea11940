"""A worker in threads of its own: leases are kept while handlers run, and what is not finished goes back whole."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from oncue import App, NewTask, Task
from oncue.common.retry import RetryPolicy
from oncue.common.store import Store
from tests.support.product import app_on, counts, opened, running
from tests.support.servers import Server
from tests.support.waiting import eventually

LEASE_MS = 2400


@pytest.fixture
def live(server: Server, namespace: str) -> Iterator[Store]:
    """A store under the server's own clock."""
    with opened(server, namespace, shards=server.shards) as store:
        yield store


class Gate:
    """A handler that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.runs: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, task: Task) -> None:
        with self._lock:
            self.runs[task.id] += 1
        assert self.open.wait(30)


def test_a_handler_that_runs_for_many_leases_keeps_its_task(live: Store) -> None:
    gate, app = Gate(), app_on(live)
    # Two thirds of a lease are left when it is renewed: a machine may stand still for so long.
    with running(live, handlers={"default": gate}, schedulers=2, workers=2, lease_ms=LEASE_MS):
        ids = app.schedule_many([NewTask(None, n) for n in range(5)])
        eventually(lambda: len(gate.runs) == 5)
        began = live.shard("default").now_ms()
        eventually(lambda: live.shard("default").now_ms() > began + 2.5 * LEASE_MS)
        assert counts(live) == {"leased": 5}
        gate.open.set()
        eventually(lambda: counts(live) == {"done": 5})
    assert gate.runs == dict.fromkeys(ids, 1)


def test_a_stopped_worker_gives_back_what_runs_and_what_waits_at_no_charge(live: Store) -> None:
    gate, app = Gate(), app_on(live)
    with running(live, handlers={"default": gate}, threads=2) as (_, (worker,)):
        ids = app.schedule_many([NewTask(None, n) for n in range(10)])
        eventually(lambda: len(gate.runs) == 2)
        assert worker.stop(0.1) == 2
        assert counts(live) == {"ready": 10}
        assert {(app.get(task_id).attempts, app.get(task_id).failed) for task_id in ids} == {(0, 0)}
        gate.open.set()
    finished = Gate()
    finished.open.set()
    with running(live, handlers={"default": finished}):
        eventually(lambda: counts(live) == {"done": 10})
    assert finished.runs == dict.fromkeys(ids, 1)


def test_a_stopped_worker_waits_for_what_ends_in_time(live: Store) -> None:
    gate, app = Gate(), app_on(live)
    with (
        running(live, handlers={"default": gate}, threads=2) as (_, (worker,)),
        ThreadPoolExecutor(1) as pool,
    ):
        app.schedule_many([NewTask(None, n) for n in range(2)])
        eventually(lambda: len(gate.runs) == 2)
        stopping = pool.submit(worker.stop, 20)
        gate.open.set()
        assert stopping.result(10) == 0
    assert counts(live) == {"done": 2}


def test_a_task_that_always_fails_is_tried_as_often_as_allowed_ever_later_and_then_dead(live: Store) -> None:
    app, began = app_on(live), list[tuple[int, int]]()

    def handler(task: Task) -> None:
        began.append((task.due_ms, live.shard(task.queue).now_ms()))
        raise LookupError(f"attempt {task.attempt}")

    policies = {"default": RetryPolicy(max_attempts=4, first_s=0.1, jitter=0)}
    with running(live, handlers={"default": handler}, policies=policies):
        task_id = app.schedule_task(None, 1)
        eventually(lambda: counts(live) == {"dead": 1})
    found = app.get(task_id)
    assert found.error is not None
    assert (found.attempts, found.failed, found.error["message"]) == (4, 4, "attempt 4")
    assert "LookupError: attempt 4" in found.error["traceback"]
    assert all(at >= due for due, at in began), began
    failed = [failure["at_ms"] for failure in app.dead.get(task_id).history][::-1]
    delays = [due - at for at, (due, _) in zip(failed[:-1], began[1:], strict=True)]
    assert delays == [100, 200, 400]


def test_an_app_may_be_used_by_many_threads_from_its_first_call_on(server: Server, namespace: str) -> None:
    app = App(server.url, namespace=namespace, shards=server.shards)
    start = threading.Barrier(8)

    def produce(thread: int) -> list[str]:
        start.wait(10)
        return [app.schedule_task(None, n, id=f"shared-{n}") for n in range(50)] + [
            app.schedule_task(None, n, queue=f"q{thread}") for n in range(50)
        ]

    with ThreadPoolExecutor(8) as pool:
        ids = {task_id for made in pool.map(produce, range(8)) for task_id in made}
    assert len(ids) == 50 + 8 * 50
    assert counts(app.store) == {"ready": 50}
    assert sum(sum(states.values()) for states in app.store.counts().values()) == len(ids)
    app.close()
