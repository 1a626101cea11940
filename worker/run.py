"""Run: the handler threads."""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence

from oncue.common.task import Task
from oncue.worker.execute import Executor
from oncue.worker.hand import Hand
from oncue.worker.outcome import Outcome, Release

_log = logging.getLogger("oncue.worker")


class Runner:
    """The handler threads of a worker process."""

    def __init__(
        self, threads: int, executor: Executor, hand: Hand, settle: Callable[[Outcome | list[Outcome]], None]
    ) -> None:
        self._executor = executor
        self._hand = hand
        self._settle = settle
        # A batch is one item of this queue, and one of the finisher's: whole from its reservation to its end.
        self._tasks: queue.SimpleQueue[Task | Sequence[Task] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"oncue-handler-{number}", daemon=True)
            for number in range(threads)
        ]

    def start_threads(self) -> None:
        """Starts the threads; they are daemons, since no handler may keep a stopping worker from ending."""
        for thread in self._threads:
            thread.start()

    def alive(self) -> bool:
        """Whether all threads run."""
        return all(thread.is_alive() for thread in self._threads)

    def start(self, tasks: Iterable[Task]) -> None:
        """Hands tasks to the next free threads."""
        for task in tasks:
            self._tasks.put(task)

    def start_batch(self, tasks: Sequence[Task]) -> None:
        """Hands a batch to the next free thread."""
        self._tasks.put(tasks)

    def hand_back(self) -> None:
        """Releases what no thread has begun."""
        try:
            while True:
                item = self._tasks.get_nowait()
                if item is not None:
                    tasks = (item,) if isinstance(item, Task) else item
                    self._settle([Release(task) for task in tasks])
                    self._hand.unclaim(1)
        except queue.Empty:
            return

    def end(self) -> None:
        """Releases what no thread has begun, and lets the threads end after their current handler."""
        self.hand_back()
        for _ in self._threads:
            self._tasks.put(None)

    def _run(self) -> None:
        one, batch = self._executor.one, self._executor.batch
        while (item := self._tasks.get()) is not None:
            try:
                self._settle(one(item) if isinstance(item, Task) else batch(item))
            except Exception:  # noqa: BLE001 - said below
                # No handler's fault, these are outcomes. Not renewed any more, its lease ends, and it runs elsewhere.
                _log.exception("a fault of the worker's own while running %r", item)
                self._hand.drop([item] if isinstance(item, Task) else item)
            self._hand.ran()
