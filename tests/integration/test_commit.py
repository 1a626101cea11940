"""A handler's writes and the end of its task happen together or not at all, whatever is lost on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import redis

import oncue
from oncue import App, BadInput, LeaseLost, RetryPolicy, Task, WrongState
from oncue.common.scripts import script
from oncue.common.store import Store
from oncue.worker.grip import Grip
from oncue.worker.hand import Hand
from oncue.worker.inline import InlineWorker
from tests.support.product import START_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.proxy import Proxy, call_of
from tests.support.servers import RedisServer, Server
from tests.support.waiting import eventually

SOON = START_MS / 1000 - 1


def held(task: Task, store: Store) -> Task:
    task.hold_by(Grip(store, Hand(1)))
    return task


def value(server: Server, store: Store, name: str) -> Any:
    client: Any = server.client()
    return client.get(store.shard("default").keys.prefix + b"own:" + name.encode())


def add(task: Task) -> None:
    with task.transaction() as pipe:
        pipe.incrby(task.key("sum"), task.data)
        pipe.set(task.key("last"), 1.5)


def test_writes_and_completion_happen_together(server: Server, app: App, store: Store) -> None:
    app.handler()(add)
    app.schedule_task(SOON, 5, id="mine")
    InlineWorker(store, app.handlers).run_ready()
    assert app.get("mine").state == "done"
    assert (value(server, store, "sum"), value(server, store, "last")) == (b"5", b"1.5")


def test_what_a_handler_raises_after_its_task_has_left_the_hand_buries_nothing(
    app: App, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    policy = RetryPolicy(max_attempts=1, before_bury=lambda task, error: told.append(task.id))

    @app.handler("committed", retry=policy)
    def committed(task: Task) -> None:
        add(task)
        raise ValueError("too late")

    @app.handler("given-back", retry=policy)
    def given_back(task: Task) -> None:
        task.release()
        raise ValueError("too late")

    for queue in app.handlers:
        app.schedule_task(SOON, 5, queue, id=queue)
    with caplog.at_level(logging.INFO, "oncue.run"):
        InlineWorker(store, app.handlers).run_ready()
    assert told == []
    assert [app.get(queue).state for queue in app.handlers] == ["done", "ready"]
    said = {line.split()[1]: line.rsplit(": ")[-1] for line in caplog.messages if "attempt" in line}
    assert said == {"committed": "done", "given-back": "released"}


def test_an_exception_in_the_block_writes_nothing_and_fails_the_attempt(
    server: Server, app: App, store: Store
) -> None:
    @app.handler()
    def handler(task: Task) -> None:
        with task.transaction() as pipe:
            pipe.incr(task.key("sum"))
            raise ValueError("no")

    app.schedule_task(SOON, 5, id="mine")
    InlineWorker(store, app.handlers).run_ready()
    assert (app.get("mine").state, app.get("mine").failed) == ("delayed", 1)
    assert value(server, store, "sum") is None


@pytest.mark.parametrize("reserved_again", [False, True])
def test_with_a_lost_lease_nothing_is_written(
    server: Server,
    app: App,
    store: Store,
    clock: FixedClock,
    passes: Passes,
    hands: Callable[..., Hands],
    reserved_again: bool,
) -> None:
    app.schedule_task(SOON, 5, id="mine")
    (task,) = hands(lease_ms=2000).reserve()
    clock.pass_ms(2000)
    passes()
    if reserved_again:
        hands().reserve()
    with pytest.raises(LeaseLost):
        add(held(task, store))
    assert value(server, store, "sum") is None


@pytest.mark.parametrize("end", ["release", "retry", "bury"])
def test_a_commit_that_comes_after_another_end_of_the_same_lease_writes_nothing(
    server: Server, app: App, store: Store, hands: Callable[..., Hands], end: str
) -> None:
    worker = hands()
    app.schedule_task(SOON, 5, id="mine")
    (task,) = worker.reserve()
    if end == "retry":
        worker.retry(task, START_MS + 9000)
    elif end == "bury":
        worker.bury(task)
    else:
        worker.release(task)
    with pytest.raises(LeaseLost):
        add(held(task, store))
    assert value(server, store, "sum") is None


def test_a_commit_whose_reply_is_lost_is_done_once(valkey: RedisServer, namespace: str) -> None:
    clock = FixedClock()
    with (
        Proxy(valkey.url) as proxy,
        opened(proxy, namespace, clock=clock) as cut,
        opened(valkey, namespace, clock=clock) as direct,
    ):
        app, hands = app_on(direct), Hands(direct, ["default"])
        valkey.client().script_load(script("commit").text)
        for _ in range(20):
            app.schedule_task(SOON, 1)
            (task,) = hands.reserve()
            proxy.cut_reply(call_of("commit"))
            add(held(task, cut))
        assert proxy.cuts == 20
        assert value(valkey, direct, "sum") == b"20"
        eventually(lambda: direct.counts()["default"].get("done") == 20)


def test_a_pipeline_of_ones_own_is_committed_and_its_answers_returned(
    valkey: RedisServer, namespace: str
) -> None:
    with opened(valkey, namespace, clock=FixedClock()) as store:
        app = app_on(store)
        answers: list[Any] = []

        @app.handler()
        def handler(task: Task) -> None:
            pipe = valkey.client().pipeline()
            pipe.rpush(task.key("list"), "a", b"b", 3)
            pipe.lrange(task.key("list"), 0, -1)
            answers.extend(task.commit(pipe))

        app.schedule_task(SOON, 5)
        InlineWorker(store, app.handlers).run_ready()
        assert answers == [3, [b"a", b"b", b"3"]]


def test_what_cannot_be_committed_is_refused_before_anything_is_written(
    app: App, store: Store, hands: Callable[..., Hands]
) -> None:
    app.schedule_task(SOON, 5, id="mine")
    (task,) = hands().reserve()
    held(task, store)
    elsewhere, odd = redis.Redis().pipeline(), redis.Redis().pipeline()
    elsewhere.set("my-own-key", 1)
    odd.execute_command("SET", task.key("x"), None)
    for given, words in ((elsewhere, "task.key"), (odd, "cannot be written"), ({}, "no pipeline")):
        with pytest.raises(BadInput, match=words):
            task.commit(given)
    assert app.get("mine").state == "leased"
    with pytest.raises(WrongState, match="in no worker's hands"):
        Task("t", "q", None, 0).commit(elsewhere)


def test_a_task_is_done_whatever_its_handler_does_after_the_commit(app: App, store: Store) -> None:
    @app.handler()
    def handler(task: Task) -> None:
        task.commit(redis.Redis().pipeline())
        raise oncue.Bury("too late")

    app.schedule_task(SOON, 5, id="mine")
    InlineWorker(store, app.handlers).run_ready()
    assert app.get("mine").state == "done"
