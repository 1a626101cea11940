"""Settling: what a call asks of tasks by id is asked until each has its answer, over as many tries as that takes.

A try may end without the server's reply. The next one then finds done what that has done, or a task that has run and
ended since. So the tries of a call share a memory of what was asked without an answer, and of how each task stood then:
a task that could be changed then, and has changed, was changed by the call itself.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from oncue.common import waiting
from oncue.common.pages import open_page
from oncue.common.shard import Shard
from oncue.common.waiting import Sought, sought

Ask = Callable[[Shard, Sequence[Sought]], list[bytes]]


class Change(NamedTuple):
    """What is asked of tasks: by which call, its answer where it is done, and the states in which it can be."""

    ask: Ask
    done: str
    of: frozenset[bytes]
    goes_on_ms: float
    """From this instant in ms on a task that was changed so may go on by itself, to run and to end; -inf: at once."""


_WAITING = frozenset((b"delayed", b"ready"))


def cancelling(keep_ms: int) -> Change:
    """Waiting tasks end as cancelled, and are remembered so for ``keep_ms``."""
    return Change(partial(waiting.cancel, keep_ms=keep_ms), "cancelled", _WAITING, math.inf)


def rescheduling(due_ms: int) -> Change:
    """Waiting tasks get another due time."""
    return Change(partial(waiting.reschedule, due_ms=due_ms), "moved", _WAITING, due_ms)


class Settling:
    """One call about tasks of a shard. To be called again after a fault of the server or of the way to it."""

    def __init__(self, change: Change, shard: Shard, ids: Iterable[str]) -> None:
        self._change = change
        self._shard = shard
        self._ids = list(dict.fromkeys(ids))
        self._answers: dict[str, str] = {}
        self._unanswered: dict[str, list[Any]] = {}
        self._latest_ms = 0

    def __call__(self) -> dict[str, str]:
        """What was answered in the end for each task, "unknown" among it; raises what redis-py raises."""
        left = self._look()
        while left:
            left = self._ask(left)
        return self._answers

    def _look(self) -> list[Sought]:
        """Learns where the tasks without an answer stand; those that are to be asked for."""
        ids = [task_id for task_id in self._ids if task_id not in self._answers]
        known = waiting.locate(self._shard, ids)
        # The latest instant that was seen: the task may have run before the clock was set back.
        self._latest_ms = max(self._latest_ms, self._shard.now_ms())
        may_go_on = self._latest_ms >= self._change.goes_on_ms
        left: list[Sought] = []
        for task_id, found in zip(ids, known, strict=True):
            before = self._unanswered.pop(task_id, None)
            if may_go_on and before not in (None, found):
                self._answers[task_id] = self._change.done
            elif not found:
                self._answers[task_id] = "unknown"
            else:
                left.append(sought(task_id, found))
        return left

    def _ask(self, tasks: list[Sought]) -> list[Sought]:
        """One call, and the pages that it needs; those that are to be asked for again."""
        asked = {task.id: task.found for task in tasks if task.found[0] in self._change.of}
        self._unanswered.update(asked)
        answers = self._change.ask(self._shard, tasks)
        for task_id in asked:
            del self._unanswered[task_id]
        again: list[Sought] = []
        pages: set[bytes] = set()
        for task, answer in zip(tasks, answers, strict=True):
            if answer == task.bucket:
                # It was asked for rightly: what cannot be found so was written by nobody of ours.
                self._answers[task.id] = "unknown"
            elif answer[:1] == b"=":
                again.append(task.at(answer))
            elif answer[:1] == b"p":
                again.append(task)
                pages.add(answer)
            else:
                self._answers[task.id] = answer.decode()
        for page in pages:
            open_page(self._shard, page)
        return again
