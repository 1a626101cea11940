"""Run: handlers in threads, and what their outcome is."""

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping

from oncue.common.handler import Handler
from oncue.common.shard import Shard
from oncue.common.task import Task
from oncue.worker.hand import Hand
from oncue.worker.judge import Judge
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Release, Retry

_runs = logging.getLogger("oncue.run")


class Runner:
    """The handler threads of a worker process."""

    def __init__(
        self,
        threads: int,
        handlers: Mapping[str, Handler],
        judge: Judge,
        shard_of: Callable[[str], Shard],
        hand: Hand,
        settle: Callable[[Outcome], None],
    ) -> None:
        self._functions = {queue: handler.function for queue, handler in handlers.items()}
        self._judge = judge
        self._shard_of = shard_of
        self._hand = hand
        self._settle = settle
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"oncue-handler-{number}", daemon=True)
            for number in range(threads)
        ]

    def start_threads(self) -> None:
        """Starts the threads; they are daemons, since no handler may keep a stopping worker from ending."""
        for thread in self._threads:
            thread.start()

    def start(self, tasks: Iterable[Task]) -> None:
        """Hands tasks to the next free threads."""
        for task in tasks:
            self._tasks.put(task)

    def hand_back(self) -> None:
        """Releases what no thread has begun."""
        try:
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    self._settle(Release(task))
                    self._hand.unclaim(1)
        except queue.Empty:
            return

    def end(self) -> None:
        """Releases what no thread has begun, and lets the threads end after their current handler."""
        self.hand_back()
        for _ in self._threads:
            self._tasks.put(None)

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._settle(self.execute(task))
            self._hand.ran()

    def execute(self, task: Task) -> Outcome:
        """Runs a task's handler and says what became of it; never raises."""
        shard = self._shard_of(task.queue)
        began = shard.about_ms()
        outcome: Outcome | None = self._judge.refusal(task, began) if task.lost else None
        if outcome is None:
            try:
                value = self._functions[task.queue](task)
            except BaseException as error:  # noqa: BLE001 - also SystemExit: it would end the thread, not the process
                outcome = self._judge.raised(task, error, shard.about_ms())
            else:
                outcome = self._judge.returned(task, value, began)
        if _runs.isEnabledFor(logging.INFO):
            self._log(task, outcome, began, shard.about_ms())
        return outcome

    @staticmethod
    def _log(task: Task, outcome: Outcome, began_ms: int, ended_ms: int) -> None:
        # One shape for every run, so that a person can read a column and a program a field.
        _runs.info(
            "%s %s late %d ms, ran %d ms, attempt %d: %s",
            task.queue,
            task.id,
            began_ms - task.due_ms,
            ended_ms - began_ms,
            task.attempt,
            said(outcome),
        )


def said(outcome: Outcome) -> str:
    """An outcome in the words of the log."""
    if isinstance(outcome, Retry | Bury):
        return (
            f"{_COUNTED[outcome.counted]}, {'will be retried' if isinstance(outcome, Retry) else 'now dead'}"
        )
    return _WORDS[type(outcome)]


_WORDS: dict[type, str] = {Done: "done", Abandon: "cancelled", Release: "released"}
_COUNTED = {"failed": "failed", "throttled": "throttled", "nothing": "put off"}
