"""An id that is used again when its task has ended: the new task is none but itself, and finds nothing of the former."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lua.instants import KEEP, NOW, far
from tests.lua.scripts import Lua
from tests.lua.tasks import Task

NONCE, ANOTHER = b"12345678", b"another!"
STEP = 5000


def scheduled(lua: Lua, now: int) -> object:
    return lua.schedule(now, Task("a", now, nonce=ANOTHER)).run()


def scheduled_far_ahead(lua: Lua, now: int) -> object:
    lua.schedule(now, Task("opens", far(now))).run()
    return lua.schedule_alone(now, Task("a", far(now), nonce=ANOTHER))


def unique(lua: Lua, now: int) -> object:
    return lua.unique(now, Task("a", now, nonce=ANOTHER, claim=b"uq:new")).run()


def debounced(lua: Lua, now: int) -> object:
    return lua.debounced(now, Task("a", now, nonce=ANOTHER, claim=b"dq:new"))


def triggered(lua: Lua, now: int) -> object:
    lua.put_schedule("report", far(now)).run()
    return lua.trigger(now, "report", Task("a", now), forced=True).run()


WAYS: list[Callable[[Lua, int], object]] = [scheduled, scheduled_far_ahead, unique, debounced, triggered]


def former(lua: Lua) -> None:
    """A task with a key that is done, with a result that is kept for an hour."""
    lua.unique(NOW, Task("a", NOW, nonce=NONCE, claim=b"uq:key")).run()
    lua.complete(NOW, *lua.take_all(NOW), kept={"a": (b"of the former", 3_600_000)}).run()


@pytest.mark.parametrize("remembered", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_the_result_of_the_former_task_is_not_the_new_one_s(
    lua: Lua, way: Callable[[Lua, int], object], remembered: bool
) -> None:
    former(lua)
    now = NOW if remembered else NOW + KEEP + STEP
    lua.sweep(now).run()
    assert lua.states(now, "a") == ["done" if remembered else "unknown"]
    way(lua, now)
    assert lua.states(now, "a") in (["ready"], ["delayed"])
    assert lua.client.get(lua.keys.result("a")) is None


@pytest.mark.parametrize("way", WAYS)
def test_the_key_of_the_former_task_is_given_back(lua: Lua, way: Callable[[Lua, int], object]) -> None:
    former(lua)
    way(lua, NOW)
    assert b"uq:key" not in lua.client.hkeys(lua.keys.claims)


def test_a_repeated_call_leaves_the_result_of_its_own_task(lua: Lua) -> None:
    call = lua.schedule(NOW, Task("a", NOW, nonce=NONCE))
    call.run()
    lua.complete(NOW, *lua.take_all(NOW), kept={"a": (b"its own", 3_600_000)}).run()
    assert call.run() == [0]
    assert lua.client.getdel(lua.keys.result("a")) == b"its own"
