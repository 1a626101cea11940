"""Servers that restart, forget their scripts, fall silent or change their role: work goes on, once, without a hand."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.ports import free_port
from oncue import App, BadInput, NewTask, Task
from oncue.common import address, link, wait
from oncue.common.clock import monotonic_s
from oncue.common.retry import RetryPolicy
from oncue.common.store import Store
from tests.support.product import app_on, counts, opened, running
from tests.support.proxy import Proxy
from tests.support.servers import Cluster, RedisServer, SentinelSet
from tests.support.waiting import eventually

# What goes unnoticed goes on for a minute or more, the length of a blocking command; a busy machine takes seconds.
NOTICED_S = 15
# Longer than the server is away in these tests, or what is in hand then would run twice.
LEASE_MS = 8000


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own that keeps what it has acknowledged."""
    with RedisServer("valkey", tmp_path / "own", aof=True, config={"appendfsync": "always"}) as server:
        yield server


class Runs(Counter[str]):
    """A handler that counts the runs of each task."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def __call__(self, task: Task) -> None:
        with self._lock:
            self[task.id] += 1


def produce(app: App, store: Store, number: int, is_done: Callable[[], bool]) -> list[str]:
    """Schedule up to `number` tasks one by one, some of them for a moment later, until told to end."""
    ids = []
    for n in range(number):
        if is_done():
            break
        ids.append(app.schedule_task((store.now_ms("default") + n % 7 * 20) / 1000, n))
    return ids


def test_a_server_that_forgets_its_scripts_and_restarts_fails_no_call_and_doubles_no_run(
    own: RedisServer, namespace: str
) -> None:
    """P15: SCRIPT FLUSH twenty times under load, then a restart under load."""
    runs, ended = Runs(), threading.Event()
    with opened(own, namespace) as store, ThreadPoolExecutor(2) as pool:
        app = app_on(store)
        with running(store, handlers={"default": runs}, schedulers=2, workers=2, lease_ms=LEASE_MS):
            producing = [pool.submit(produce, app, store, 20_000, ended.is_set) for _ in range(2)]
            for n in range(1, 21):
                eventually(lambda n=n: len(runs) >= n * 17, 20)  # type: ignore[misc]
                own.admin.script_flush()
            own.restart()
            before = len(runs)
            eventually(lambda: len(runs) > before + 50, 20, "runs after the restart")
            ended.set()
            ids = {task_id for made in producing for task_id in made.result(20)}
            eventually(lambda: len(runs) == len(ids), 40, "all runs")
            eventually(lambda: counts(store) == {"done": len(ids)}, 10)
    assert set(runs) == ids
    assert set(runs.values()) == {1}


def test_connections_that_are_cut_again_and_again_lose_no_task_and_double_none(
    own: RedisServer, namespace: str
) -> None:
    """P02: all clients are killed under load, waiting ones and working ones, and then the server is away for a while."""
    runs = Runs()
    with opened(own, namespace) as store:
        app = app_on(store)
        with running(store, handlers={"default": runs}, schedulers=2, workers=2, lease_ms=LEASE_MS):
            for _ in range(20):
                now = store.now_ms("default")
                app.schedule_many([NewTask((now + 5 * n) / 1000, n) for n in range(20)])
                own.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            own.stop()
            own.start()
            app.schedule_many([NewTask(None, n) for n in range(20)])
            eventually(lambda: counts(store) == {"done": 420}, 40)
    assert (len(runs), set(runs.values())) == (420, {1})


def test_a_silent_link_is_replaced_within_block_and_grace(
    valkey: RedisServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P17: a middle box swallows all bytes of the connections that are open."""
    monkeypatch.setattr(wait, "BLOCK_S", 1.0)
    monkeypatch.setattr(wait, "GRACE_S", 0.5)
    monkeypatch.setattr(link, "COMMAND_TIMEOUT_S", 1.0)
    runs = Runs()
    with Proxy(valkey.url) as proxy, opened(proxy, namespace) as held, opened(valkey, namespace) as direct:
        app = app_on(direct)
        with running(held, handlers={"default": runs}):
            app.schedule_task(None, "before")
            eventually(lambda: len(runs) == 1)
            eventually(lambda: int(valkey.admin.info("clients")["blocked_clients"]) == 2)
            proxy.swallow(new_too=False)
            app.schedule_task(None, "after")
            app.schedule_task((direct.now_ms("default") + 200) / 1000, "later")
            # Block, grace and two commands, each of which times out after 1 s; and as much again for a busy machine.
            eventually(lambda: len(runs) == 3, 8, "runs over new connections")
        proxy.resume()
    assert set(runs.values()) == {1}


def test_a_worker_can_be_stopped_while_its_server_is_silent(own: RedisServer, namespace: str) -> None:
    """What cannot be written any more is left to the lease."""
    release = threading.Event()
    with opened(own, namespace) as store:
        app = app_on(store)

        def handler(task: Task) -> None:
            release.wait(20)

        with running(store, handlers={"default": handler}, threads=1) as (_, (worker,)):
            app.schedule_task(None, 1)
            eventually(lambda: counts(store) == {"leased": 1})
            own.kill()
            release.set()
            began = monotonic_s()
            worker.stop(1)
            # Well before it would have been sure that the server stays away.
            assert monotonic_s() - began < store.patience_s


def test_a_server_that_turns_read_only_for_a_while_stops_work_no_longer(
    own: RedisServer, namespace: str
) -> None:
    """P22: demoted without a dropped connection, and promoted again."""
    runs = Runs()
    with opened(own, namespace) as store, running(store, handlers={"default": runs}, schedulers=2):
        app = app_on(store)
        app.schedule_task(None, 1)
        eventually(lambda: len(runs) == 1)
        own.ask("REPLICAOF", "127.0.0.1", free_port())
        with ThreadPoolExecutor(1) as pool:
            scheduling = pool.submit(app.schedule_task, None, 2)
            assert not scheduling.done()
            own.ask("REPLICAOF", "NO", "ONE")
            scheduling.result(10)
        app.schedule_task((store.now_ms("default") + 300) / 1000, 3)
        eventually(lambda: len(runs) == 3, NOTICED_S)
        eventually(lambda: counts(store) == {"done": 3})


@pytest.mark.slow
def test_after_a_failover_work_goes_on_at_the_new_primary(tmp_path: Path, namespace: str) -> None:
    """P22: the old primary lives on as a replica and keeps its connections."""
    runs = Runs()
    with (
        SentinelSet(tmp_path) as group,
        opened(group, namespace) as store,
        running(store, handlers={"default": runs}, schedulers=2),
    ):
        app = app_on(store)
        waiting = app.schedule_task((store.now_ms("default") + 3_600_000) / 1000, "kept")
        app.schedule_task(None, 1)
        eventually(lambda: len(runs) == 1)
        group.primary.ask("WAIT", 1, 5000)
        new = group.failover()
        app.schedule_task((store.now_ms("default") + 200) / 1000, 2)
        eventually(lambda: len(runs) == 2, NOTICED_S)
        assert app.get(waiting).data == "kept"
        assert new.admin.dbsize() > 0


def test_a_whole_life_on_a_cluster_from_schedule_to_dead(cluster: Cluster, namespace: str) -> None:
    """P21: queues of different shards, in threads of their own."""
    runs = Runs()

    def handler(task: Task) -> None:
        runs(task)
        if task.data == "fail" or (task.data == "once more" and task.failed == 0):
            raise RuntimeError(task.data)

    queues = ("a", "b", "c", "default")
    policies = {queue: RetryPolicy(max_attempts=2, first_s=0.05) for queue in queues}
    with opened(cluster, namespace, shards=cluster.shards) as store:
        app = app_on(store)
        with running(
            store, handlers=dict.fromkeys(queues, handler), schedulers=2, workers=2, policies=policies
        ):
            now = store.now_ms("a")
            ids = {
                data: app.schedule_many(
                    [NewTask((now + 50 * n) / 1000, data, queue=queue) for n, queue in enumerate(queues)]
                )
                for data in ("fine", "once more", "fail")
            }
            later = app.schedule_task((now + 3_600_000) / 1000, "later", queue="b")
            expected = {"done": 2, "dead": 1}
            for queue in queues:
                wanted = {**expected, "delayed": 1} if queue == "b" else expected
                eventually(lambda q=queue, w=wanted: counts(store, q) == w, 15, f"queue {queue}")  # type: ignore[misc]
        assert app.cancel(later)
        for task_id in ids["fail"]:
            found = app.get(task_id)
            assert found.error is not None
            assert (found.state, found.failed, found.error["message"]) == ("dead", 2, "fail")
    assert runs.total() == 4 * (1 + 2 + 2)


def test_what_a_cluster_cannot_have_is_refused_before_any_connection() -> None:
    app = App("redis+cluster://127.0.0.1:1", shards=3)
    with pytest.raises(BadInput, match="is not a queue name"):
        app.schedule_task(None, 1, queue="{a}")
    with pytest.raises(BadInput, match="is not a queue name"):
        app.handler("a}b")
    with pytest.raises(BadInput, match="database"):
        address.parse("redis+cluster://127.0.0.1:1/3")


@pytest.mark.slow
def test_a_cluster_that_was_away_as_a_whole_finds_its_schedulers_and_workers_again(
    tmp_path: Path, namespace: str
) -> None:
    runs = Runs()
    with (
        Cluster(tmp_path, aof=True, config={"appendfsync": "always"}) as cluster,
        opened(cluster, namespace, shards=cluster.shards) as store,
        running(store, handlers={"a": runs, "b": runs}, schedulers=2) as (schedulers, workers),
    ):
        app = app_on(store)
        for queue in "ab":
            app.schedule_task(None, 1, queue=queue)
        eventually(lambda: len(runs) == 2)
        for node in cluster.nodes:
            node.kill()
        with ThreadPoolExecutor(2) as pool:
            scheduling = [pool.submit(app.schedule_task, None, 2, queue=queue) for queue in "ab"]
            cluster.heal()
            for one in scheduling:
                one.result(25)
        eventually(lambda: len(runs) == 4, NOTICED_S)
        assert all(scheduler.alive() for scheduler in schedulers)
        assert all(worker.alive() for worker in workers)
    assert set(runs.values()) == {1}
