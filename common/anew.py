"""Beginning anew: what a loop does about a fault, of the server, of the way to it, or of its own."""

import logging

from oncue.common.errors import WrongServer
from oncue.common.faults import FAULTS, is_passing
from oncue.common.shard import Shard
from oncue.common.wait import BlockingRead


def begin_anew(
    shard: Shard, read: BlockingRead, error: Exception, pause_s: float, log: logging.Logger
) -> None:
    """Says what has happened and that a pause follows, and drops all that may have to do with it.

    Connections may be dead or lead to a former primary, whose clock is another one. ``log`` is that of the role, by
    whose name a fault of its own is told.
    """
    if isinstance(error, (*FAULTS, WrongServer)):
        tell = log.warning if is_passing(error) else log.error
        tell("%s; trying again in %.0f ms", shard.link.named(error), pause_s * 1000)
    else:
        role = log.name.rpartition(".")[2]
        log.error("a fault of the %s's own; going on in %.0f ms", role, pause_s * 1000, exc_info=error)
    read.close()
    shard.link.reset()
