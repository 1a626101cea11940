"""open_page: a page that comes near is spread over the timetable by exact due times, in bounded steps."""

from __future__ import annotations

from oncue.common.keys import page_of
from tests.lua.instants import KEEP, NOW, far, opening
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Task, tasks

DUE = far()
PAGE = page_of(DUE)
OPEN = opening(DUE)


def test_a_page_is_opened_by_the_exact_due_times(lua: Lua) -> None:
    spread = [Task(f"t{n}", DUE + n) for n in range(5)]
    lua.schedule(NOW, *spread).run()
    lua.open_whole_page(OPEN, PAGE)
    assert sorted(lua.timetable().values()) == [task.due for task in spread]
    assert lua.names().isdisjoint({b"page:%d" % PAGE})
    assert lua.counts() == {"delayed": 5}


def test_without_the_buckets_keys_a_call_moves_nothing_and_says_what_it_needs(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE), Task("b", DUE, "x", 9)).run()
    needs, flat = lua.open_page(OPEN, PAGE).run()
    assert sorted(needs) == [b"=%d:5:q" % DUE, b"=%d:9:x" % DUE]
    assert flat[0] == b"p%d" % PAGE
    assert lua.length(lua.keys.page(PAGE)) == 2


def test_with_some_of_the_keys_it_opens_up_to_the_first_that_lacks_them(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE), Task("b", DUE + 1), Task("c", DUE)).run()
    needs, _ = lua.open_page(OPEN, PAGE, Task("a", DUE).bucket).run()
    assert needs == [b"=%d:5:q" % (DUE + 1)]
    assert lua.length(lua.keys.page(PAGE)) == 2
    assert lua.states(OPEN, "a", "b", "c") == ["delayed"] * 3


def test_one_call_moves_at_most_what_it_was_asked_for(lua: Lua) -> None:
    same = tasks(50, DUE)
    lua.schedule(NOW, *same).run()
    needs, _ = lua.open_page(OPEN, PAGE, same[0].bucket, most=20).run()
    assert needs == [same[0].bucket]
    assert lua.length(lua.keys.page(PAGE)) == 30


def test_large_records_are_opened_few_at_a_time_and_all_in_the_end(lua: Lua) -> None:
    large = [Task(f"t{n}", DUE + n, data=b"x" * 300_000) for n in range(4)]
    lua.schedule(NOW, *large).run()
    needs, _ = lua.open_page(OPEN, PAGE).run()
    assert len(needs) == 1
    lua.open_whole_page(OPEN, PAGE)
    assert len(lua.timetable()) == 4


def test_many_tasks_of_one_instant_become_one_bucket(lua: Lua) -> None:
    same = tasks(500, DUE)
    lua.schedule(NOW, *same).run()
    lua.open_whole_page(OPEN, PAGE)
    assert len(lua.timetable()) == 9
    assert lua.length(lua.keys.bucket(DUE, 5, "q")) == 492
    lua.promote_due(DUE)
    assert len(lua.take_all(DUE)) == 500


def test_cancelled_entries_are_dropped(lua: Lua) -> None:
    few = [Task(f"t{n}", DUE + n) for n in range(6)]
    lua.schedule(NOW, *few).run()
    lua.cancel(NOW, *few[:3]).run()
    assert lua.client.hgetall(lua.keys.stale) == {b"p%d" % PAGE: b"3"}
    lua.open_whole_page(OPEN, PAGE)
    assert lua.states(OPEN, "t0", "t3") == ["cancelled", "delayed"]
    assert lua.client.hgetall(lua.keys.stale) == {}
    assert lua.counts() == {"delayed": 3, "cancelled": 3}


def test_an_id_that_was_cancelled_and_used_again_is_placed_once(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE, nonce=b"1" * 8), Task("b", DUE + 5)).run()
    lua.cancel(NOW, Task("a", DUE)).run()
    lua.schedule(NOW, Task("a", DUE + 9, nonce=b"2" * 8)).run()
    lua.open_whole_page(OPEN, PAGE)
    assert sorted(lua.timetable().values()) == [NOW + KEEP, DUE + 5, DUE + 9]
    lua.promote_due(DUE + 9)
    assert sorted(held.id for held in lua.take_all(DUE + 9)) == ["a", "b"]


def test_a_page_that_is_opened_late_makes_its_due_tasks_ready(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE), Task("b", DUE + 1000)).run()
    lua.open_whole_page(DUE + 500, PAGE)
    assert lua.counts() == {"ready": 1, "delayed": 1}
    assert [held.id for held in lua.take_all(DUE + 500)] == ["a"]


def test_a_retried_task_is_opened_by_its_new_due_time(lua: Lua) -> None:
    lua.retry(NOW, DUE + 3, lua.one("a")).run()
    assert lua.states(NOW, "a") == ["delayed"]
    lua.open_whole_page(OPEN, PAGE)
    assert DUE + 3 in lua.timetable().values()
    lua.promote_due(DUE + 3)
    assert [(held.id, held.failed, held.due) for held in lua.take_all(DUE + 3)] == [("a", 1, DUE + 3)]


def test_a_second_scheduler_finds_a_page_already_open(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", DUE)).run()
    lua.open_whole_page(OPEN, PAGE)
    before = lua.timetable()
    assert lua.open_page(OPEN, PAGE).run()[0] == []
    assert lua.timetable() == before


def test_two_schedulers_open_one_page_between_them(lua: Lua) -> None:
    same = tasks(60, DUE)
    lua.schedule(NOW, *same).run()
    call = lua.open_page(OPEN, PAGE, same[0].bucket, most=10)
    for _ in range(6):
        call.run()
    assert lua.length(lua.keys.page(PAGE)) == 0
    assert lua.length(lua.keys.bucket(DUE, 5, "q")) == 52


def test_a_task_for_an_opened_page_from_a_clock_behind_opens_it_once_more(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(20, DUE)).run()
    lua.open_whole_page(OPEN, PAGE)
    lua.schedule(OPEN - 1, Task("late", DUE)).run()
    assert b"p%d" % PAGE in lua.timetable()
    assert lua.states(OPEN, "late", "t0", "t19") == ["delayed"] * 3
    lua.open_whole_page(OPEN, PAGE)
    lua.promote_due(DUE)
    assert len(lua.take_all(DUE)) == 21


def test_a_task_of_a_segment_that_is_ready_already_joins_ready(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(MANY + 8, DUE)).run()
    lua.open_whole_page(OPEN, PAGE)
    lua.promote_due(DUE)
    lua.schedule(OPEN - 1, Task("late", DUE)).run()
    lua.open_page(DUE - 1, PAGE, Task("late", DUE).bucket).run()
    assert lua.states(DUE, "late") == ["ready"]
    assert lua.counts() == {"ready": MANY + 9}
