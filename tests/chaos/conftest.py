"""The crew of a chaos test, and a server of its own that may be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.crew import Crew
from tests.support.commands import Manager
from tests.support.processes import Process
from tests.support.servers import RedisServer
from tests.support.standstill import Standstill


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own that keeps all that it has acknowledged."""
    with RedisServer("valkey", tmp_path / "own", aof=True, config={"appendfsync": "always"}) as server:
        yield server


@pytest.fixture
def crew(
    run_oncue: Callable[..., Process], tmp_path: Path, valkey: RedisServer, namespace: str
) -> Iterator[Crew]:
    """Processes around the session's server."""
    found = Crew(run_oncue, tmp_path, valkey.url, namespace)
    yield found
    found.app.close()


@pytest.fixture
def own_crew(
    run_oncue: Callable[..., Process], tmp_path: Path, own: RedisServer, namespace: str
) -> Iterator[Crew]:
    """Processes around a server that the test may kill; leases are longer than its outages."""
    found = Crew(run_oncue, tmp_path, own.url, namespace, lease_s=15)
    yield found
    found.app.close()


@pytest.fixture
def stood() -> Iterator[Standstill]:
    """Watches for standstills of the machine from here on."""
    with Standstill() as found:
        yield found


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    """A service manager that hears what one role says."""
    found = Manager(tmp_path)
    yield found
    found.close()
