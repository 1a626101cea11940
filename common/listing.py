"""Listing tasks in pages: each step looks at a bounded number of tasks, whatever else there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, get_args

from oncue.common import waiting
from oncue.common.claims import field
from oncue.common.due import due_ms
from oncue.common.errors import BadInput
from oncue.common.keys import queue_name
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.common.task import State, TaskInfo, instant

LOOKED_AT = 100
"""About how many tasks one step looks at, fewer of large ones."""

MOST_STEPS = 100
"""After so many steps a page ends, however few tasks fit: the caller decides whether to look on."""


class Page(NamedTuple):
    """Some tasks, and where to go on; ``cursor`` is None at the end. A page may be empty and not the last."""

    tasks: list[TaskInfo]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks are meant; None for no bound."""

    queue: str | None
    state: str | None
    from_ms: int | None
    to_ms: int | None

    def fits(self, task: TaskInfo) -> bool:
        """Whether a task is meant. A finished one has neither queue nor due time any more."""
        if self.state not in (None, task.state) or self.queue not in (None, task.queue):
            return False
        if self.from_ms is None and self.to_ms is None:
            return True
        if task.due is None:
            return False
        late = self.from_ms is None or instant(self.from_ms) <= task.due
        return late and (self.to_ms is None or task.due <= instant(self.to_ms))

    @property
    def is_of_runs(self) -> bool:
        """Whether all that are meant have been reserved before, or have ended."""
        return self.state in ("leased", "dead", "done", "cancelled")


def wanted(queue: str | None, state: str | None, from_ts: object, to_ts: object) -> Wanted:
    """What users ask for; raises BadInput."""
    if state is not None and state not in get_args(State):
        raise BadInput(f"{state!r} is no state: give one of {', '.join(get_args(State))}")
    if queue is not None:
        queue_name(queue)
    first = None if from_ts is None else due_ms(from_ts, 0)
    return Wanted(queue, state, first, None if to_ts is None else due_ms(to_ts, 0))


def page(store: Store, meant: Wanted, cursor: str | None, limit: int, *, whole: bool = True) -> Page:
    """Tasks in no order, at least ``limit`` of them unless the page ends before; raises BadInput, StoreUnavailable.

    ``whole``: with data and errors. Who follows the cursors to the end has met every task that was there all the while,
    some perhaps twice.
    """
    if isinstance(limit, bool) or not 1 <= limit <= 100_000:
        raise BadInput(f"a limit of {limit!r} is not understood: give 1 to 100000")
    shards = [store.shard(meant.queue)] if meant.queue else store.shards
    at, place = _read(cursor, len(shards))
    found: dict[str, TaskInfo] = {}
    for _ in range(MOST_STEPS):
        shard = shards[at]
        place, ids = store.persist(shard, partial(_step, shard, meant, place))
        found |= {task.id: task for task in store.known(shard, ids, whole=whole) if meant.fits(task)}
        at += place == 0
        if at == len(shards):
            return Page([*found.values()], None)
        if len(found) >= limit:
            break
    return Page([*found.values()], f"{at}:{place}")


def of_key(store: Store, meant: Wanted, key: str, *, whole: bool = True) -> Page:
    """The tasks that were last made for a key of a queue, unique or debounced: at most two. Raises BadInput."""
    if meant.queue is None:
        raise BadInput("a key belongs to a queue: give the queue too")
    shard = store.shard(meant.queue)
    fields = (field("u", meant.queue, key), field("d", meant.queue, key))
    claims = store.persist(shard, lambda: shard.command("HMGET", shard.keys.claims, *fields))
    ids = [claim[6:].decode() for claim in claims if claim]
    # A finished one has no queue any more, but its key says whose it was.
    whose = Wanted(None, meant.state, meant.from_ms, meant.to_ms)
    return Page([task for task in store.known(shard, ids, whole=whole) if whose.fits(task)], None)


def _step(shard: Shard, meant: Wanted, place: int) -> tuple[int, Sequence[str]]:
    key = shard.keys.runs if meant.is_of_runs else shard.keys.records
    following, ids = shard.call("list_tasks", [key], [place, LOOKED_AT, waiting.REPLY_BYTES])
    return int(following), [task_id.decode(errors="backslashreplace") for task_id in ids]


def _read(cursor: str | None, shards: int) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    shard, _, place = cursor.partition(":")
    if not (
        shard.isascii() and shard.isdigit() and place.isascii() and place.isdigit() and int(shard) < shards
    ):
        raise BadInput(f"{cursor!r:.60} is no cursor: give one that a page has brought")
    return int(shard), int(place)
