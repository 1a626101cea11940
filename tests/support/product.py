"""The product inside the test's own process: its store on a test server, and each of its duties called by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from oncue import App, Task
from oncue.common import address
from oncue.common.clock import Clock
from oncue.common.handler import Handler
from oncue.common.link import Link
from oncue.common.retry import RetryPolicy
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.loop import Loop
from oncue.scheduler.scheduler import Scheduler
from oncue.worker.finish import bury, complete, release, retry
from oncue.worker.hand import Hand
from oncue.worker.outcome import Bury, Done, Outcome, Release, Retry, failure
from oncue.worker.renew import renew
from oncue.worker.reserve import Reserver
from oncue.worker.worker import Worker

START_MS = 1_800_000_000_000
"""Where tests with a clock of their own begin: the first instant of a page."""

LEASE_MS = 15_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
_MIB = 1 << 20


class FixedClock:
    """A clock that stands still until a test sets it."""

    def __init__(self, ms: int = START_MS) -> None:
        self.ms = ms

    def now_ms(self) -> int:
        return self.ms

    def pass_ms(self, ms: int) -> None:
        self.ms += ms


def at(offset_ms: int) -> int | float:
    """The epoch second that lies so many ms from the start."""
    return (START_MS + offset_ms) / 1000


class Place(Protocol):
    """A server, or a proxy before one."""

    @property
    def url(self) -> str: ...


@contextmanager
def opened(
    place: Place,
    namespace: str,
    *,
    shards: int = 1,
    clock: Clock | None = None,
    patience_s: float = 20.0,
    keep_finished_ms: int = 60_000,
) -> Iterator[Store]:
    """A store with connections of its own, closed in the end."""
    link = Link(address.parse(place.url))
    try:
        yield Store(
            link, namespace, shards, clock=clock, patience_s=patience_s, keep_finished_ms=keep_finished_ms
        )
    finally:
        link.close()


def app_on(store: Store, max_data_bytes: int = _MIB) -> App:
    """An app on a store that is open already."""
    app = App()
    app.use(store, max_data_bytes)
    return app


def counts(store: Store, queue: str = "default") -> dict[str, int]:
    """The states of a queue's tasks that are not zero."""
    return {state: number for state, number in store.counts().get(queue, {}).items() if number}


class Passes:
    """One scheduler's loops, one pass at a time."""

    def __init__(self, store: Store) -> None:
        self.loops = [Loop(shard) for shard in store.shards]

    def __call__(self) -> int | None:
        """All shards do what is due; the nearest instant of further work in ms."""
        for loop in self.loops:
            # A notification would have made a scheduler look anew, and there is no thread here to receive it.
            loop.survey()
        return min((at for loop in self.loops if (at := loop.pass_once()) is not None), default=None)


class Hands:
    """A worker's dealings with the store, one call at a time and without a thread."""

    def __init__(self, store: Store, queues: Sequence[str], lease_ms: int = LEASE_MS) -> None:
        self.store = store
        self.unreadable: list[Bury] = []
        self._lease_ms = lease_ms
        weights: dict[int, dict[str, float]] = {}
        for queue in queues:
            weights.setdefault(store.shard(queue).number, {})[queue] = 1
        self.reservers = [self._reserver(store.shards[n], mine) for n, mine in weights.items()]

    def _reserver(self, shard: Shard, weights: dict[str, float]) -> Reserver:
        return Reserver(
            shard,
            weights,
            self._lease_ms,
            self._keep,
            Hand(100),
            start=lambda tasks: None,
            hand_back=lambda: None,
            settle=self._settle,
        )

    def _settle(self, outcome: Outcome) -> None:
        assert isinstance(outcome, Bury)
        self.unreadable.append(outcome)

    def reserve(self, most: int = 100) -> list[Task]:
        """Ready tasks of all queues, shard by shard."""
        return [task for reserver in self.reservers for task in reserver.reserve_once(most)]

    def complete(self, *tasks: Task) -> list[int]:
        return self._each(tasks, lambda shard, task: complete(shard, [Done(task)], self._keep))

    def release(self, *tasks: Task) -> list[int]:
        return self._each(tasks, lambda shard, task: release(shard, [Release(task)], self._keep))

    def renew(self, *tasks: Task) -> list[int]:
        return self._each(tasks, lambda shard, task: renew(shard, [task], self._lease_ms))

    def retry(self, task: Task, due_ms: int, error: BaseException | None = None) -> int:
        outcome = Retry(task, due_ms, failure(error or ValueError("no"), self._now(task)))
        return retry(self._shard(task), [outcome], self._keep)[0]

    def bury(self, task: Task, error: BaseException | None = None) -> int:
        outcome = Bury(task, failure(error or ValueError("no"), self._now(task)))
        return bury(self._shard(task), [outcome], self._keep)[0]

    def bury_unreadable(self) -> list[int]:
        outcomes, self.unreadable = self.unreadable, []
        return [bury(self._shard(outcome.task), [outcome], self._keep)[0] for outcome in outcomes]

    @property
    def _keep(self) -> int:
        return self.store.keep_finished_ms

    def _shard(self, task: Task) -> Shard:
        return self.store.shard(task.queue)

    def _now(self, task: Task) -> int:
        return self._shard(task).now_ms()

    def _each(self, tasks: Sequence[Task], call: Callable[[Shard, Task], list[int]]) -> list[int]:
        return [call(self._shard(task), task)[0] for task in tasks]


@contextmanager
def running(
    *stores: Store,
    handlers: Mapping[str, Callable[[Task], object] | Handler] | None = None,
    schedulers: int = 1,
    workers: int = 1,
    threads: int = 10,
    lease_ms: int = LEASE_MS,
    policies: dict[str, RetryPolicy] | None = None,
) -> Iterator[tuple[list[Scheduler], list[Worker]]]:
    """Schedulers and workers in threads; each takes the next of `stores`, and all are stopped in the end."""
    homes = [stores[n % len(stores)] for n in range(schedulers + workers)]
    settings: dict[str, Any] = {"threads": threads, "lease_ms": lease_ms, "policies": policies}
    with ExitStack() as stack:
        crew = [Scheduler(store) for store in homes[:schedulers]]
        hands = [Worker(store, handlers or {}, **settings) for store in homes[schedulers:]]
        for worker in hands:
            worker.start()
            stack.callback(worker.stop, 5)
        for scheduler in crew:
            scheduler.start()
            stack.callback(scheduler.stop)
        yield crew, hands
