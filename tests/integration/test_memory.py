"""Nothing leaks: what was scheduled and taken back, or has run, leaves the server's memory where it began."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oncue import NewTask
from oncue.common.ids import new_id
from tests.integration.size import KEEP_MS, SLACK_BYTES, Bench
from tests.support.product import LEASE_MS, MINUTE_MS, FixedClock, opened
from tests.support.servers import RedisServer

ROUNDS = 20_000
LIVE = 20
NEAR_MS, FAR_MS = 80_000, 10 * MINUTE_MS


@pytest.fixture(params=["valkey", "redis_server"])
def bench(request: pytest.FixtureRequest, namespace: str) -> Iterator[Bench]:
    server: RedisServer = request.getfixturevalue(request.param)
    clock = FixedClock()
    with opened(server, namespace, clock=clock, patience_s=5, keep_finished_ms=KEEP_MS) as store:
        bench = Bench(server, store, clock)
        # One round of each kind first: scripts, counters and buffers come into being.
        for offset_ms in (-1, NEAR_MS, FAR_MS):
            bench.app.cancel(bench.app.schedule_task((clock.ms + offset_ms) / 1000, "x" * 100))
        bench.hands.reserve()
        bench.settle()
        yield bench


def fresh(n: int) -> str:
    return new_id()


def same(n: int) -> str:
    return "mine"


def few(n: int) -> str:
    return f"n{n % 50}"


@pytest.mark.parametrize("offset_ms", [-1, NEAR_MS, FAR_MS], ids=["ready", "near", "far"])
@pytest.mark.parametrize("name", [fresh, same, few], ids=lambda name: name.__name__)
def test_rounds_of_schedule_and_cancel_leave_memory_where_it_began(
    bench: Bench, name: Callable[[int], str], offset_ms: int
) -> None:
    used, keys = bench.used(), bench.keys()
    bench.rounds(name, offset_ms, ROUNDS // 20)
    bench.hands.reserve()  # a worker passes over what was cancelled in its list
    bench.settle()
    assert bench.keys() == keys
    assert bench.used() - used < SLACK_BYTES


@pytest.mark.slow
def test_twenty_thousand_rounds_among_waiting_tasks_leave_memory_where_it_began(bench: Bench) -> None:
    """Live tasks in the same page and the same bucket keep these from going as a whole."""
    for offset_ms in (NEAR_MS, FAR_MS):
        due = (bench.clock.ms + offset_ms) / 1000
        bench.app.schedule_many([NewTask(due, n, id=f"{offset_ms}-{n}") for n in range(LIVE)])
    used, keys = bench.used(), bench.keys()
    number = ROUNDS if bench.server.kind == "valkey" else ROUNDS // 10
    for offset_ms in (NEAR_MS, FAR_MS):
        bench.rounds(same, offset_ms, number // 4)
        for _ in range(number // 4 // 50):
            due = (bench.clock.ms + offset_ms) / 1000
            for task_id in bench.app.schedule_many([NewTask(due, "x" * 100) for _ in range(50)]):
                assert bench.app.cancel(task_id)
    bench.settle()
    after = bench.keys()
    for lists in (keys, after):
        for name in [name for name in lists if name.startswith(("page:", "bucket:", "stale"))]:
            # Cancelled entries that are left over stay fewer than the live ones, and a handful.
            assert lists.pop(name) <= 2 * LIVE + 16
    assert after == keys
    assert bench.used() - used < SLACK_BYTES
    assert bench.app.get(f"{NEAR_MS}-0").state == "delayed"


@pytest.mark.slow
def test_tasks_that_have_run_failed_or_lost_their_lease_leave_memory_where_it_began(bench: Bench) -> None:
    used, keys = bench.used(), bench.keys()
    for n in range(40):
        bench.app.schedule_many([NewTask(None, "x" * 100) for _ in range(100)])
        tasks = bench.hands.reserve(100)
        if n % 4 == 1:
            for task in tasks:
                bench.hands.retry(task, bench.clock.ms + 50)
            bench.clock.pass_ms(50)
            bench.passes()
            bench.passes()
            tasks = bench.hands.reserve(100)
        elif n % 4 == 2:
            bench.clock.pass_ms(LEASE_MS)
            for _ in range(4):
                bench.passes()
            tasks = bench.hands.reserve(100)
        elif n % 4 == 3:
            for task in tasks:
                bench.hands.retry(task, bench.clock.ms + FAR_MS)
                assert bench.app.cancel(task.id)
            tasks = []
        assert set(bench.hands.complete(*tasks)) <= {1}
    bench.settle()
    assert bench.store.counts()["default"]["done"] == 3000
    assert bench.keys() == keys
    assert bench.used() - used < SLACK_BYTES
