"""Faults that users of other products reported: long waits, idle servers, the far future, the last moment."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from oncue import NewTask, Task
from oncue.common import wait
from oncue.common.clock import RESYNC_S, ServerClock
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler import alarm
from tests.support.fixtures import live_store
from tests.support.product import Passes, app_on, counts, opened, running
from tests.support.servers import Monitor, RedisServer, Server
from tests.support.waiting import eventually, pause

store = live_store()

COMMANDS_PER_MINUTE = 12
MINUTES, MINUTE_S = 3, 4
"""How many, and for how long each of them stands here."""


class Runs:
    """A handler that notes each run, and how far from its due time it began."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self.ids: Counter[str] = Counter()
        self.late_ms: list[int] = []

    def __call__(self, task: Task) -> None:
        late = self._store.shard(task.queue).now_ms() - task.due_ms
        with self._lock:
            self.ids[task.id] += 1
            self.late_ms.append(late)

    def wait_for(self, number: int, timeout_s: float = 15) -> None:
        eventually(lambda: self.ids.total() >= number, timeout_s, f"{number} runs")


def test_a_task_that_waits_for_many_leases_is_handed_out_once_and_only_when_due(store: Store) -> None:
    """P01: the lease begins when a task is reserved, which is not before it is due."""
    app, runs = app_on(store), Runs(store)
    with running(store, handlers={"default": runs}, schedulers=2, workers=2, lease_ms=1000):
        task_id = app.schedule_task((store.now_ms("default") + 4000) / 1000, 1)
        seen = set()

        def has_run() -> bool:
            found = app.get(task_id)
            seen.add((found.state, found.attempts))
            return found.state == "done"

        eventually(has_run, 15)
    assert ("delayed", 0) in seen
    assert {attempts for state, attempts in seen} <= {0, 1}
    assert runs.ids == {task_id: 1}
    assert runs.late_ms[0] >= 0


@pytest.mark.slow
@pytest.mark.parametrize("waiting", [0, 1000])
def test_an_idle_cluster_asks_next_to_nothing(
    valkey: RedisServer,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
    waiting: int,
) -> None:
    """P20: two schedulers and four workers of ten threads; all that recurs is the blocks' end and the clock's check.

    A minute lasts four seconds here, and a real one in tests/chaos/test_idle.py.
    """
    monkeypatch.setattr(wait, "BLOCK_S", wait.BLOCK_S * MINUTE_S / 60)
    for asks in (ServerClock.refresh, Shard.now_ms):
        monkeypatch.setattr(asks, "__defaults__", (RESYNC_S * MINUTE_S / 60,))
    with ExitStack() as stack:
        stores = [stack.enter_context(opened(valkey, namespace)) for _ in range(6)]
        app = app_on(stores[0])
        tomorrow = stores[0].now_ms("default") // 1000 + 86_400
        app.schedule_many([NewTask(tomorrow + n, n) for n in range(waiting)])
        stack.enter_context(running(*stores, handlers={"default": print}, schedulers=2, workers=4))
        eventually(lambda: int(valkey.admin.info("clients")["blocked_clients"]) == 6, 10, "all asleep")
        with Monitor(valkey) as seen:
            pause(MINUTES * MINUTE_S)
    asked = Counter(one.command for one in seen.commands if not one.lua)
    per_minute = asked.total() / MINUTES
    print("commands per minute:", per_minute, dict(asked))
    record_property("commands_per_minute", per_minute)
    assert per_minute <= COMMANDS_PER_MINUTE, asked


def test_an_instant_costs_one_look_at_the_clock_just_before_it_and_those_that_follow_at_once_none(
    valkey: RedisServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the way is on a busy machine.
    monkeypatch.setattr(alarm, "SHORT_S", 0.02)
    with opened(valkey, namespace) as store, running(store, workers=0):
        # A machine that stands still between two of them makes the next one a new wait, and before the first one leaves
        # no time for a look: not five times.
        rounds: list[list[float]] = []
        while not rounds or not 1 <= len(rounds[-1]) <= 3:
            assert len(rounds) < 5, rounds
            rounds.append(looks_at_ten_instants(valkey, store, 10 * (len(rounds) + 1)))


def looks_at_ten_instants(server: RedisServer, store: Store, ready: int) -> list[float]:
    """When the scheduler looked at the clock just before them or later, in ms from the first; ``ready`` tasks are then."""
    first_ms = store.now_ms("default") + 1000
    app_on(store).schedule_many([NewTask((first_ms + 4 * n) / 1000, n) for n in range(10)])
    with Monitor(server) as seen:
        eventually(lambda: store.counts()["default"].get("ready") == ready, what="all are ready")
        looks = [one.at * 1000 - first_ms for one in seen.sync() if one.command == "TIME" and not one.lua]
    return [ms for ms in looks if ms > -25]


def test_a_process_that_was_kept_from_waking_asks_before_it_promotes(store: Store) -> None:
    app_on(store).schedule_task(store.now_ms("default") / 1000 + 20, 1)
    passes, clock = Passes(store), store.shards[0].server_clock
    passes()
    # Its clock has gone ahead of the server's since it last asked; by that clock the task is due.
    assert clock._synced_at is not None
    clock._synced_at -= 30
    clock._offset_s += 25
    passes()
    assert store.counts()["default"]["delayed"] == 1
    assert clock.age_s() < 20


def test_of_ten_thousand_tasks_cancelled_at_the_last_moment_each_is_either_cancelled_or_run(
    server: Server, namespace: str
) -> None:
    """P26: from 50 ms before the common instant on, four threads cancel."""
    with opened(server, namespace, shards=server.shards) as store:
        app, runs = app_on(store), Runs(store)
        clock = store.shards[0]
        due_ms = clock.now_ms() + 3000
        ids = app.schedule_many([NewTask(due_ms / 1000, n) for n in range(10_000)])
        with (
            running(store, handlers={"default": runs}, schedulers=2, workers=2),
            ThreadPoolExecutor(4) as pool,
        ):
            eventually(lambda: clock.now_ms() >= due_ms - 50, 10)
            # Each its part: a thread that hands out ten thousand calls would keep the others from making theirs.
            parts = pool.map(
                lambda part: {id for id in part if app.cancel(id)}, [ids[n::4] for n in range(4)]
            )
            cancelled = set[str]().union(*parts)
            runs.wait_for(len(ids) - len(cancelled), 60)
            eventually(lambda: store.counts()["default"].get("leased") == 0)
        assert set(runs.ids) | cancelled == set(ids)
        assert not set(runs.ids) & cancelled
        assert set(runs.ids.values()) == {1}
        assert counts(store) == {"done": len(runs.ids), "cancelled": len(cancelled)}
        assert min(runs.late_ms) >= 0
        # Both ways to end have been tried against each other.
        assert cancelled
        assert runs.ids
