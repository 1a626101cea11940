"""A schedule call may wait for replicas or for the disk, and says so where neither has confirmed in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import oncue
from oncue import App, BadInput, NewTask, NotDurable, NotFound, StoreUnavailable, WrongServer
from oncue.common import durability
from tests.support.monitor import Monitor
from tests.support.product import app_on, opened, running
from tests.support.servers import RedisServer, Server
from tests.support.waiting import eventually

CutOff = Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, RedisServer]]:
    """A primary with a real replica."""
    with RedisServer("valkey", tmp_path_factory.mktemp("primary"), aof=True) as primary:
        config = {"replicaof": f"127.0.0.1 {primary.port}"}
        with RedisServer("valkey", tmp_path_factory.mktemp("replica"), config=config) as replica:
            eventually(lambda: linked(replica), 20, "the replica's link")
            yield primary, replica


def linked(replica: RedisServer) -> bool:
    return bool(replica.admin.info("replication").get("master_link_status") == "up")


@pytest.fixture
def app(
    pair: tuple[RedisServer, RedisServer], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[App]:
    # A disk or a processor that others use as well may take its time; a command's own time-out is not much longer.
    monkeypatch.setattr(durability, "CONFIRM_S", 4)
    with opened(pair[0], namespace) as store:
        yield app_on(store)


@pytest.fixture
def cut_off(pair: tuple[RedisServer, RedisServer], monkeypatch: pytest.MonkeyPatch) -> CutOff:
    """While it lasts the replica answers nothing, which is noticed soon."""

    @contextmanager
    def paused() -> Iterator[None]:
        _, replica = pair
        with monkeypatch.context() as patch:
            patch.setattr(durability, "CONFIRM_S", 0.5)
            replica.pause()
            try:
                yield
            finally:
                replica.resume()
        eventually(lambda: linked(replica), 20, "the replica's link")

    return paused


def test_a_call_returns_when_the_replica_has_the_task(
    app: App, pair: tuple[RedisServer, RedisServer]
) -> None:
    _, replica = pair
    for n in range(20):
        task_id = app.schedule_task(4e9, n, durability="replicas:1")
        assert replica.admin.hexists(app.store.shards[0].keys.records.decode(), task_id)
    ids = app.schedule_many([NewTask(4e9, n) for n in range(700)], durability="replicas:1")
    assert replica.admin.hexists(app.store.shards[0].keys.records.decode(), ids[-1])
    assert app.schedule_task(4e9, 1, unique="K", durability="replicas:1")
    assert app.schedule_task(4e9, 1, debounce="K", durability="aof")


@pytest.mark.parametrize("more", [{"id": "mine"}, {"id": "u", "unique": "K"}, {"id": "d", "debounce": "K"}])
def test_a_replica_that_is_cut_off_is_told_of_and_the_same_id_makes_one_task(
    app: App, cut_off: CutOff, more: dict[str, str]
) -> None:
    with cut_off():
        for _ in range(2):
            # Written the first time; the repeated call, which writes no task, is not confirmed either.
            with pytest.raises(
                StoreUnavailable, match="written, but not confirmed by 1 replicas within 0.5 s"
            ):
                app.schedule_task(4e9, 1, durability="replicas:1", **more)  # type: ignore[arg-type]
    eventually(lambda: confirmed(app, more), 20, "a confirmation")
    assert app.store.counts()["default"]["delayed"] == 1


def test_an_unconfirmed_task_that_has_run_meanwhile_is_found_by_the_id_that_the_error_carries(
    app: App, cut_off: CutOff
) -> None:
    ran: list[str] = []
    with running(app.store, handlers={"default": lambda task: ran.append(task.id)}), cut_off():
        with pytest.raises(NotDurable, match="written, but not confirmed by 1 replicas") as caught:
            app.schedule_task(None, 1, durability="replicas:1")
        task_id = caught.value.id
        assert f"task {task_id} is written" in str(caught.value)
        eventually(lambda: app.get(task_id).state == "done", 20)
    assert ran == [task_id]


@pytest.mark.parametrize("more", [{}, {"unique": "K"}, {"debounce": "K", "max_wait_s": 1e6}])
def test_an_unconfirmed_task_that_waits_is_confirmed_by_the_same_call_with_its_id(
    app: App, cut_off: CutOff, more: dict[str, Any]
) -> None:
    with cut_off():
        with pytest.raises(NotDurable) as caught:
            app.schedule_task(4e9, 1, durability="replicas:1", **more)
        # What a debounced call asks about on its way has written nothing that there were to be confirmed.
        assert app.get(caught.value.id).state == "delayed"
    eventually(lambda: confirmed(app, {**more, "id": caught.value.id}), 20, "a confirmation")
    assert app.store.counts()["default"]["delayed"] == 1


def test_the_error_of_many_tasks_carries_the_ids_of_all(app: App, cut_off: CutOff) -> None:
    with (
        cut_off(),
        pytest.raises(NotDurable, match="500 tasks, the first of them mine, are written") as caught,
    ):
        app.schedule_many(
            [NewTask(4e9, n, id="mine" if n == 0 else None) for n in range(700)], durability="replicas:1"
        )
    ids = caught.value.ids
    assert (len(set(ids)), ids[0]) == (700, "mine")
    assert app.get(ids[499]).data == 499
    with pytest.raises(NotFound):
        app.get(ids[500])


def confirmed(app: App, more: dict[str, str]) -> bool:
    try:
        return app.schedule_task(4e9, 1, durability="replicas:1", **more) == more["id"]  # type: ignore[arg-type]
    except StoreUnavailable:
        return False


@pytest.mark.parametrize("more", [{}, {"unique": "disk"}, {"debounce": "disk"}])
def test_a_call_returns_when_the_task_is_on_the_disk(
    app: App, pair: tuple[RedisServer, RedisServer], more: dict[str, Any]
) -> None:
    app.schedule_task(4e9, 0, durability="aof")
    with Monitor(pair[0]) as seen:
        task_id = app.schedule_task(4e9, 1, durability="aof", **more)
    assert app.get(task_id).state == "delayed"
    own = [one for one in seen.commands if not one.lua]
    *_, write = (at for at, one in enumerate(own) if one.command == "EVALSHA" and task_id in one.args)
    (wait,) = (at for at, one in enumerate(own) if one.command == "WAITAOF")
    # A wait speaks of what its own connection has written before.
    assert write < wait
    assert own[write].client == own[wait].client
    assert own[wait].args[:2] == ("1", "0")


def test_the_many_of_the_default_app_may_wait_too(
    app: App, pair: tuple[RedisServer, RedisServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oncue, "_app", app)
    with Monitor(pair[0]) as seen:
        oncue.schedule_many([NewTask(4e9, 1)], durability="aof")
    assert [one.args[:2] for one in seen.commands if one.command == "WAITAOF"] == [("1", "0")]


def test_a_server_that_keeps_no_file_is_refused_before_anything_is_written(
    server: Server, namespace: str
) -> None:
    with opened(server, namespace, shards=server.shards) as store:
        app = app_on(store)
        with pytest.raises(WrongServer, match="nothing was written"):
            app.schedule_task(4e9, 1, durability="aof")
        assert store.counts() == {}


def test_a_cluster_or_a_single_server_without_replicas_confirms_nothing(
    server: Server, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durability, "CONFIRM_S", 0.1)
    with opened(server, namespace, shards=server.shards) as store:
        app = app_on(store)
        for queue in ("a", "b", "c"):
            with pytest.raises(StoreUnavailable, match="not confirmed by 2 replicas"):
                app.schedule_task(4e9, 1, queue, id=queue, durability="replicas:2")
            assert app.get(queue).state == "delayed"


@pytest.mark.parametrize("wrong", ["replicas", "replicas:0", "replicas:x", "disk", 1])
def test_a_durability_that_nobody_knows_is_refused(app: App, wrong: str) -> None:
    with pytest.raises(BadInput, match='give "replicas:1"'):
        app.schedule_task(4e9, 1, durability=wrong)
