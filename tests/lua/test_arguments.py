"""A call that does not fit its contract is refused before anything is written: half a transition is worse than none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

import oncue.lua
from tests.lua.calls import Arg, Call
from tests.lua.instants import NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Held, Task, tasks
from tests.lua.valid import FAR, SAME, VALID

NUMBERS = {
    "schedule": [0, 3],
    "schedule_one": [],
    "open_page": [0, 2],
    "promote": [0, 1],
    "reserve": [0, 1, 2, 3, 4, 5, 7],
    "complete": [0, 1, 2, 3, 5],
    "commit": [0, 1, 3, 5, 6],
    "abandon": [0, 1],
    "retry": [0, 1, 6, 8, 9],
    "bury": [0, 6],
    "release": [0, 1],
    "renew": [0, 1],
    "reclaim": [0, 1, 2],
    "guard": [0],
    "unique": [0, 3, 4],
    "debounce": [0, 3, 4, 5, 6, 7],
    "purge": [0, 1],
    "trim": [0, 1, 2, 3, 4, 5],
    "redrive": [0, 1, 4, 5],
    "list_dead": [1, 3],
    "list_tasks": [0, 1, 2],
    "sweep": [0, 1],
    "fire": [0, 2, 4, 5, 6, 8, 13, 16],
    "put_schedule": [0, 7, 8, 9],
    "remove_schedule": [0],
    "hand_over": [0],
    "arrive": [2, 3, 7],
    "put_off": [0, 2],
    "claim_zones": [],
    "replan": [4, 5],
    "trigger": [0, 6],
    "pause": [0],
    "resume": [0, 3, 4, 5, 11, 12, 13],
    "claim_revision": [3],
    "survey": [],
    "locate": [0, 1],
    "cancel": [0, 1],
    "reschedule": [0, 2, 3, 4, 5],
}
"""Where each call has a number that it cannot do without."""

RIGHT_AS_WELL = {
    ("debounce", "the last key is missing"),
    ("purge", "the last argument is missing"),
    ("locate", "the last argument is missing"),
    ("arrive", "the last argument is missing"),
    ("cancel", "the last key is missing"),
    ("reschedule", "the last key is missing"),
}
"""One task less to look at; and a bucket that is not declared is asked for."""


@pytest.fixture
def full(lua: Lua) -> tuple[Lua, list[Held]]:
    """A shard with a task in every place, a schedule with a tick, and two tasks in hand."""
    lua.schedule(NOW, Task("held0"), Task("held1"), Task("done")).run()
    held = lua.take_all(NOW)
    lua.complete(NOW, held.pop()).run()
    lua.schedule(NOW, *SAME, Task("far", FAR), Task("ready"), Task("rival", NOW, "r")).run()
    lua.put_schedule("report", NOW).run()
    lua.put_schedule("other", NOW).run()
    lua.pause(NOW, "other").run()
    lua.client.delete(lua.keys.wake("q"), lua.keys.wake("r"))
    return lua, held


def contents(lua: Lua) -> dict[bytes, object]:
    """Everything in the shard, byte by byte."""
    return {name: lua.client.dump(lua.keys.prefix + name) for name in sorted(lua.names())}


def refused(lua: Lua, call: Call, what: str = "") -> None:
    before = contents(lua)
    try:
        answer = call.run()
    except ResponseError:
        answer = ResponseError
    assert (what, answer) == (what, ResponseError)
    assert contents(lua) == before, what


def wrong(call: Call) -> Iterator[tuple[str, Call]]:
    yield "no keys and no arguments", call.given(keys=(), args=())
    if call.args:
        yield "no arguments", call.given(args=())
        yield "the last argument is missing", call.given(args=call.args[:-1])
    yield "no keys", call.given(keys=())
    yield "the last key is missing", call.given(keys=call.keys[:-1])
    for at in NUMBERS[call.name]:
        args: list[Arg] = [*call.args]
        args[at] = "soon"
        yield f"argument {at + 1} is no number", call.given(args=args)


def test_every_script_is_tried() -> None:
    scripts = {path.stem for path in Path(str(oncue.lua.__file__)).parent.glob("*.lua")}
    assert set(VALID) == set(NUMBERS) == scripts


@pytest.mark.parametrize("name", VALID)
def test_a_wrong_call_is_refused_and_nothing_written(full: tuple[Lua, list[Held]], name: str) -> None:
    lua, held = full
    for what, call in wrong(VALID[name](lua, held)):
        if (name, what) not in RIGHT_AS_WELL:
            refused(lua, call, what)
    VALID[name](lua, held).run()


@pytest.mark.parametrize("weight", [0, -1, float("nan")], ids=["none", "negative", "not a number"])
def test_a_weight_that_is_not_above_zero_is_refused(full: tuple[Lua, list[Held]], weight: float) -> None:
    lua, _ = full
    refused(lua, lua.reserve(NOW, Asked("q", weight), Asked("r")))


@pytest.mark.parametrize(
    "record",
    [b"", b"\x10", Task("x", band=10).record, Task("x").record[:12] + b"\xff"],
    ids=["empty", "short", "band 10", "name beyond the end"],
)
def test_a_record_that_scripts_cannot_read_is_refused(full: tuple[Lua, list[Held]], record: bytes) -> None:
    lua, _ = full
    call = lua.schedule(NOW, Task("good"), Task("bad"))
    refused(lua, call.given(args=[*call.args[:5], record, *call.args[6:]]))


def test_an_id_that_looks_like_a_reference_is_refused(full: tuple[Lua, list[Held]]) -> None:
    lua, _ = full
    refused(lua, lua.schedule(NOW, Task("good"), Task("=1:5:q")))


def test_a_slot_that_points_at_a_fixed_key_or_beyond_the_last_is_refused(
    full: tuple[Lua, list[Held]],
) -> None:
    lua, held = full
    for call in (lua.schedule(NOW, Task("new")), lua.retry(NOW, NOW, held[0])):
        for index in (0, 1, 8, 9, len(call.keys), len(call.keys) + 1):
            refused(lua, call.given(args=[*call.args[:-1], index]))


@pytest.mark.parametrize("size", [1000, 4100, 9000])
def test_a_call_for_many_tasks_is_done_whole_or_refused_whole(lua: Lua, size: int) -> None:
    """What fits on the stack of the server's Lua is bounded: half of it, and half a transition, must not be written."""
    new = tasks(size, FAR)
    before = contents(lua)
    try:
        assert sum(lua.schedule(NOW, *new).run()) == size
    except ResponseError:
        assert contents(lua) == before
    for at in range(0, size, 500):
        lua.schedule(NOW, *tasks(500, prefix=f"r{at}.")).run()
    held = lua.take_all(NOW)[:size]
    before = contents(lua)
    try:
        assert sum(lua.complete(NOW, *held).run()) == size
    except ResponseError:
        assert contents(lua) == before
