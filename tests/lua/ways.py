"""The ways in which a worker answers for a task in hand: the call, and what a model of the shard knows of it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.lua.calls import Call
from tests.lua.scripts import Lua
from tests.lua.tasks import Held


@dataclass(frozen=True)
class Way:
    """`call`: of a shard, at a time, with a due time where one is given. `counted`: which number of the task grows."""

    state: str
    call: Callable[[Lua, int, int, Held], Call]
    counted: str = ""
    is_attempt: bool = True
    is_for_due: bool = False
    first: Sequence[Any] = (1,)
    """What the call answers that does it; a repeated one says 1 alone."""


def _commit(lua: Lua, now: int, due: int, held: Held) -> Call:
    own = lua.keys.prefix + b"own:model"
    return lua.commit(now, held, ("INCR", own), ("DEL", own))


WAYS = {
    "complete": Way("done", lambda lua, now, due, held: lua.complete(now, held)),
    "commit": Way("done", _commit, first=(1, [1, 1])),
    "abandon": Way("cancelled", lambda lua, now, due, held: lua.abandon(now, held)),
    "release": Way("waiting", lambda lua, now, due, held: lua.release(now, held), is_attempt=False),
    "retry": Way("waiting", lambda lua, now, due, held: lua.retry(now, due, held), "failed", is_for_due=True),
    "throttle": Way(
        "waiting",
        lambda lua, now, due, held: lua.retry(now, due, held, counted="throttled"),
        "throttled",
        is_for_due=True,
    ),
    "snooze": Way(
        "waiting",
        lambda lua, now, due, held: lua.retry(now, due, held, counted="nothing"),
        is_attempt=False,
        is_for_due=True,
    ),
    "bury": Way("dead", lambda lua, now, due, held: lua.bury(now, held), "failed"),
    "bury throttled": Way(
        "dead", lambda lua, now, due, held: lua.bury(now, held, counted="throttled"), "throttled"
    ),
    "bury unread": Way(
        "dead", lambda lua, now, due, held: lua.bury(now, held, counted="nothing"), is_attempt=False
    ),
}
