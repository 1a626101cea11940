"""Commands that ask the store once and end: the store with little patience, since a person is waiting."""

from collections.abc import Iterator
from contextlib import contextmanager

from oncue.app import App
from oncue.cli.options import Given
from oncue.common.store import Store

PATIENCE_S = 2.0
"""How long a command goes on trying while the server is away: a restart of it, but no failover."""


@contextmanager
def opened_store(given: Given) -> Iterator[Store]:
    """The store that the settings speak of, closed in the end. Raises ConfigError and BadInput."""
    with opened_app(given) as app:
        yield app.store


@contextmanager
def opened_app(given: Given) -> Iterator[App]:
    """The same with what producers have around it."""
    from oncue.common.opened import opened

    config = given.load()
    store = opened(config)
    store.patience_s = PATIENCE_S
    app = App()
    app.use(store, config.max_data_bytes)
    try:
        yield app
    finally:
        app.close()
