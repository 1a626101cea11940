"""promote: what is due becomes ready, whole buckets by name."""

from __future__ import annotations

import pytest

from tests.lua.calls import head
from tests.lua.instants import NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Task, tasks

DUE = NOW + 1000
LONE = 8


def test_a_lone_task_is_promoted_when_it_is_due_and_not_before(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE)).run()
    assert head(lua.promote(DUE - 1).run()) == [(lua.client.zrange(lua.keys.timetable, 0, 0)[0], DUE)]
    assert lua.counts() == {"delayed": 1}
    assert head(lua.promote(DUE).run()) == [(b"gq", DUE + 500)]
    assert lua.counts() == {"ready": 1}
    assert lua.states(DUE, "a") == ["ready"]


@pytest.mark.parametrize("size", [1, MANY - 1, MANY, 1000])
def test_a_bucket_is_promoted_whole(lua: Lua, size: int) -> None:
    same = tasks(LONE + size, DUE)
    lua.schedule(NOW, *same).run()
    lua.promote(DUE, [("q", 5)], same[0].bucket).run()
    assert lua.counts() == {"ready": LONE + size}
    assert lua.timetable() == {b"gq": DUE + 500}
    by_name = size >= MANY
    assert lua.length(lua.keys.ready("q", 5)) == LONE + (1 if by_name else size)
    assert lua.length(lua.keys.bucket(DUE, 5, "q")) == (size if by_name else 0)
    assert [held.id for held in lua.take_all(DUE)] == [task.id for task in same]


def test_tasks_become_ready_in_the_order_of_their_due_times(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(LONE, DUE + 1, prefix="b"), *tasks(LONE, DUE, prefix="a")).run()
    lua.schedule(NOW, *tasks(MANY, DUE, prefix="A"), *tasks(2, DUE + 1, prefix="B")).run()
    lua.promote_due(DUE + 1)
    order = [held.id[0] for held in lua.take_all(DUE + 1)]
    assert order == ["a"] * LONE + ["A"] * MANY + ["b"] * LONE + ["B"] * 2


def test_what_is_not_declared_stays_for_the_next_call(lua: Lua) -> None:
    same = tasks(LONE + 2, DUE)
    lua.schedule(NOW, *same, Task("x", DUE, "other"), Task("y", DUE, "q", 9)).run()
    left = head(lua.promote(DUE).run())
    assert [member[:1] for member, _ in left] == [b"=", b"=", b"=", b"g"]
    assert lua.counts() == {"ready": LONE, "delayed": 3}
    assert lua.counts("other") == {"delayed": 1}
    lua.promote_due(DUE)
    assert lua.counts() == {"ready": LONE + 3}
    assert lua.counts("other") == {"ready": 1}


def test_the_call_again_by_another_scheduler_changes_nothing(lua: Lua) -> None:
    same = tasks(LONE + MANY, DUE)
    lua.schedule(NOW, *same).run()
    call = lua.promote(DUE, [("q", 5)], same[0].bucket)
    assert call.run() == call.run()
    assert lua.counts() == {"ready": LONE + MANY}
    assert len(lua.take_all(DUE)) == LONE + MANY


def test_one_call_moves_at_most_64_members(lua: Lua) -> None:
    lua.schedule(NOW, *(Task(f"t{n}", DUE + n) for n in range(70))).run()
    lua.promote(DUE + 100).run()
    assert lua.counts() == {"ready": 64, "delayed": 6}


def test_a_worker_is_woken_once(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE), Task("b", DUE + 1)).run()
    lua.promote(DUE).run()
    lua.promote(DUE + 1).run()
    assert lua.length(lua.keys.wake("q")) == 1


def test_cancelled_entries_of_a_bucket_are_not_counted(lua: Lua) -> None:
    same = tasks(LONE + MANY + 3, DUE)
    lua.schedule(NOW, *same).run()
    lua.cancel(NOW, *same[LONE : LONE + 5]).run()
    lua.promote_due(DUE)
    assert lua.counts() == {"ready": LONE + MANY - 2, "cancelled": 5}
    assert len(lua.take_all(DUE)) == LONE + MANY - 2


def test_the_head_names_at_most_64_members_with_their_instants(lua: Lua) -> None:
    lua.schedule(NOW, *(Task(f"t{n}", DUE + n) for n in range(100))).run()
    found = head(lua.promote(NOW).run())
    assert [at for _, at in found] == [DUE + n for n in range(64)]


def test_who_asks_for_the_head_is_armed_for_its_first(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE), Task("b", DUE + 9000)).run()
    lua.promote(DUE).run()
    assert lua.client.get(lua.keys.armed) == b"%d" % (DUE + 500)
    lua.schedule(DUE, Task("c", DUE + 400)).run()
    assert lua.notified() == [DUE, DUE + 400]


def test_an_empty_timetable_arms_nobody(lua: Lua) -> None:
    assert lua.promote(DUE).run() == []
    assert lua.client.get(lua.keys.armed) is None


def test_survey_says_where_to_read_on_and_what_comes_first(lua: Lua) -> None:
    assert lua.survey().run() == [b"0-0", []]
    lua.schedule(NOW, Task("a", DUE)).run()
    last, flat = lua.survey().run()
    assert lua.client.xrange(lua.keys.notify)[-1][0] == last
    assert [at for _, at in head(flat)] == [DUE]
