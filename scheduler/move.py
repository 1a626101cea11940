"""Move: a schedule whose queue lives in another shard goes there, with its pause, its counts and its history.

Two shards have no step in common, so there are three: it is handed over, arrives, and is forgotten where it was; then it is
put as any other. From the first of them on it has no tick in either shard, so none can be fired twice; it carries the
instant of that first step, and its next tick is the first one after that instant, so none is lost, however long somebody who
died between two steps leaves it so. Whoever puts it next, to one shard or the other, completes the move.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.schedule_calls import BY_HAND, Arguments, Origin, remove_schedule
from oncue.scheduler.standing import Stored, find

HANDED_OVER = 1
"""What ``hand_over`` answers; else the schedule stays where it is, with ``FIRE_FIRST`` until its ticks are fired."""

_MOVED_LATER = -1


def hand_over(entry: Stored, known: bytes, origin: Origin = BY_HAND) -> tuple[int, list[Any]]:
    """One call of lua/hand_over.lua, for a definition of this hash, or any with b"" for it; not repeated."""
    shard, name = entry.shard, entry.name
    keys = shard.keys
    fixed = (keys.timetable, keys.schedules, keys.followers, keys.revisions)
    own = (keys.schedule(name), keys.history(name))
    args: Arguments = [shard.now_ms(), name, known, *origin]
    code, *told = shard.call("hand_over", [*fixed, *own], args)
    return code, told


def arrive(store: Store, entry: Stored, home: Shard, told: list[Any]) -> bool:
    """Makes a schedule that was handed over stand in another shard, and forgets it where it was.

    False where somebody has put it there again meanwhile, or removed it: then it stands nowhere else. Nor does it take
    the place of what a later move has brought.
    """
    definition, flat, history = told
    keys, name = home.keys, entry.name
    there = entry.shard.keys.backfilled(name)
    backfilled: list[bytes] = store.persist(entry.shard, lambda: entry.shard.command("ZRANGE", there, 0, -1))
    args: Arguments = [name, definition, len(flat) // 2, len(history), *flat, *history, *backfilled]
    own = (keys.schedules, keys.schedule(name), keys.history(name), keys.backfilled(name), keys.revisions)
    if store.persist(home, lambda: home.call("arrive", own, args)) == _MOVED_LATER:
        return False
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    moved = fields[b"moved"].decode()
    forget(store, entry.shard, name, moved, str(home.number))
    # Gone with this call or with one before it whose reply was lost; what is there has lost its mark to somebody else.
    is_there = bool(store.persist(entry.shard, partial(find, entry.shard, name)))
    if is_there or _went_elsewhere(store, entry.shard, name, moved, str(home.number)):
        forget(store, home, name, moved)
        return False
    # Another mover of the same mark may have been here long ago, and it has gone on from here.
    standing = forget_left(store, name)
    return not standing or any(other.shard is home for other in standing)


def _went_elsewhere(store: Store, shard: Shard, name: str, moved: str, home: str) -> bool:
    """Whether its original was removed, put again, or brought to a third shard, as the note about it tells."""
    note: bytes | None = store.persist(shard, lambda: shard.command("HGET", shard.keys.revisions, f"~{name}"))
    return note is not None and note != f"{moved} {home}".encode()


def forget(store: Store, shard: Shard, name: str, moved: str, home: str = "") -> None:
    """Takes away what the move of that instant has left in a shard, or what has gone to that home."""
    store.persist(shard, lambda: remove_schedule(shard, name, b"", for_good=True, moved=moved, home=home))


def forget_left(store: Store, name: str) -> list[Stored]:
    """Takes away what moves have left behind of a schedule that stands in some shard; where it stands."""
    left = [entry for entry in _everywhere(store, name) if entry.moved]
    # In this order: who stands there now has been put after the mark that was seen, and is no original of that move.
    standing = [entry for entry in _everywhere(store, name) if not entry.moved and entry.state != "removed"]
    for entry in left if standing else ():
        forget(store, entry.shard, name, entry.moved)
    return standing


def _everywhere(store: Store, name: str) -> Iterator[Stored]:
    for shard in store.shards:
        yield from store.persist(shard, partial(find, shard, name))
