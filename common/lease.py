"""Lease: that of a running task lasts longer for somebody who does not hold the task; nothing else about it changes."""

from functools import partial

from oncue.common import waiting
from oncue.common.errors import AlreadyFinal, WrongState
from oncue.common.shard import Shard
from oncue.common.store import Store, unknown_task
from oncue.common.task import extension_ms

_TOKEN = slice(1, 7)
"""Where it stands in the text of a run (lua/include/run.lua)."""


def extend(store: Store, task_id: str, seconds: float) -> None:
    """As ``App.extend``."""
    wanted_ms = extension_ms(seconds)
    for shard in store.shards:
        state = store.persist(shard, partial(_extended, shard, task_id, wanted_ms))
        if state == "leased":
            return
        if state in ("done", "dead", "cancelled"):
            raise AlreadyFinal(f"task {task_id} is {state} already: only a running task has a lease")
        if state != "unknown":
            raise WrongState(f"task {task_id} is {state}: only a running task has a lease")
    raise unknown_task(task_id)


def _extended(shard: Shard, task_id: str, wanted_ms: int) -> str:
    """The task's state; "leased" if its lease is extended."""
    keys = shard.keys
    while True:
        # The token first: if another run begins between the two, this one's is refused below.
        text: bytes | None = shard.command("HGET", keys.runs, task_id)
        (found,) = waiting.locate(shard, [task_id])
        if not found or found[0] != b"leased" or text is None:
            return found[0].decode() if found else "unknown"
        token, queue, band = int.from_bytes(text[_TOKEN], "big"), found[3], found[2]
        args = (shard.now_ms(), wanted_ms, task_id, token, queue, band)
        if shard.call("renew", (keys.runs, keys.timetable), args) != [0]:
            return "leased"
