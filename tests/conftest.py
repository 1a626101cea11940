"""Fixtures of all levels. The servers live as long as the pytest process, so workers of xdist share nothing."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.support.processes import Process
from tests.support.servers import Cluster, RedisServer, Server, binary

# Wall time says nothing about an example on a machine that stands still now and then; the rest is the default, under CI
# the one for CI.
settings.register_profile("oncue", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("oncue")

S = TypeVar("S", RedisServer, Cluster)


@pytest.fixture(scope="session", autouse=True)
def _environment_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test may find the settings or the running `oncue up` of the person who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("ONCUE_")]:
            patch.delenv(name)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _sigint_for_those_who_are_started_here() -> None:
    """What runs in the background of a script ignores SIGINT, and so would all processes of the tests."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def valkey_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer("valkey", tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def redis_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if not binary("redis"):
        _absent("redis-server is not installed: the tests on Redis need it on the PATH")
    with RedisServer("redis", tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def cluster_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def _absent(sentence: str) -> None:
    # A skip that nobody reads would let CI pass without half of what it is there to check.
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture
def valkey(valkey_session: RedisServer) -> Iterator[RedisServer]:
    """The session's Valkey server, empty."""
    yield from _empty(valkey_session)


@pytest.fixture
def redis_server(redis_session: RedisServer) -> Iterator[RedisServer]:
    """The session's Redis server, empty."""
    yield from _empty(redis_session)


@pytest.fixture
def cluster(cluster_session: Cluster) -> Iterator[Cluster]:
    """The session's cluster of three primaries, empty."""
    yield from _empty(cluster_session)


def _empty(server: S) -> Iterator[S]:
    # Before as well as after: a test that failed in the middle of an outage may have left anything behind.
    server.heal()
    server.flush()
    yield server
    server.flush()


@pytest.fixture(
    params=["valkey", pytest.param("redis_server", id="redis"), "cluster"],
)
def server(request: pytest.FixtureRequest) -> Server:
    """Each supported kind of server in turn: what the contract tests run on."""
    found: Server = request.getfixturevalue(str(request.param))
    return found


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test has, so that a straggler of an earlier test meets no key of this one."""
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def run_oncue(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start commands of the product: `run_oncue("worker", "app:app", env={...})`; all are ended after the test."""
    with ExitStack() as running:

        def start(*args: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Process:
            output = tmp_path / f"output-{uuid.uuid4().hex[:6]}.txt"
            return running.enter_context(Process(args, output, env, cwd=cwd))

        yield start
