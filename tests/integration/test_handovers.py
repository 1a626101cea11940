"""What one process hands to another arrives, also where the taker is dead, busy, or cut off half way."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from oncue import Task
from oncue.common.handler import Handler
from oncue.common.store import Store
from oncue.worker.worker import Worker
from tests.support.fixtures import live_store
from tests.support.product import FixedClock, Hands, Passes, app_on, opened
from tests.support.proxy import Proxy, command
from tests.support.servers import RedisServer
from tests.support.waiting import eventually, pause

from oncue.scheduler.scheduler import Scheduler  # isort: skip

store = live_store()


@pytest.fixture
def scheduler(store: Store) -> Iterator[Scheduler]:
    running = Scheduler(store)
    running.start()
    yield running
    running.stop()


def test_a_thousand_marks_of_one_instant_are_forgotten_in_one_pass(
    valkey: RedisServer, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FixedClock()
    with opened(valkey, namespace, clock=clock) as store:
        hands, passes = Hands(store, ["default"]), Passes(store)
        for _ in range(15):
            ids = [app_on(store).schedule_task(None, n) for n in range(100)]
            assert len(ids) == 100
            hands.complete(*hands.reserve())
        clock.pass_ms(store.keep_finished_ms + 10_000)
        with caplog.at_level(logging.ERROR):
            passes()
        shard = store.shards[0]
        assert shard.command("LLEN", shard.keys.finished) == 0
        assert not caplog.records


def waiting_socket(server: RedisServer, wake: bytes) -> socket.socket:
    """A worker's blocked read on a host that is gone: the server does not know yet."""
    dead = socket.create_connection(("127.0.0.1", server.port))
    dead.sendall(b"*3\r\n$5\r\nBLPOP\r\n$%d\r\n%s\r\n$2\r\n60\r\n" % (len(wake), wake))
    return dead


def test_dead_workers_first_in_line_cost_less_than_a_second(
    valkey: RedisServer, store: Store, namespace: str, scheduler: Scheduler
) -> None:
    # Half a second of it is the guard's, and a busy machine may need the other half for itself now and then.
    assert any(waited_behind_the_dead(valkey, store, namespace) < 1.0 for _ in range(3))


def waited_behind_the_dead(valkey: RedisServer, store: Store, namespace: str) -> float:
    """For how many seconds a task waits for the seventh in line."""
    wake = store.shards[0].keys.wake("default")
    before = waiting_workers(valkey)
    dead = [waiting_socket(valkey, wake) for _ in range(6)]
    eventually(lambda: waiting_workers(valkey) == before + 6, what="the dead wait")
    ran = threading.Event()
    with opened(valkey, namespace) as other:
        worker = Worker(other, {"default": lambda task: ran.set()})
        worker.start()
        eventually(lambda: waiting_workers(valkey) == before + 7, what="the worker waits")
        began = time.monotonic()
        app_on(store).schedule_task(None, 1)
        assert ran.wait(20)
        took = time.monotonic() - began
        worker.stop(1)
    for one in dead:
        one.close()
    eventually(lambda: waiting_workers(valkey) == before, what="the server's notice of their end")
    return took


def waiting_workers(server: RedisServer) -> int:
    """How many connections wait for a wake token."""
    return sum("b" in client["flags"] and client["cmd"] == "blpop" for client in server.admin.client_list())


def test_a_wake_token_that_meets_a_full_worker_goes_on_to_an_idle_one(
    valkey: RedisServer, store: Store, namespace: str
) -> None:
    release, ran = threading.Event(), threading.Event()
    batch = Handler(lambda tasks: ran.set(), max_size=5)
    handlers: dict[str, Handler | Callable[[Task], object]] = {
        "plain": lambda task: release.wait(10),
        "batch": batch,
    }
    app = app_on(store)
    with opened(valkey, namespace) as one, opened(valkey, namespace) as other:
        full = Worker(one, handlers, threads=1)
        full.start()
        # It waits for both queues, the batches first in line, before the other worker comes.
        eventually(lambda: valkey.admin.info("clients")["blocked_clients"] >= 2, what="the first waits")
        app.schedule_task(None, 1, queue="plain")
        eventually(lambda: app.store.counts()["plain"].get("leased"), what="the first is full")
        idle = Worker(other, {"batch": batch}, threads=1)
        idle.start()
        pause(0.3)
        app.schedule_task(None, 1, queue="batch")
        # No scheduler runs, so no guard can help.
        assert ran.wait(5)
        release.set()
        full.stop(5)
        idle.stop(1)


def test_a_batch_that_is_cut_off_while_it_fills_still_runs(valkey: RedisServer, namespace: str) -> None:
    seen: list[str] = []

    def handle(tasks: list[Task]) -> None:
        seen.extend(task.id for task in tasks)

    with Proxy(valkey.url) as proxy, opened(valkey, namespace) as store, opened(proxy, namespace) as far:
        app = app_on(store)
        task_id = app.schedule_task(None, 1)
        worker = Worker(far, {"default": Handler(handle, max_size=5, max_wait_s=3.0)}, threads=1)
        worker.start()
        eventually(lambda: app.store.counts()["default"].get("leased"), what="the batch is begun")
        proxy.cut_reply(command("evalsha"))
        app.schedule_task(None, 2)
        eventually(lambda: task_id in seen, what="the first task of the batch has run")
        worker.stop(2)


def test_a_worker_without_its_finisher_says_that_it_is_not_alive(store: Store) -> None:
    worker = Worker(store, {"default": lambda task: None})
    worker.start()
    assert worker.alive()
    worker._finisher.stop()
    assert not worker.alive()
    worker.stop(1)


@pytest.mark.parametrize("bad", ["order 17", "a\nb", "=1:5:q"])
def test_an_id_that_no_worker_would_take_is_refused_by_the_script_itself(store: Store, bad: str) -> None:
    from redis.exceptions import ResponseError

    from oncue.common import record
    from oncue.common.writing import Placed, written

    shard = store.shards[0]
    due = shard.now_ms()
    task = Placed(bad, record.pack(due, 5, "default", (b"1", False)), due, 5, "default")
    with pytest.raises(ResponseError):
        written(shard, [task])
    assert store.counts() == {}
