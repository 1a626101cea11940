"""Batches: the reserver of one queue with a batch handler, which fills a whole batch for one thread."""

import logging
from typing import Any

from oncue.common.clock import monotonic_s
from oncue.common.faults import FAULTS
from oncue.common.task import Task
from oncue.worker.reserve import MOST_TASKS, Reserver

_log = logging.getLogger("oncue.worker")


class BatchReserver(Reserver):
    """Of a queue by itself: bands and weights against other queues of this worker are left aside."""

    _most_claimed = 1

    def __init__(self, *given: Any, max_size: int, max_wait_s: float, **named: Any) -> None:
        """``max_wait_s``: how long a batch that is not full waits for more. The rest as ``Reserver``."""
        super().__init__(*given, **named)
        self._max_size = min(max_size, MOST_TASKS)
        self._max_wait_s = max_wait_s

    def _take(self, claimed: int) -> int:
        began = monotonic_s()
        tasks = self.reserve_once(self._max_size)
        if tasks and self._max_wait_s and len(tasks) < self._max_size:
            try:
                self._fill(tasks, began + self._max_wait_s)
            except FAULTS as error:
                # Those at hand can run all the same; the next reservation deals with the fault.
                _log.warning("a batch goes on with %d tasks: %s", len(tasks), self.shard.link.named(error))
        if tasks:
            self._start(tasks)
        return int(bool(tasks))

    def _fill(self, tasks: list[Task], until: float) -> None:
        """Adds to a batch until it is full or its time is up; what was added stays in it whatever is raised."""
        try:
            while len(tasks) < self._max_size and not self._stopping.is_set():
                looked_at = monotonic_s()
                found = self.reserve_once(self._max_size - len(tasks))
                tasks += found
                if not found:
                    if looked_at >= until:
                        break
                    self._wait(looked_at, until)
        finally:
            if self._read.is_open:
                # Left open it would take a wake token that an idle worker could use.
                self._read.close()
