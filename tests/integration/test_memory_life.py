"""Nothing leaks from a task's whole life: rounds of each kind leave the server's memory where it began.

ONCUE_MEMORY_ROUNDS=1000000 makes as many rounds of each kind as the product promises to bear. Measured so, with Valkey 9 on
a busy machine of two cores, in bytes that the server held before and after (buffers of connections and the like come
into being once: the difference is the same after 25,000 rounds):

    schedule and cancel      213 s    2,150,352    2,177,560
    debounce               1,229 s    2,107,848    2,184,368
    finish                    72 s    2,226,096    2,179,600
    retry, bury, purge       511 s    2,119,800    2,205,224

Nothing else may speak with the server meanwhile: each open connection is some KB of its memory, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import pytest

from oncue import NewTask, Task
from oncue.worker.finish import sorted_out, write
from oncue.worker.outcome import Bury, Done, Outcome, Retry, failure
from tests.integration.size import KEEP_MS, SLACK_BYTES, Bench
from tests.support.product import MINUTE_MS, FixedClock, opened
from tests.support.servers import RedisServer

ROUNDS = int(os.environ.get("ONCUE_MEMORY_ROUNDS", "20000"))
GROUP = 100
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + ROUNDS // 100)]


@pytest.fixture
def bench(valkey: RedisServer, namespace: str) -> Iterator[Bench]:
    clock = FixedClock()
    with opened(valkey, namespace, clock=clock, patience_s=5, keep_finished_ms=KEEP_MS) as store:
        bench = Bench(valkey, store, clock)
        for round_of in KINDS.values():
            round_of(bench, 0)
        settle(bench)
        yield bench


def settle(bench: Bench) -> None:
    """Lets finished tasks be forgotten, held keys too, and what is in ready lists be passed over."""
    bench.hands.reserve()
    for _ in range(4):
        bench.settle()
        bench.passes()


def cancelled(bench: Bench, n: int) -> None:
    """Scheduled, moved, cancelled, all by hundreds."""
    due = (bench.clock.ms + (80_000, 10 * MINUTE_MS)[n % 2]) / 1000
    ids = bench.app.schedule_many([NewTask(due, "x" * 100) for _ in range(GROUP)])
    if n % 3 == 0:
        bench.app.reschedule_many(ids, due + 60)
    assert set(bench.app.cancel_many(ids).values()) == {"cancelled"}


def debounced(bench: Bench, n: int) -> None:
    """Pushed ahead again and again; the last of it is cancelled, or runs."""
    due = (bench.clock.ms + (500, 10 * MINUTE_MS)[n % 2]) / 1000
    pushed = [
        bench.app.schedule_task(due + push % 7, "x" * 100, debounce=f"key{n % 50}")
        for push in range(GROUP - 1)
    ]
    assert bench.app.cancel(pushed[-1])
    bench.app.schedule_task(None, 1, unique=f"key{n % 50}", unique_for_s=50 if n % 4 == 0 else None)
    bench.hands.complete(*bench.hands.reserve())


def finished(bench: Bench, n: int) -> None:
    bench.app.schedule_many([NewTask(None, "x" * 100) for _ in range(GROUP)])
    write_all(bench, [Done(task) for task in taken(bench)])


def purged(bench: Bench, n: int) -> None:
    """Retried, then buried, then purged; every third hundred redriven and done."""
    bench.app.schedule_many([NewTask(None, "x" * 100) for _ in range(GROUP)])
    error = failure(ValueError("no"), bench.clock.ms)
    write_all(bench, [Retry(task, bench.clock.ms, error) for task in taken(bench)])
    write_all(bench, [Bury(task, error) for task in taken(bench)])
    if n % 3 == 0:
        assert bench.app.dead.redrive_many() == GROUP
        write_all(bench, [Done(task) for task in taken(bench)])
    else:
        assert bench.app.dead.purge_many() == GROUP


def taken(bench: Bench) -> list[Task]:
    tasks: list[Task] = []
    while len(tasks) < GROUP:
        tasks += bench.hands.reserve()
    return tasks


def write_all(bench: Bench, outcomes: Sequence[Outcome]) -> None:
    """In groups, as a worker does."""
    for shard, kind, group in sorted_out(outcomes, bench.store.shard):
        assert set(write(shard, kind, group, KEEP_MS)) == {1}


KINDS: dict[str, Callable[[Bench, int], None]] = {
    "schedule and cancel": cancelled,
    "debounce": debounced,
    "finish": finished,
    "retry, bury, purge": purged,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_leave_memory_where_it_began(bench: Bench, kind: str) -> None:
    used, keys = bench.used(), bench.keys()
    for n in range(ROUNDS // GROUP):
        KINDS[kind](bench, n)
        if n % 20 == 19:
            # Time goes on: what has ended is forgotten as rounds go by, pages open, the dead are looked over.
            bench.clock.pass_ms(KEEP_MS)
            bench.passes()
    settle(bench)
    assert bench.keys() == keys
    assert bench.used() - used < SLACK_BYTES
