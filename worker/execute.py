"""Execute: one run of a handler, for one task or for a batch, and what came of it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from oncue.common.errors import BadInput
from oncue.common.handler import Handler
from oncue.common.shard import Shard
from oncue.common.task import Left, Task
from oncue.worker.judge import Judge
from oncue.worker.limit import call_within
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Release, Retry

_runs = logging.getLogger("oncue.run")


class Processes(Protocol):
    """Where handlers of ``isolation="process"`` run; raises what the handler's end means, if it was no outcome."""

    def run(self, task: Task, now_ms: int, timeout_s: float | None) -> Outcome: ...


class Executor:
    """The handlers, each called as its settings say; safe to use from many threads. Never raises."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        judge: Judge,
        shard_of: Callable[[str], Shard],
        processes: Processes | None = None,
    ) -> None:
        """Without ``processes`` every handler runs in its caller's thread."""
        self._handlers = handlers
        self._functions = {queue: handler.function for queue, handler in handlers.items()}
        # What a plain handler need not be asked for each time.
        self._special = {
            queue
            for queue, handler in handlers.items()
            if handler.timeout_s is not None or handler.isolation == "process" or handler.raise_on_cancel
        }
        self._judge = judge
        self._shard_of = shard_of
        self._processes = processes

    def one(self, task: Task) -> Outcome:
        """Runs a task's handler and says what became of it."""
        shard = self._shard_of(task.queue)
        began = shard.about_ms()
        outcome: Outcome | None = self._judge.refusal(task, began) if task.lost else None
        if outcome is None:
            try:
                if task.options or task.queue in self._special:
                    outcome = self._limited(task, began)
                else:
                    outcome = self._ended(task, self._functions[task.queue](task), began)
            except BaseException as error:  # noqa: BLE001 - also SystemExit: it would end the thread, not the process
                outcome = self._judge.raised(task, error, shard.about_ms())
        if _runs.isEnabledFor(logging.INFO):
            log_run(task, outcome, began, shard.about_ms())
        return outcome

    def _limited(self, task: Task, now_ms: int) -> Outcome:
        handler = self._handlers[task.queue]
        timeout_s = _seconds(task.options.get("timeout_s")) or handler.timeout_s
        if handler.isolation == "process" and self._processes is not None:
            return self._processes.run(task, now_ms, timeout_s)
        on_cancel = task.on_cancel if handler.raise_on_cancel else None
        return self._ended(task, call_within(timeout_s, handler.function, task, on_cancel), now_ms)

    def _ended(self, task: Task, value: object, now_ms: int) -> Outcome:
        if task.failure is not None:
            return self._judge.raised(task, task.failure, now_ms)
        return self._judge.returned(task, value, now_ms)

    def batch(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Runs a batch handler; an outcome for each task, in some order."""
        queue = tasks[0].queue
        shard = self._shard_of(queue)
        began = shard.about_ms()
        refused = [refusal for task in tasks if task.lost and (refusal := self._judge.refusal(task, began))]
        if refused:
            kept = {id(refusal.task) for refusal in refused}
            tasks = [task for task in tasks if id(task) not in kept]
        outcomes: list[Outcome] = [*refused, *(self._batch(queue, tasks, shard) if tasks else ())]
        if _runs.isEnabledFor(logging.INFO):
            _log_batch(queue, outcomes, began, shard.about_ms())
        return outcomes

    def _batch(self, queue: str, tasks: Sequence[Task], shard: Shard) -> list[Outcome]:
        handler = self._handlers[queue]
        try:
            answer = call_within(handler.timeout_s, handler.function, list(tasks))
            values = None if answer is None else _values(tasks, answer)
        except BaseException as error:  # noqa: BLE001 - as above
            now_ms = shard.about_ms()
            return [self._judge.raised(task, error, now_ms) for task in tasks]
        if values is None and not any(task.failure for task in tasks):
            return [Done(task) for task in tasks]
        now_ms = shard.about_ms()
        return [
            self._judge.raised(task, value, now_ms)
            if isinstance(value, BaseException)
            else self._ended(task, value, now_ms)
            for task, value in zip(tasks, values or [None] * len(tasks), strict=True)
        ]


def _values(tasks: Sequence[Task], answer: object) -> list[Any]:
    """For each task what the batch handler says of it: an error, or its result."""
    if isinstance(answer, Mapping):
        strange = set(answer) - {task.id for task in tasks}
        if strange:
            raise BadInput(
                f"the batch handler answers for {min(map(str, strange))}, which is not in its batch"
            )
        return [answer.get(task.id) for task in tasks]
    if isinstance(answer, list | tuple) and len(answer) == len(tasks):
        return list(answer)
    found = f"{len(answer)} answers" if isinstance(answer, list | tuple) else type(answer).__name__
    raise BadInput(
        f"a batch handler returns None, a list with an answer for each of its {len(tasks)} tasks, or answers by id;"
        f" this one returned {found}"
    )


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e9 else None


def log_run(task: Task, outcome: Outcome, began_ms: int, ended_ms: int) -> None:
    """One shape for every run, so that a person can read a column and a program a field."""
    _runs.info(
        "%s %s late %d ms, ran %d ms, attempt %d: %s",
        task.queue,
        task.id,
        began_ms - task.due_ms,
        ended_ms - began_ms,
        task.attempt,
        said(outcome),
    )


def _log_batch(queue: str, outcomes: Sequence[Outcome], began_ms: int, ended_ms: int) -> None:
    others = [outcome for outcome in outcomes if said(outcome) != "done"]
    done = len(outcomes) - len(others)
    _runs.info("%s batch of %d ran %d ms: %d done", queue, len(outcomes), ended_ms - began_ms, done)
    for outcome in others:
        log_run(outcome.task, outcome, began_ms, ended_ms)


def said(outcome: Outcome) -> str:
    """An outcome in the words of the log; what came after the task had left the hand is none."""
    if outcome.task.left is not None:
        return _LEFT[outcome.task.left]
    if isinstance(outcome, Retry | Bury):
        what_now = "will be retried" if isinstance(outcome, Retry) else "now dead"
        return f"{_COUNTED[outcome.counted]}, {what_now}"
    return _WORDS[type(outcome)]


_WORDS: dict[type, str] = {Done: "done", Abandon: "cancelled", Release: "released"}
_LEFT: dict[Left, str] = {"done": "done", "released": "released", "lost": "its lease was lost"}
_COUNTED = {"failed": "failed", "throttled": "throttled", "nothing": "put off"}
