"""Fixtures that a module of tests makes its own with one line: `store = valkey_store(shards=2)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncue import App
from oncue.common.store import Store
from tests.support.product import FixedClock, opened
from tests.support.servers import RedisServer


def valkey_store(shards: int = 1) -> Any:
    """In place of a store on each kind of server, where the scripts behind a promise are tested on each of them."""

    @pytest.fixture
    def store(valkey: RedisServer, namespace: str, clock: FixedClock) -> Iterator[Store]:
        with opened(valkey, namespace, shards=shards, clock=clock) as found:
            yield found

    return store


def live_store() -> Any:
    """One on Valkey under the server's own clock, for what runs by itself."""

    @pytest.fixture
    def store(valkey: RedisServer, namespace: str) -> Iterator[Store]:
        with opened(valkey, namespace) as found:
            yield found

    return store


def app_by_url() -> Any:
    """An app as users make it, beside commands and roles that run as processes."""

    @pytest.fixture
    def app(valkey: RedisServer, namespace: str) -> Iterator[App]:
        made = App(valkey.url, namespace=namespace)
        yield made
        made.close()

    return app
