"""The hot paths beside bare calls of redis-py, in one run: their ratio is guarded, whatever the machine's speed and load.

Run by ``make bench-micro``, not by ``make test``. Each pair is measured in turns, in many short rounds, so that both meet
the same noise, and the median of the rounds' ratios is what counts. The limits are what was reached, with room for noise:
they catch what makes a path slower by a third; docs/performance.md has the figures of a quiet run beside their aims.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

import oncue
from bench import work
from bench.server import Server
from oncue.worker.finish import complete
from oncue.worker.outcome import Done
from tests.support.product import Hands

ROUNDS = 60
MOST_SINGLE = 1.4
"""A call of schedule_task may cost so many bare calls of a script that does nothing."""
MOST_BULK = 2.0
"""The same for a task of schedule_many and a bare call in a pipeline of 500."""
MOST_ONE = 2.8
"""To reserve one task and to complete it may cost so many times two bare calls."""
MOST_HUNDRED = 24.0
"""The same for a hundred tasks, still beside two bare calls."""

FIRST_S, LAST_S = 300, 86_400

Call = Callable[[], object]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = Server(Path(folder))
        found.start()
        yield found
        found.stop()


@pytest.fixture
def app(server: Server) -> Iterator[oncue.App]:
    server.client.flushall()
    found = oncue.App(server.url)
    # Of each minute of the day the first task, as for a producer that has run for a while.
    now = time.time()
    for minute in range(FIRST_S // 60, LAST_S // 60 + 2):
        found.schedule_task(now + 60 * minute, work.data("n", 0), "work")
    yield found
    found.close()


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    found = redis.Redis.from_url(server.url, protocol=2)
    yield found
    found.close()


def test_a_single_call_costs_little_more_than_a_bare_script_call(
    app: oncue.App, client: redis.Redis, benchmark: Any
) -> None:
    body, sha = work.data("n", 0), client.script_load("return 1")

    def ours() -> None:
        for _ in range(50):
            app.schedule_task(_due(), body, "work")

    def bare() -> None:
        for _ in range(50):
            client.evalsha(sha, 1, "bare", body)  # pyright: ignore[reportArgumentType]

    assert _ratio(benchmark, ours, bare) < MOST_SINGLE


def test_a_bulk_call_costs_little_more_than_a_bare_pipeline(
    app: oncue.App, client: redis.Redis, benchmark: Any
) -> None:
    body, sha = work.data("n", 0), client.script_load("return 1")
    tasks = [oncue.NewTask(_due(), body, "work") for _ in range(1000)]

    def ours() -> None:
        app.schedule_many(tasks)

    def bare() -> None:
        for _ in range(2):
            with client.pipeline(transaction=False) as pipe:
                for _ in range(500):
                    pipe.evalsha(sha, 1, "bare", body)  # pyright: ignore[reportArgumentType]
                pipe.execute()

    assert _ratio(benchmark, ours, bare) < MOST_BULK


@pytest.mark.parametrize(("tasks", "calls", "most"), [(1, 50, MOST_ONE), (100, 5, MOST_HUNDRED)])
def test_reserving_and_completing_cost_little_more_than_two_bare_calls(
    app: oncue.App, client: redis.Redis, benchmark: Any, tasks: int, calls: int, most: float
) -> None:
    body, sha = work.data("n", 0), client.script_load("return 1")
    hands = Hands(app.store, ["ready"])
    number = tasks * calls * (ROUNDS + 1)
    app.schedule_many([oncue.NewTask(None, body, "ready") for _ in range(number)])

    def ours() -> None:
        for _ in range(calls):
            held = hands.reserve(tasks)
            assert len(held) == tasks
            complete(app.store.shard("ready"), [Done(task) for task in held], 60_000)

    def bare() -> None:
        for _ in range(2 * calls):
            client.evalsha(sha, 1, "bare", body)  # pyright: ignore[reportArgumentType]

    assert _ratio(benchmark, ours, bare) < most


def _ratio(benchmark: Any, ours: Call, bare: Call) -> float:
    """The median over rounds of our time by the bare time beside it; pytest-benchmark reports our absolute one."""
    mine: list[float] = []
    bares: list[float] = []

    def measured() -> None:
        before = time.perf_counter()
        ours()
        mine.append(time.perf_counter() - before)

    def prepared() -> None:
        before = time.perf_counter()
        bare()
        bares.append(time.perf_counter() - before)

    benchmark.pedantic(measured, setup=prepared, rounds=ROUNDS, warmup_rounds=1)
    found = statistics.median(ours_s / bare_s for ours_s, bare_s in zip(mine, bares, strict=True))
    benchmark.extra_info["times a bare call"] = found
    print(f"{found:.2f} times a bare call")
    return found


def _due() -> float:
    return time.time() + random.uniform(FIRST_S, LAST_S)
