"""The worker: reservers, handler threads, one finisher, one renewer, and how they stop."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from oncue.common.handler import Handler, registered
from oncue.common.retry import RetryPolicy
from oncue.common.store import Store
from oncue.common.task import Task
from oncue.worker.batch import BatchReserver
from oncue.worker.children import Children, needed
from oncue.worker.execute import Executor
from oncue.worker.finish import Finisher
from oncue.worker.grip import Grip
from oncue.worker.hand import Hand
from oncue.worker.judge import Judge
from oncue.worker.outcome import Release
from oncue.worker.renew import Renewer
from oncue.worker.reserve import Reserver
from oncue.worker.run import Runner


class Worker:
    """Runs handlers between ``start`` and ``stop``, in threads of its own."""

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Callable[[Task], object] | Handler],
        *,
        weights: Mapping[str, float] | None = None,
        policies: Mapping[str, RetryPolicy] | None = None,
        threads: int = 10,
        lease_ms: int = 15_000,
        health: Callable[[bool], None] = lambda well: None,
        children: Children | None = None,
        before_first: Callable[[], None] | None = None,
    ) -> None:
        """``weights`` and ``policies`` by queue, each with a default; ``health`` is told of a lost and found server.

        ``children`` run the handlers of ``isolation="process"``: without them such a handler is refused. ``before_first`` is
        called before the first handler begins, perhaps more than once.
        """
        self._hand = Hand(threads)
        self._before_first = before_first
        self._grip = Grip(store, self._hand)
        self._finisher = Finisher(store.shard, self._hand, store.keep_finished_ms)
        self._renewer = Renewer(store.shard, self._hand, lease_ms)
        known = {queue: registered(handler) for queue, handler in handlers.items()}
        judge = Judge(known, policies or {})
        isolated = [queue for queue, handler in known.items() if handler.isolation == "process"]
        self._children = needed(isolated, children)
        executor = Executor(known, judge, store.shard, self._children)
        self._runner = Runner(threads, executor, self._hand, self._finisher.settle)
        self._reservers = self._made(store, known, weights or {}, lease_ms, health)
        self._threads = [
            threading.Thread(target=reserver.run, name=f"oncue-reserver-{reserver.shard.number}", daemon=True)
            for reserver in self._reservers
        ]

    def _made(
        self,
        store: Store,
        handlers: Mapping[str, Handler],
        weights: Mapping[str, float],
        lease_ms: int,
        health: Callable[[bool], None],
    ) -> list[Reserver]:
        """A reserver for each shard, and one for each queue with a batch handler."""
        common = (lease_ms, store.keep_finished_ms, self._hand)
        ends = (self._runner.hand_back, self._finisher.settle, health)
        single = [queue for queue, handler in handlers.items() if not handler.max_size]
        found = [
            Reserver(store.shards[number], mine, *common, self._begin, *ends)
            for number, mine in _by_shard(store, single, weights).items()
        ]
        for queue, handler in handlers.items():
            if handler.max_size:
                given = (store.shard(queue), {queue: 1.0}, *common, self._begin_batch, *ends)
                found.append(BatchReserver(*given, max_size=handler.max_size, max_wait_s=handler.max_wait_s))
        return found

    def start(self) -> None:
        """Starts the threads; a server that is away is waited for."""
        self._finisher.start()
        self._renewer.start()
        self._runner.start_threads()
        for thread in self._threads:
            thread.start()

    def _begin(self, tasks: Sequence[Task]) -> None:
        self._prepare(tasks)
        self._runner.start(tasks)

    def _begin_batch(self, tasks: Sequence[Task]) -> None:
        self._prepare(tasks)
        self._runner.start_batch(tasks)

    def _prepare(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            task.hold_by(self._grip)
        before_first = self._before_first
        if tasks and before_first is not None:
            before_first()
            self._before_first = None

    def alive(self) -> bool:
        """Whether all threads still run, of which each is needed."""
        parts = (self._finisher, self._renewer, self._runner)
        return all(thread.is_alive() for thread in self._threads) and all(part.alive() for part in parts)

    def stop(self, timeout_s: float) -> int:
        """Takes nothing more, waits ``timeout_s`` for running handlers, and hands back what they did not finish.

        Returns how many handlers were still running: their threads end with the process, which should follow at once.
        """
        self._hand.close()
        for reserver in self._reservers:
            reserver.stop()
        for thread in self._threads:
            thread.join()
        self._runner.end()
        finished = self._hand.wait_until_empty(timeout_s)
        left = [] if finished else self._hand.held()
        for task in left:
            self._finisher.settle(Release(task))
        self._renewer.stop()
        self._finisher.stop()
        # After the last outcome: a child that is killed fails its task, and these have been handed back by now.
        if self._children is not None:
            self._children.stop()
        return len(left)


def _by_shard(
    store: Store, queues: Iterable[str], weights: Mapping[str, float]
) -> dict[int, dict[str, float]]:
    """For each shard that has any of the queues: those, with their weights."""
    parts: dict[int, dict[str, float]] = {}
    for queue in queues:
        parts.setdefault(store.shard(queue).number, {})[queue] = weights.get(queue, 1)
    return parts
