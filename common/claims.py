"""Tasks with a key of which one at a time is wanted: unique ones, and debounced ones."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

from oncue.common.errors import BadInput, WrongState
from oncue.common.keys import Keys, page_of
from oncue.common.pages import open_page
from oncue.common.shard import KeyTable, Shard, slot
from oncue.common.store import Store
from oncue.common.writing import Placed

While = Literal["waiting", "running"]
MOST_KEY_BYTES = 128
_Arg = bytes | str | int


@dataclass(frozen=True, slots=True)
class Claim:
    """What a producer wants of a key, as ``App.schedule_task`` takes it."""

    debounce: str | None
    max_wait_s: float | None
    unique: str | None
    unique_while: While
    unique_for_s: float | None

    def field(self, queue: str) -> bytes:
        """The field of the hash "claims"; raises BadInput for what does not go together."""
        if self.debounce is not None and self.unique is not None:
            raise BadInput("give debounce or unique, not both")
        if self.unique_while not in ("waiting", "running"):
            raise BadInput(f"unique_while is {self.unique_while!r}; allowed: waiting, running")
        for name, seconds in (("max_wait_s", self.max_wait_s), ("unique_for_s", self.unique_for_s)):
            if seconds is not None and not 0 < seconds <= 1e9:
                raise BadInput(f"{name} is {seconds!r}; allowed: seconds, above 0")
        return field("u", queue, self.unique) if self.debounce is None else field("d", queue, self.debounce)

    def schedule(self, store: Store, task: Placed) -> str:
        """The id of the task that is there afterwards; raises WrongState, StoreUnavailable and WrongServer."""
        if self.debounce is not None:
            return debounce(store, task, _after(store, task.queue, self.max_wait_s))
        return unique(store, task, self.unique_while, _after(store, task.queue, self.unique_for_s))


def _after(store: Store, queue: str, seconds: float | None) -> int:
    """The instant in ms so many seconds from now, 0 for None: the same in each try of a call."""
    return store.now_ms(queue) + math.ceil(seconds * 1000) if seconds else 0


def field(kind: Literal["u", "d"], queue: str, key: object) -> bytes:
    """The field of the hash "claims" for a key of the caller's; raises BadInput."""
    if not isinstance(key, str) or not 1 <= len(body := key.encode(errors="replace")) <= MOST_KEY_BYTES:
        raise BadInput(f"{key!r:.60} is not a key: give a text of 1 to {MOST_KEY_BYTES} bytes")
    return b"%s%s:%s" % (kind.encode(), queue.encode(), body)


def _fixed(keys: Keys) -> tuple[bytes, ...]:
    """The first of KEYS in both scripts."""
    written = (keys.records, keys.runs, keys.timetable, keys.counts, keys.bands, keys.seq)
    return (*written, keys.armed, keys.notify, keys.claims)


def unique(store: Store, task: Placed, held_while: While, until_ms: int) -> str:
    """Writes a task unless another holds its key; the id of the one that does. Raises WrongState for a taken id."""
    shard = store.shard(task.queue)
    answer = store.persist(shard, partial(_unique, shard, task, held_while, until_ms))
    if not answer:
        raise _taken(task)
    return answer


def _unique(shard: Shard, task: Placed, held_while: While, until_ms: int) -> str:
    keys = shard.keys
    now = shard.now_ms()
    args = (now, task.id, task.record, held_while, until_ms)
    own = slot(keys, now, task.due_ms, task.band, task.queue)
    found: bytes = shard.call("unique", (*_fixed(keys), keys.result(task.id), *own), args)
    holder = found.decode()
    if holder:
        shard.confirm((holder,))
    return holder


def debounce(store: Store, task: Placed, latest_ms: int) -> str:
    """Pushes the waiting task of the key ahead, or writes a new one; its id. Raises WrongState for a taken id.

    ``latest_ms``: how far a new one may be pushed, 0 for any instant.
    """
    shard = store.shard(task.queue)
    return store.persist(shard, partial(_debounce, shard, task, latest_ms))


def _debounce(shard: Shard, task: Placed, latest_ms: int) -> str:
    keys = shard.keys
    due, hint = task.due_ms, b""
    while True:
        now = shard.now_ms()
        table = KeyTable(*_fixed(keys), keys.stale, keys.result(task.id))
        index = table.add(*slot(keys, now, due, task.band, task.queue))
        page = bucket = 0
        if hint:
            page = table.add(keys.page(page_of(int(hint[1:].split(b":")[0]))))
            bucket = table.add(keys.segment(hint), keys.ready_beside(hint))
        args: list[_Arg] = [now, task.id, task.record, due, latest_ms, index, page, bucket]
        what, value = shard.call("debounce", table.keys, args)
        if what == b"id":
            found: str = value.decode()
            shard.confirm((found,))
            return found
        if what == b"taken":
            raise _taken(task)
        if what == b"page":
            open_page(shard, value)
        elif what == b"due":
            due = int(value)
        else:
            hint = value


def _taken(task: Placed) -> WrongState:
    return WrongState(f"the id {task.id} belongs to another task already: leave the id out, or give another")
