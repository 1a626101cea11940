"""The scheduler: one loop for each shard."""

import logging
import threading
from collections.abc import Callable, Mapping

from oncue.common.store import Store
from oncue.scheduler.loop import Loop
from oncue.scheduler.trim import Bounds

_log = logging.getLogger("oncue.scheduler")


class Scheduler:
    """Promotes, fires and reclaims in threads of its own, between ``start`` and ``stop``."""

    def __init__(
        self,
        store: Store,
        health: Callable[[bool], None] = lambda well: None,
        max_lost: Mapping[str, int] | None = None,
        bounds: Bounds = Bounds(),  # noqa: B008 - immutable
    ) -> None:
        """``max_lost``: how many lost leases a task of a queue may bear, each with the default of retry policies.

        ``bounds`` are those of the dead, in each shard.
        """
        keep_ms = store.keep_finished_ms
        self._loops = [Loop(shard, health, max_lost, bounds, keep_ms) for shard in store.shards]
        self._threads = [
            threading.Thread(target=loop.run, name=f"oncue-scheduler-{loop.shard.number}", daemon=True)
            for loop in self._loops
        ]

    def start(self) -> None:
        """Starts the loops; a server that is away is waited for."""
        for thread in self._threads:
            thread.start()

    def alive(self) -> bool:
        """Whether all loops still run."""
        return all(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Ends the loops and returns when they have ended: within one call of a script."""
        for loop in self._loops:
            loop.stop()
        for thread in self._threads:
            thread.join()
