"""A schedule of the name "report" with a tick a minute, numbered from 0."""

from __future__ import annotations

from tests.lua.instants import NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Held, Task

TICK = NOW + 1000
STEP = 60_000


def at(n: int) -> int:
    return TICK + n * STEP


def tick(n: int) -> Task:
    return Task(f"report@{n}", at(n))


def fire(lua: Lua, n: int, overlap: str, every: int | None = None) -> list[bytes]:
    """The answer for tick n, whose schedule goes on."""
    if n == 0:
        lua.put_schedule("report", at(0)).run()
    following = None if every else at(n + 1)
    code, _, became, _ = lua.fire(
        at(n), "report", at(n), following, tick(n), overlap=overlap, every=every
    ).run()
    assert code == 1
    return list(became)


def ids(held: list[Held]) -> list[str]:
    return [task.id for task in held]
