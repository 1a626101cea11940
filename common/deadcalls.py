"""Calls about dead tasks by id, of one shard and some at a time."""

from collections.abc import Sequence

from oncue.common import waiting
from oncue.common.errors import BadInput
from oncue.common.shard import KeyTable, Shard
from oncue.common.store import Store


def redrive(store: Store, queue: str | None, due_ms: int, shard: Shard, ids: Sequence[str]) -> dict[str, str]:
    """Makes dead tasks ready; for each "redriven", or what it is instead: a state, or "unknown".

    ``queue``: where they go, None for their own; no task changes its shard. ``due_ms`` is the instant of the redrive,
    the same in a repeated call.
    """
    keys = shard.keys
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.bands, keys.seq, keys.dead)
    table = KeyTable(*first, keys.dead_bytes, keys.errors, keys.armed, keys.notify)
    args: list[bytes | str | int] = [max(shard.now_ms(), due_ms), due_ms]
    answers = dict.fromkeys(ids, "unknown")
    asked: list[str] = []
    for task_id, found in zip(ids, waiting.locate(shard, ids), strict=True):
        if not found:
            continue
        answers[task_id] = found[0].decode()
        band, goes_to = found[2], queue or found[3].decode()
        # Without a queue of its own it has ended, or cannot be read.
        if found[3] and (queue is None or store.shard(queue) is shard):
            asked.append(task_id)
            args += (task_id, goes_to, band, table.add(keys.ready(goes_to, band), keys.wake(goes_to)))
    told: list[bytes] = shard.call("redrive", table.keys, args) if asked else []
    for task_id, answer in zip(asked, told, strict=True):
        if answer == b"ready":
            answers[task_id] = "redriven"
        elif answer in (b"leased", b"done", b"cancelled", b"unknown"):
            answers[task_id] = answer.decode()
    return answers


def purge(keep_ms: int, shard: Shard, ids: Sequence[str]) -> dict[str, str]:
    """Forgets dead tasks; for each "purged" (now or before), or what it is instead: a state, or "unknown"."""
    keys = shard.keys
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.dead, keys.dead_bytes, keys.errors)
    args: list[bytes | str | int] = [shard.now_ms(), keep_ms, *ids]
    told = shard.call("purge", (*first, keys.finished, keys.armed, keys.notify), args)
    answers = {task_id: "purged" if answer else "unknown" for task_id, answer in zip(ids, told, strict=True)}
    others = [task_id for task_id, answer in answers.items() if answer == "unknown"]
    for task_id, found in zip(others, waiting.locate(shard, others) if others else (), strict=True):
        if found:
            answers[task_id] = found[0].decode()
    return answers


def elsewhere(queue: str, task_id: str) -> BadInput:
    """What refuses a redrive into the queue of another shard."""
    return BadInput(
        f"queue {queue} lives in another shard than task {task_id}, and no task changes its shard: nothing was redriven"
    )
