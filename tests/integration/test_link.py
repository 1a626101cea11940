"""Whatever is wrong with the server or the way to it is one sentence, which never holds a secret."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from bench.ports import free_port
from oncue import App, BadInput, OncueError, StoreUnavailable, WrongServer
from oncue.common import address
from oncue.common.link import Link
from oncue.common.store import Store
from tests.support.product import app_on
from tests.support.servers import RedisServer

SECRET = "a#b@c/d%e+f=g:h?i j"
DUE = 2_000_000_000


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that the test may set up as it likes."""
    with RedisServer("valkey", tmp_path / "own") as server:
        yield server


def app_at(url: str, patience_s: float = 0.2) -> App:
    return app_on(Store(Link(address.parse(url)), "t", patience_s=patience_s))


def with_password(server: RedisServer, secret: str, user: str = "") -> str:
    return f"redis://{user}:{quote(secret, safe='')}@127.0.0.1:{server.port}"


def refused(url: str, kind: type[OncueError]) -> str:
    """The sentence with which a schedule call at `url` is refused; it is checked for secrets on the way."""
    app = app_at(url)
    with pytest.raises(kind) as refusal:
        app.schedule_task(DUE, 1)
    app.close()
    text = str(refusal.value)
    assert "\n" not in text
    for form in (SECRET, quote(SECRET, safe=""), "wrong-password"):
        assert form not in text
    return text


def test_a_password_of_any_characters_logs_in(own: RedisServer) -> None:
    own.ask("CONFIG", "SET", "requirepass", SECRET)
    app = app_at(with_password(own, SECRET))
    app.get(app.schedule_task(DUE, 1))
    app.close()


def test_a_wrong_password_is_named_as_such_at_once_and_not_shown(
    own: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    own.ask("CONFIG", "SET", "requirepass", SECRET)
    for url in (
        with_password(own, "wrong-password"),
        own.url,
        with_password(own, "wrong-password", "nobody"),
    ):
        text = refused(url, WrongServer)
        assert text.startswith(
            f"the server at 127.0.0.1:{own.port} refuses the login: check user name and password"
        )
    assert "wrong-password" not in caplog.text


def test_a_user_without_the_right_to_run_scripts_is_told(own: RedisServer) -> None:
    own.ask("ACL", "SETUSER", "weak", "on", f">{SECRET}", "~*", "+info", "+time", "+@read")
    assert "forbids its user a command that oncue needs (" in refused(
        with_password(own, SECRET, "weak"), WrongServer
    )


def _replica(server: RedisServer) -> None:
    server.ask("REPLICAOF", "127.0.0.1", free_port())


def _evicting(server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")


def _full(server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "maxmemory", "1")


@pytest.mark.parametrize(
    ("setting", "kind", "sentence"),
    [
        (_replica, StoreUnavailable, "is a read-only replica: give the primary's address"),
        (
            _evicting,
            WrongServer,
            "has maxmemory-policy allkeys-lru and would drop waiting tasks: set it to noeviction",
        ),
        (_full, StoreUnavailable, "is out of memory: raise maxmemory"),
    ],
)
def test_a_server_that_is_set_up_wrong_is_refused_before_anything_is_written(
    own: RedisServer, setting: Callable[[RedisServer], None], kind: type[OncueError], sentence: str
) -> None:
    setting(own)
    assert refused(own.url, kind) == f"the server at 127.0.0.1:{own.port} {sentence}"
    assert own.admin.dbsize() == 0


def test_a_server_that_is_not_there_is_named_without_a_secret() -> None:
    port = free_port()
    text = refused(f"redis://user:{quote(SECRET, safe='')}@127.0.0.1:{port}/3", StoreUnavailable)
    assert text.startswith(f"the server at 127.0.0.1:{port}/3 cannot be reached or is not ready (")


@pytest.mark.parametrize("kind", ["cluster", "sentinel"])
def test_a_cluster_or_sentinels_that_are_not_there_are_named_like_a_single_server(kind: str) -> None:
    port = free_port()
    service = "/main" if kind == "sentinel" else ""
    text = refused(f"redis+{kind}://127.0.0.1:{port}{service}", StoreUnavailable)
    assert text.startswith(f"the server at 127.0.0.1:{port}{service} cannot be reached or is not ready (")


def test_a_task_for_now_waits_for_the_server_like_any_other() -> None:
    app = app_at(f"redis://127.0.0.1:{free_port()}")
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        app.schedule_task(None, 1)


def test_a_database_other_than_the_first_is_used_as_asked(own: RedisServer) -> None:
    app = app_at(f"{own.url}/5")
    app.schedule_task(DUE, 1)
    assert own.admin.dbsize() == 0
    app.close()


@pytest.mark.parametrize("keep_s", [20, 35.9])
def test_finished_tasks_are_remembered_for_longer_than_any_call_is_repeated(keep_s: float) -> None:
    link = Link(address.parse("redis://127.0.0.1:1"))
    with pytest.raises(BadInput) as refusal:
        Store(link, "t", patience_s=20, keep_finished_ms=int(keep_s * 1000))
    assert str(refusal.value) == (
        f"finished tasks must be remembered for more than 36 s, in which a call may be repeated, not for {keep_s:g} s:"
        " a repetition after that could run a task twice"
    )
    Store(link, "t", patience_s=20, keep_finished_ms=40_000)


def test_a_blocking_read_may_be_connected_anew_any_number_of_times(valkey: RedisServer) -> None:
    link = Link(address.parse(valkey.url))
    for _ in range(150):
        link.connection(b"any").disconnect()


def test_more_threads_than_any_pool_holds_schedule_at_once(valkey: RedisServer) -> None:
    app = app_at(valkey.url)
    together = threading.Barrier(150)

    def schedule(number: int) -> str:
        together.wait()
        return app.schedule_task(DUE, number)

    with ThreadPoolExecutor(150) as threads:
        assert len(set(threads.map(schedule, range(150)))) == 150


def test_an_idle_connection_that_the_server_has_closed_is_not_used(valkey: RedisServer) -> None:
    app = app_at(valkey.url, patience_s=0)
    app.schedule_task(DUE, 1)
    valkey.admin.client_kill_filter(_type="normal", skipme=True)
    app.schedule_task(DUE, 2)
    assert app.store.counts()["default"]["delayed"] == 2


def test_a_producer_that_lost_its_server_asks_the_next_one_for_the_time(valkey: RedisServer) -> None:
    """The one that has followed may have another clock, by which this one's tasks are due from now on."""
    app = app_at(valkey.url, patience_s=5)
    app.schedule_task(None, 1)
    valkey.admin.client_kill_filter(_type="normal", skipme=True)
    valkey.admin.config_resetstat()
    app.store.link.reset()
    app.schedule_task(None, 2)
    assert valkey.admin.info("commandstats")["cmdstat_time"]["calls"] >= 1


def test_a_forked_process_uses_no_connection_of_its_parent(valkey: RedisServer) -> None:
    app = app_at(valkey.url)
    app.schedule_task(DUE, "parent")
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            for number in range(200):
                app.schedule_task(DUE, number)
            os._exit(0)
        os._exit(1)
    for number in range(200):
        app.schedule_task(DUE, number)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert app.store.counts()["default"]["delayed"] == 401
