"""The scripts on each kind of server, and an audit after every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lua.audit import audit
from tests.lua.scripts import Lua
from tests.support.servers import Server


@pytest.fixture
def lua(server: Server, namespace: str) -> Iterator[Lua]:
    """The scripts on an empty shard of each kind of server. After the test, all that is there must add up."""
    client = server.client()
    scripts = Lua(client, namespace)
    yield scripts
    audit(scripts)
    client.close()
