"""list_tasks, locate: many tasks are told of in replies that are bounded by the bytes of what they carry."""

from __future__ import annotations

import pytest

from tests.lua.instants import NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Task

KIB = b"x" * 1024


def names(lua: Lua, most: int, most_bytes: int) -> list[list[str]]:
    """All ids, by call."""
    place, found = b"0", []
    while True:
        place, ids = lua.list_tasks(place, most, most_bytes).run()
        found.append([task_id.decode() for task_id in ids])
        if place == b"0":
            return found


@pytest.mark.parametrize(("most", "most_bytes"), [(100, 1 << 20), (10, 1 << 20), (100, 5000), (1, 1)])
def test_all_tasks_are_met_in_steps_of_any_size(lua: Lua, most: int, most_bytes: int) -> None:
    new = [Task(f"t{n}", NOW + 1000, data=KIB) for n in range(300)]
    lua.schedule(NOW, *new).run()
    steps = names(lua, most, most_bytes)
    assert sorted({name for step in steps for name in step}) == sorted(task.id for task in new)
    # What stands in one bucket of the hash comes together: Valkey has seven there, and chains of them.
    assert max(map(len, steps)) <= min(most, most_bytes // 1024 + 1) + 40


def test_a_shard_without_tasks_is_told_of_in_one_step(lua: Lua) -> None:
    assert lua.list_tasks().run() == [b"0", []]


def test_records_are_given_up_to_the_bytes_asked_for_and_one_task_more(lua: Lua) -> None:
    new = [Task(f"t{n}", data=KIB) for n in range(10)]
    lua.schedule(NOW, *new).run()
    ids = [task.id for task in new]
    given = {
        size: len(lua.locate(NOW, *ids, whole=True, most_bytes=size).run()) for size in (1, 3000, 20_000)
    }
    assert given == {1: 1, 3000: 3, 20_000: 10}
    assert len(lua.locate(NOW, *ids).run()) == 10


def test_errors_count_among_the_bytes(lua: Lua) -> None:
    for name in "abc":
        lua.bury(NOW, lua.one(name), error='{"type":"%s"}' % ("x" * 1000)).run()
    assert len(lua.locate(NOW, *"abc", whole=True, most_bytes=1500).run()) == 2
