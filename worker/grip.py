"""Grip: what a handler may ask for its own lease while it runs: more time, to be rid of the task, or to end it with its effects."""

from collections.abc import Callable
from typing import Any

from oncue.common.errors import LeaseLost
from oncue.common.store import Store
from oncue.common.task import Left, Task
from oncue.worker.commit import commands_of, commit, keys_of
from oncue.worker.finish import ends, release
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
        tried = False

        def call() -> int:
            nonlocal tried
            # Repeated, it cannot tell a lost lease from another worker's that took the task since: released it is.
            was_tried, tried = tried, True
            return release(shard, [Release(task)], self._store.keep_finished_ms)[0] or int(was_tried)

        self._answer(task, call)
        self._leave(task, "released")

    def key(self, task: Task, name: str) -> str:
        """A key of the handler's own on the task's shard."""
        return f"{self._store.shard(task.queue).keys.prefix.decode()}own:{name}"

    def pipeline(self, task: Task) -> Any:
        """A pipeline for the handler's writes, to be handed to ``commit``."""
        return self._store.link.node(self._store.shard(task.queue).keys.runs).pipeline(transaction=False)

    def commit(self, task: Task, pipeline: Any) -> list[Any]:
        """The task is done, with the writes in the pipeline: all or, if the lease is lost, nothing.

        Returns the server's answers to them, none if an earlier call whose reply was lost has done it. Raises BadInput,
        LeaseLost, StoreUnavailable and WrongServer.
        """
        shard = self._store.shard(task.queue)
        commands = commands_of(pipeline)
        keys_of(commands, shard.keys.prefix)
        answers: list[Any] = []

        def call() -> int:
            done, *rest = commit(shard, task, commands, ends(shard), self._store.keep_finished_ms)
            answers.extend(rest[0] if rest else ())
            return int(done)

        self._answer(task, call)
        # Done, whatever the handler does from here on: there is no lease to renew any more.
        self._leave(task, "done")
        return answers

    def _answer(self, task: Task, call: Callable[[], int]) -> int:
        answer = self._store.persist(self._store.shard(task.queue), call)
        if not answer:
            self._leave(task, "lost")
            raise LeaseLost(f"the lease of task {task.id} is lost: it may be running elsewhere")
        return answer

    def _leave(self, task: Task, how: Left) -> None:
        task.left = how
        self._hand.drop([task])
