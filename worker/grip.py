"""Grip: what a handler may ask for its own lease while it runs: more time, or to be rid of the task."""

from collections.abc import Callable

from oncue.common.errors import LeaseLost
from oncue.common.store import Store
from oncue.common.task import Task
from oncue.worker.finish import release
from oncue.worker.hand import Hand
from oncue.worker.outcome import Release
from oncue.worker.renew import WISHED, renew


class Grip:
    """One worker's, shared by all tasks in its hand; called from handler threads."""

    def __init__(self, store: Store, hand: Hand) -> None:
        self._store = store
        self._hand = hand

    def extend(self, task: Task, lease_ms: int) -> None:
        """The lease lasts at least so long from now. Raises LeaseLost, StoreUnavailable and WrongServer."""
        shard = self._store.shard(task.queue)
        if self._answer(task, lambda: renew(shard, [task], lease_ms)[0]) == WISHED:
            task.wish_cancel()

    def release(self, task: Task) -> None:
        """The task is ready again, and no longer in hand. Raises LeaseLost, StoreUnavailable and WrongServer."""
        shard = self._store.shard(task.queue)
        self._answer(task, lambda: release(shard, [Release(task)], self._store.keep_finished_ms)[0])
        self._hand.drop([task])

    def _answer(self, task: Task, call: Callable[[], int]) -> int:
        answer = self._store.persist(self._store.shard(task.queue), call)
        if not answer:
            self._hand.drop([task])
            raise LeaseLost(f"the lease of task {task.id} is lost: it may be running elsewhere")
        return answer
