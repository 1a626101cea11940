"""Calls about dead tasks by id, of one shard and some at a time."""

import math
from collections.abc import Sequence
from functools import partial

from oncue.common import waiting
from oncue.common.errors import BadInput
from oncue.common.settle import Change
from oncue.common.shard import KeyTable, Shard
from oncue.common.store import Step, Store
from oncue.common.waiting import Arg, Sought


def redriving(store: Store, queue: str | None, due_ms: int) -> Change:
    """Dead tasks become ready, and are answered "redriven".

    ``queue``: where they go, None for their own; no task changes its shard. ``due_ms`` is the instant of the redrive,
    the same in a repeated call.
    """
    home = None if queue is None else store.shard(queue)

    def ask(shard: Shard, tasks: Sequence[Sought]) -> list[bytes]:
        # Without a queue of its own it has ended, or cannot be read.
        can_go = [task for task in tasks if task.queue and home in (None, shard)]
        told = iter(_redrive(shard, can_go, queue, due_ms) if can_go else ())
        return [_word(next(told), task) if task in can_go else task.found[0] for task in tasks]

    # Ready at once, whatever the clock of its own shard says of an instant that another's has given.
    return Change(ask, "redriven", frozenset((b"dead",)), -math.inf)


def _word(answer: bytes, task: Sought) -> bytes:
    if answer == b"ready":
        return b"redriven"
    if answer == b"waiting":
        # Dead a moment ago, it was redriven by somebody else.
        return b"ready" if task.found[0] == b"dead" else task.found[0]
    return answer


def _redrive(shard: Shard, tasks: Sequence[Sought], queue: str | None, due_ms: int) -> list[bytes]:
    keys = shard.keys
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.bands, keys.seq, keys.dead)
    table = KeyTable(*first, keys.dead_bytes, keys.errors, keys.armed, keys.notify, keys.claims)
    args: list[Arg] = [max(shard.now_ms(), due_ms), due_ms]
    for task in tasks:
        goes_to = queue or task.queue
        lists = (keys.ready(goes_to, task.band), keys.wake(goes_to))
        args += (task.id, goes_to, task.band, table.add(*lists))
    answers: list[bytes] = shard.call("redrive", table.keys, args)
    return answers


def purging(keep_ms: int) -> Step:
    """Dead tasks are forgotten, and are answered "purged", also those that were purged before."""
    return lambda shard, ids: partial(_purge, keep_ms, shard, ids)


def _purge(keep_ms: int, shard: Shard, ids: Sequence[str]) -> dict[str, str]:
    keys = shard.keys
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.dead, keys.dead_bytes, keys.errors)
    args: list[Arg] = [shard.now_ms(), keep_ms, *ids]
    told = shard.call("purge", (*first, keys.finished, keys.armed, keys.notify), args)
    answers = {task_id: "purged" if answer else "unknown" for task_id, answer in zip(ids, told, strict=True)}
    others = [task_id for task_id, answer in answers.items() if answer == "unknown"]
    for task_id, found in zip(others, waiting.locate(shard, others) if others else (), strict=True):
        if found:
            answers[task_id] = found[0].decode()
    # Dead since the first of the two calls.
    died = [task_id for task_id in others if answers[task_id] == "dead"]
    return answers | _purge(keep_ms, shard, died) if died else answers


def elsewhere(queue: str, task_id: str) -> BadInput:
    """What refuses a redrive into the queue of another shard."""
    return BadInput(
        f"queue {queue} lives in another shard than task {task_id}, and no task changes its shard: nothing was redriven"
    )
