"""What the contract tests work with: a store on each kind of server, under a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oncue import App
from oncue.common import walltime
from oncue.common.store import Store
from tests.support.commands import Ended, ended
from tests.support.processes import Process
from tests.support.product import FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer, Server
from tests.support.zones import ZONE, rules


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(server: Server, namespace: str, clock: FixedClock) -> Iterator[Store]:
    """A store on each supported kind of server in turn."""
    with opened(server, namespace, shards=server.shards, clock=clock) as store:
        yield store


@pytest.fixture
def app(store: Store) -> App:
    return app_on(store)


@pytest.fixture
def env(valkey: RedisServer, namespace: str) -> dict[str, str]:
    """What tells processes of the product where to work, on Valkey."""
    return {"ONCUE_URL": valkey.url, "ONCUE_NAMESPACE": namespace}


@pytest.fixture
def oncue(run_oncue: Callable[..., Process], env: dict[str, str]) -> Callable[..., Ended]:
    """Run a command to its end: `oncue("task", "list", ONCUE_SHARDS="2")`."""
    return lambda *words, **more: ended(run_oncue, *words, env={**env, "LC_ALL": "C", **more})


@pytest.fixture
def passes(store: Store) -> Passes:
    """A scheduler of `store`, called by hand."""
    return Passes(store)


@pytest.fixture
def hands(store: Store) -> Callable[..., Hands]:
    """Make a worker of `store` for some queues, called by hand: `hands("a", "b")`."""

    def make(*queues: str, lease_ms: int = 15_000) -> Hands:
        return Hands(store, queues or ("default",), lease_ms)

    return make


@pytest.fixture
def knows(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make this process one on a host whose data are of this release: `knows("2026b", hours=2)`."""
    monkeypatch.setattr(walltime, "_adopted", {})

    def knows(release: str, hours: float) -> None:
        walltime.adopt(ZONE, rules(release, round(hours * 3600)))

    return knows
