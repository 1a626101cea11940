"""From a configuration to a store: the one place where settings become connections."""

from oncue.common import address
from oncue.common.clock import Clock
from oncue.common.configtypes import Config
from oncue.common.errors import BadInput
from oncue.common.link import Link
from oncue.common.running import find_running
from oncue.common.store import Store

NO_SERVER = "no server is known: set ONCUE_URL (such as redis://localhost:6379/0), give a URL, or start `oncue up` here"


def opened(config: Config, clock: Clock | None = None) -> Store:
    """The store that a configuration speaks of; no I/O but the look for a running `oncue up` where no URL is set.

    Raises BadInput if there is neither, or if the URL cannot be read.
    """
    url = config.url or find_running()
    if url is None:
        raise BadInput(NO_SERVER)
    place = address.parse(
        url,
        username=config.username,
        password=config.password,
        password_file=config.password_file,
        ca_file=config.ca_file,
    )
    return Store(
        Link(place),
        config.namespace,
        config.shards,
        keep_finished_ms=int(config.keep_finished_s * 1000),
        clock=clock,
    )
