"""fire, put_schedule, remove_schedule, put_off: each tick is one task, whoever fires it and however often it is tried."""

from __future__ import annotations

import pytest

from tests.lua.calls import head
from tests.lua.instants import NOW
from tests.lua.schedule_calls import RULES, ZONE, fired
from tests.lua.scripts import Lua
from tests.lua.tasks import Task

TICK, NEXT = NOW + 1000, NOW + 61_000


def put(lua: Lua, tick: int | None = TICK, known: str = "h1") -> int:
    (answer,) = lua.put_schedule("report", tick, known, '{"cron":"* * * * *"}').run()
    return int(answer)


def test_a_schedule_is_created_with_its_first_tick(lua: Lua) -> None:
    assert put(lua) == 1
    assert lua.timetable() == {b"treport": TICK}
    assert lua.client.hgetall(lua.keys.schedules) == {b"report": b'h1{"cron":"* * * * *"}'}
    assert lua.notified() == [TICK]


def test_the_same_definition_from_a_second_scheduler_moves_no_tick(lua: Lua) -> None:
    put(lua)
    assert put(lua, NEXT) == 0
    assert lua.timetable() == {b"treport": TICK}


def test_an_edited_schedule_takes_its_new_tick(lua: Lua) -> None:
    put(lua)
    assert put(lua, NEXT, "h2") == 2
    assert lua.timetable() == {b"treport": NEXT}
    assert lua.client.hget(lua.keys.schedules, "report")[:2] == b"h2"


def test_an_edited_schedule_without_a_further_tick_has_none(lua: Lua) -> None:
    put(lua)
    assert put(lua, None, "h2") == 2
    assert lua.timetable() == {}


def test_a_tick_becomes_one_task_and_the_next_tick_takes_its_place(lua: Lua) -> None:
    put(lua)
    fired, flat, became, _ = lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK)).run()
    assert (fired, became) == (1, [b"ready"])
    assert (b"treport", NEXT) in head(flat)
    assert lua.timetable()[b"treport"] == NEXT
    assert lua.counts() == {"ready": 1}
    assert lua.length(lua.keys.wake("q")) == 1
    assert [(held.id, held.due) for held in lua.take_all(TICK)] == [("report:1", TICK)]


def test_a_tick_is_fired_by_one_of_several_schedulers(lua: Lua) -> None:
    put(lua)
    call = lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK))
    assert [call.run()[0] for _ in range(3)] == [1, 0, 0]
    assert lua.counts() == {"ready": 1}
    assert lua.timetable()[b"treport"] == NEXT


@pytest.mark.parametrize(
    ("now", "planned", "known"),
    [(TICK - 1, TICK, "h1"), (NEXT, TICK + 1, "h1"), (TICK, TICK, "h2"), (TICK, NOW, "h1")],
    ids=["early", "another instant", "edited meanwhile", "fired before"],
)
def test_a_tick_that_is_not_the_one_that_is_due_is_not_fired(
    lua: Lua, now: int, planned: int, known: str
) -> None:
    put(lua)
    assert lua.fire(now, "report", planned, NEXT, Task("report:1", TICK), known).run()[0] == 0
    assert lua.timetable() == {b"treport": TICK}
    assert lua.counts() == {}


def test_the_last_tick_leaves_none(lua: Lua) -> None:
    put(lua)
    assert lua.fire(TICK, "report", TICK, None, Task("report:1", TICK)).run()[0] == 1
    assert lua.timetable() == {b"gq": TICK + 500}


@pytest.mark.parametrize("finished", [False, True])
def test_a_tick_whose_task_is_there_already_moves_on_without_a_second_one(lua: Lua, finished: bool) -> None:
    lua.schedule(NOW, Task("report:1", TICK)).run()
    if finished:
        lua.promote_due(TICK)
        lua.complete(TICK, *lua.take_all(TICK)).run()
    before = lua.counts()
    put(lua)
    assert lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK)).run()[0] == 1
    assert lua.counts() == before
    assert lua.timetable()[b"treport"] == NEXT


def test_a_removed_schedule_fires_no_more_and_its_tasks_stay(lua: Lua) -> None:
    put(lua)
    lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK)).run()
    assert lua.remove_schedule("report", "h1").run() == 1
    assert lua.remove_schedule("report", "h1").run() == 0
    assert lua.fire(NEXT, "report", NEXT, NEXT + 1, Task("report:2", NEXT)).run()[0] == 0
    assert lua.counts() == {"ready": 1}
    assert b"treport" not in lua.timetable()
    assert lua.schedule_state("report")["state"] == "removed"
    assert len(lua.history("report")) == 1
    assert lua.remove_schedule("report", "h1", for_good=True).run() == 1
    assert not {b"schedules", b"schedule:report", b"history:report"} & lua.names()


def test_a_schedule_edited_meanwhile_is_not_removed(lua: Lua) -> None:
    put(lua, known="h2")
    assert lua.remove_schedule("report", "h1").run() == 0
    assert lua.timetable() == {b"treport": TICK}
    assert lua.remove_schedule("report").run() == 1


def test_a_tick_without_its_schedule_is_cleared_away(lua: Lua) -> None:
    lua.client.zadd(lua.keys.timetable, {b"treport": TICK})
    assert lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK)).run() == [0, [], [], b""]
    assert lua.timetable() == {}


def test_a_tick_that_nobody_can_read_makes_way_for_longer_each_time_and_keeps_its_schedule(lua: Lua) -> None:
    put(lua)
    assert lua.put_off(TICK - 1, "report", TICK, "h1").run()[0] == 0
    assert lua.put_off(TICK, "report", TICK, "h2").run()[0] == 0
    assert lua.put_off(TICK, "report", TICK, "h1").run()[0] == 1
    assert lua.put_off(TICK, "report", TICK, "h1").run()[0] == 0
    assert lua.timetable() == {b"treport": TICK + 60_000}
    for _ in range(8):
        at = lua.timetable()[b"treport"]
        lua.put_off(at, "report", at, "h1").run()
        assert lua.timetable() == {b"treport": at + min(at - TICK, 3_600_000)}
    assert lua.schedule_state("report")["state"] == "invalid"
    assert put(lua, NEXT, "h2") == 2
    assert lua.put_off(NEXT, "report", NEXT, "h1").run()[0] == 0
    assert lua.timetable() == {b"treport": NEXT}
    assert not {"reason", "put_off"} & lua.schedule_state("report").keys()


def test_a_tick_that_was_put_off_is_planned_anew_before_it_is_fired_by_whoever_can_read_it(lua: Lua) -> None:
    lua.claim_zones((ZONE, RULES, "2026a", "data")).run()
    put(lua)
    lua.put_off(TICK, "report", TICK, "h1").run()
    assert put(lua, NEXT) == -3
    for instant in (TICK, TICK + 60_000):
        assert lua.fire(TICK + 60_000, "report", instant, NEXT, Task("report:1", TICK)).run()[0] == 3
    assert lua.replan("report", TICK).run() == [1]
    assert lua.replan("report", NEXT).run() == [0]
    assert lua.timetable() == {b"treport": TICK}
    assert lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK)).run()[0] == 1
    assert lua.schedule_state("report")["state"] == "active"


def test_a_tick_that_counts_from_the_end_of_a_run_goes_back_to_where_it_was(lua: Lua) -> None:
    lua.claim_zones((ZONE, RULES, "2026a", "data")).run()
    put(lua)
    lua.put_off(TICK, "report", TICK, "h1").run()
    assert lua.replan("report", "stays").run() == [1]
    assert lua.timetable() == {b"treport": TICK}


def test_the_rules_of_the_newest_release_are_in_force_whoever_comes_first(lua: Lua) -> None:
    old, new = (ZONE, RULES, "2026a", "old"), (ZONE, "f" * 16, "2026b", "new")
    unknown = (ZONE, "e" * 16, "", "who knows")
    assert lua.claim_zones(("Mars/Base", "", "", "")).run() == [-1]
    assert lua.claim_zones(unknown).run() == [1]
    assert lua.claim_zones(old).run() == [2]
    assert lua.claim_zones(old, (ZONE, "", "", "")).run() == [0, [RULES.encode(), b"2026a", b"old"]]
    assert lua.claim_zones(new, old, unknown).run() == [2, *[[b"f" * 16, b"2026b", b"new"]] * 2]


def test_rules_that_a_later_release_has_again_are_of_that_release(lua: Lua) -> None:
    for release in ("2023a", "2023c", "2023a"):
        lua.claim_zones((ZONE, RULES, release, "old")).run()
    assert lua.claim_zones((ZONE, "f" * 16, "2023b", "new")).run() == [[RULES.encode(), b"2023c", b"old"]]


def test_nobody_fires_by_rules_that_are_not_in_force_nor_a_tick_that_was_planned_by_others(lua: Lua) -> None:
    lua.claim_zones((ZONE, RULES, "2026a", "old")).run()
    put(lua)
    assert lua.fire(TICK, "report", TICK, NEXT, Task("report:1", TICK)).run()[0] == 1
    new = "f" * 16
    lua.claim_zones((ZONE, new, "2026b", "new")).run()
    assert lua.fire(NEXT, "report", NEXT, NEXT + 1, Task("report:2", NEXT)).run()[0] == 0
    tick = fired(Task("report:2", NEXT), NEXT)
    call = lua.fire_all(NEXT, "report", NEXT, NEXT + 1, tick, rules=new)
    assert call.run()[0] == 3
    assert lua.put_schedule("report", NEXT, "h2").run() == [-4]
    assert lua.replan("report", NEXT - 9).run() == [0]
    assert lua.replan("report", NEXT - 9, rules=new).run() == [1]
    assert lua.timetable()[b"treport"] == NEXT - 9
    assert call.run()[0] == 0
    assert lua.counts() == {"ready": 1}


def test_what_was_put_or_resumed_by_other_rules_is_planned_anew_before_its_first_tick(lua: Lua) -> None:
    lua.claim_zones((ZONE, RULES, "2026a", "old")).run()
    put(lua)
    new = "f" * 16
    lua.claim_zones((ZONE, new, "2026b", "new")).run()
    tick = lua.fire_all(TICK, "report", TICK, NEXT, fired(Task("report:1", TICK), TICK), rules=new)
    assert tick.run()[0] == 3
    lua.client.hdel(lua.keys.schedule("report"), "rules")
    assert tick.run()[0] == 3
    lua.pause(TICK, "report").run()
    assert lua.resume(TICK, "report", NEXT, (TICK, TICK, 1)).run() == -2
    assert lua.schedule_state("report")["state"] == "paused"
    assert lua.resume(TICK, "report", NEXT, (TICK, TICK, 1), rules=new).run() == 1
    assert lua.schedule_state("report")["rules"] == new
    assert lua.schedule_state("report")["wall"] == f"7 {ZONE}"
    call = lua.fire_all(NEXT, "report", NEXT, NEXT + 1, fired(Task("report:1", NEXT), NEXT), rules=new)
    assert call.run()[0] == 1
