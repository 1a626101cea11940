"""Renew: one call for all leases in hand that have used up a third of their time; none while the hand is empty."""

import logging
import threading
from collections.abc import Callable, Sequence

from oncue.common.clock import monotonic_s
from oncue.common.faults import FAULTS
from oncue.common.shard import Shard
from oncue.common.task import Task
from oncue.common.wait import Nudge
from oncue.worker.hand import Hand

_log = logging.getLogger("oncue.worker")
_AGAIN_S = 0.5
WISHED = 2
"""What ``renew`` answers for a task whose cancel is wished."""


class Renewer:
    """The thread that keeps the leases of running tasks."""

    def __init__(self, shard_of: Callable[[str], Shard], hand: Hand, lease_ms: int) -> None:
        self._shard_of = shard_of
        self._hand = hand
        self._lease_ms = lease_ms
        self._nudge = Nudge()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="oncue-renewer", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ends the thread; close the hand first."""
        self._stopping.set()
        self._nudge.send()
        self._thread.join()

    def _run(self) -> None:
        third_s = self._lease_ms / 3000
        while not self._stopping.is_set():
            oldest = self._hand.wait_for_tasks()
            if oldest is None:
                return
            self._nudge.wait_s(max(0.0, oldest + third_s - monotonic_s()))
            try:
                self.renew_once(third_s)
            except FAULTS as error:
                # Two thirds of the lease are left to reach the server again.
                _log.warning("leases could not be renewed: %s", self._shard_of("").link.named(error))
                self._nudge.wait_s(_AGAIN_S)
            except Exception:  # noqa: BLE001 - said below
                # Without this thread all leases would be lost, so it goes on whatever that was.
                _log.exception("a fault of the worker's own: leases could not be renewed")
                self._nudge.wait_s(_AGAIN_S)

    def renew_once(self, age_s: float) -> None:
        """Renews all leases older than that; lost ones are dropped from the hand. Raises redis-py's errors."""
        by_shard: dict[int, list[Task]] = {}
        for task in self._hand.older_than(age_s):
            by_shard.setdefault(self._shard_of(task.queue).number, []).append(task)
        for tasks in by_shard.values():
            since = monotonic_s()
            answers = renew(self._shard_of(tasks[0].queue), tasks, self._lease_ms)
            for task, answer in zip(tasks, answers, strict=True):
                if answer == WISHED:
                    task.wish_cancel()
            lost = [task for task, answer in zip(tasks, answers, strict=True) if not answer]
            self._hand.renewed(tasks, since)
            for task in lost:
                # Not in hand any more: it was finished while this call was on its way.
                if self._hand.holds(task):
                    task.left = "lost"
                    _log.warning("task %s: its lease is lost; its outcome will not count", task.id)
            self._hand.drop(lost)


def renew(shard: Shard, tasks: Sequence[Task], lease_ms: int) -> list[int]:
    """Leases last until ``lease_ms`` from now; for each task 1, 2 if its cancel is wished, or 0 if its lease is lost."""
    keys = shard.keys
    args: list[bytes | str | int] = [shard.now_ms(), lease_ms]
    for task in tasks:
        args += (task.id, task.token, task.queue, task.priority)
    answers: list[int] = shard.call("renew", (keys.runs, keys.timetable), args)
    return answers
