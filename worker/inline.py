"""A worker without threads: it runs what is ready in its caller's thread, one task after the other. For tests."""

from collections.abc import Callable, Mapping

from oncue.common.handler import Handler, registered
from oncue.common.retry import RetryPolicy
from oncue.common.store import Store
from oncue.common.task import Task
from oncue.worker.execute import Executor
from oncue.worker.finish import sorted_out, write
from oncue.worker.grip import Grip
from oncue.worker.hand import Hand
from oncue.worker.judge import Judge
from oncue.worker.outcome import Outcome
from oncue.worker.reserve import MOST_TASKS, Reserver

_LEASE_MS = 15_000


class InlineWorker:
    """Handlers of one store, called by hand."""

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Callable[[Task], object] | Handler],
        policies: Mapping[str, RetryPolicy] | None = None,
        told: Callable[[Outcome, bool], None] = lambda outcome, counted: None,
    ) -> None:
        """As ``Worker``; ``told`` hears of each outcome once it is written, and whether it counted."""
        self._told = told
        known = {queue: registered(handler) for queue, handler in handlers.items()}
        self._store = store
        self._outcomes: list[Outcome] = []
        hand = Hand(1)
        self._handlers = known
        self._grip = Grip(store, hand)
        self._executor = Executor(known, Judge(known, policies or {}), store.shard)
        weights: dict[int, dict[str, float]] = {}
        for queue in known:
            weights.setdefault(store.shard(queue).number, {})[queue] = 1
        self._reservers = [
            Reserver(
                store.shards[number],
                mine,
                _LEASE_MS,
                store.keep_finished_ms,
                hand,
                start=lambda tasks: None,
                hand_back=lambda: None,
                settle=self._outcomes.append,
            )
            for number, mine in weights.items()
        ]

    def run_ready(self) -> list[Task]:
        """Runs what is ready, in each shard up to ``MOST_TASKS``, and returns it in order.

        What becomes ready meanwhile is left for the next call.
        """
        ran: list[Task] = []
        for reserver in self._reservers:
            tasks = reserver.reserve_once(MOST_TASKS)
            for task in tasks:
                task.hold_by(self._grip)
            for group in self._groups(tasks):
                if self._handlers[group[0].queue].max_size:
                    self._outcomes += self._executor.batch(group)
                else:
                    self._outcomes.append(self._executor.one(group[0]))
                self._write()
            self._write()
            ran += tasks
        return ran

    def _groups(self, tasks: list[Task]) -> list[list[Task]]:
        groups: list[list[Task]] = []
        for task in tasks:
            last = groups[-1] if groups else []
            if last and last[0].queue == task.queue and len(last) < self._handlers[task.queue].max_size:
                last.append(task)
            else:
                groups.append([task])
        return groups

    def _write(self) -> None:
        for shard, kind, outcomes in sorted_out(self._outcomes, self._store.shard):
            answers = write(shard, kind, outcomes, self._store.keep_finished_ms)
            for outcome, answer in zip(outcomes, answers, strict=True):
                self._told(outcome, bool(answer))
        self._outcomes.clear()
