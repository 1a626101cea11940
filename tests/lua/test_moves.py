"""hand_over, arrive: a schedule leaves one shard and stands in another, without a tick in either until it is put."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lua.instants import NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Task

TICK, LATER = NOW + 1000, NOW + 61_000


def fields(told: list[Any]) -> dict[str, str]:
    flat = [text.decode() for text in told[2]]
    return dict(zip(flat[::2], flat[1::2], strict=True))


def test_what_is_handed_over_has_no_tick_and_the_repeated_call_answers_the_same(lua: Lua) -> None:
    lua.put_schedule("report", TICK).run()
    lua.fire(TICK, "report", TICK, LATER, Task("report:1", TICK)).run()
    told = lua.hand_over("report", now=TICK).run()
    assert told[0] == 1
    assert (fields(told)["was"], fields(told)["moved"]) == ("active", str(TICK))
    assert len(told[3]) == 1
    assert b"treport" not in lua.timetable()
    again = lua.hand_over("report", now=TICK + 5).run()
    assert fields(again) == fields(told)
    assert (again[1], again[3]) == (told[1], told[3])


@pytest.mark.parametrize("left", [False, True])
def test_a_tick_that_the_end_of_a_run_has_put_goes_along_whatever_an_older_oncue_has_left_there(
    lua: Lua, left: bool
) -> None:
    lua.put_schedule("report", TICK, every=60_000).run()
    lua.fire(TICK, "report", TICK, None, Task("report:1", TICK), every=60_000).run()
    lua.complete(TICK + 5, *lua.take_all(TICK)).run()
    if left:
        lua.client.hset(lua.keys.schedule("report"), "planned", TICK)
    told = lua.hand_over("report", now=TICK + 10).run()
    assert (told[0], fields(told)["planned"]) == (1, str(TICK + 60_005))


def test_what_is_due_is_to_be_fired_before_it_is_handed_over(lua: Lua) -> None:
    lua.put_schedule("report", TICK).run()
    assert lua.hand_over("report", now=TICK).run() == [-3]
    lua.pause(NOW, "report").run()
    assert lua.hand_over("report", now=TICK).run() == [-3]
    assert lua.hand_over("report", now=TICK - 1).run()[0] == 1


def test_what_nobody_could_read_takes_its_tick_along(lua: Lua) -> None:
    lua.put_schedule("report", TICK).run()
    lua.put_off(TICK, "report", TICK, "h1").run()
    told = lua.hand_over("report", now=LATER + 60_000).run()
    assert (told[0], fields(told)["moved"], fields(told)["was"]) == (1, str(TICK - 1), "active")
    assert b"treport" not in lua.timetable()


def test_what_is_edited_removed_or_of_a_newer_file_stays(lua: Lua) -> None:
    assert lua.hand_over("report").run() == [0]
    lua.put_schedule("report", TICK, "h1").run()
    assert lua.hand_over("report", "h2").run() == [0]
    assert lua.hand_over("report", "h1", file="f", revision="r1").run() == [-2]
    lua.remove_schedule("report").run()
    assert lua.hand_over("report").run() == [0]


def test_it_arrives_once_and_goes_on_when_it_is_put(lua: Lua) -> None:
    mark = {"state": "invalid", "was": "paused", "by": "ada", "moved": str(NOW), "fired": "3"}
    assert lua.arrive("report", b"h1{}", mark, b'{"what":"fired"}').run() == 1
    assert lua.arrive("report", b"h1{}", mark, b'{"what":"fired"}').run() == 1
    assert lua.length(lua.keys.history("report")) == 1
    assert lua.put_schedule("report", TICK, "h2").run() == [2]
    found = lua.client.hgetall(lua.keys.schedule("report"))
    assert (found[b"state"], found[b"by"], found[b"fired"]) == (b"paused", b"ada", b"3")
    assert found.keys().isdisjoint({b"moved", b"was", b"reason"})


def test_what_an_older_move_has_left_does_not_keep_out_what_arrives_now(lua: Lua) -> None:
    old, new = (
        {"state": "invalid", "was": "active", "moved": str(at), "fired": str(at)} for at in (NOW, LATER)
    )
    assert lua.arrive("report", b"h1{}", old, b'{"what":"fired"}').run() == 1
    assert lua.arrive("report", b"h2{}", new).run() == 1
    assert lua.schedule_state("report")["fired"] == str(LATER)
    assert lua.length(lua.keys.history("report")) == 0
    assert lua.arrive("report", b"h1{}", old).run() == -1
    lua.put_schedule("report", TICK, "h3").run()
    assert lua.arrive("report", b"h2{}", new).run() == 0


def test_what_was_put_here_and_is_gone_since_does_not_arrive_by_the_same_mark_again(lua: Lua) -> None:
    mark = {"state": "invalid", "was": "active", "moved": str(NOW)}
    slow = lua.arrive("report", b"h1{}", mark)
    assert lua.arrive("report", b"h1{}", mark).run() == 1
    lua.put_schedule("report", TICK).run()
    lua.remove_schedule("report").run()
    assert slow.run() == -1
    lua.remove_schedule("report", for_good=True).run()
    assert slow.run() == -1
    assert lua.client.hgetall(lua.keys.schedules) == {}
    assert lua.arrive("report", b"h1{}", mark | {"moved": str(NOW + 1)}).run() == 1


def test_only_what_a_move_has_left_behind_is_forgotten(lua: Lua) -> None:
    lua.put_schedule("report", TICK).run()
    assert lua.remove_schedule("report", for_good=True, moved=str(NOW)).run() == 0
    lua.hand_over("report", now=NOW).run()
    assert lua.remove_schedule("report", for_good=True, moved=str(NOW + 1)).run() == 0
    assert lua.remove_schedule("report", for_good=True, moved=str(NOW)).run() == 1
    assert lua.client.hgetall(lua.keys.schedules) == {}


def test_what_is_on_its_way_leaves_a_note_of_what_became_of_it(lua: Lua) -> None:
    lua.put_schedule("report", TICK).run()
    lua.remove_schedule("report", for_good=True).run()
    assert lua.client.hget(lua.keys.revisions, "~report") is None
    ways: list[dict[str, Any]] = [{}, {"for_good": True}, {"for_good": True, "moved": "mark", "home": "3"}]
    marks = []
    for options in ways:
        lua.put_schedule("report", TICK).run()
        mark = fields(lua.hand_over("report", now=NOW).run())["moved"]
        marks.append(int(mark))
        told: dict[str, Any] = options | ({"moved": mark} if "moved" in options else {})
        assert [lua.remove_schedule("report", **told).run() for _ in range(2)] == [1, 0]
        assert lua.client.hget(lua.keys.revisions, "~report") == f"{mark} {told.get('home', '')}".encode()
    assert marks == [NOW, NOW + 1, NOW + 2], "no two marks are the same"
    lua.put_schedule("report", TICK).run()
    lua.hand_over("report", now=LATER - 70_000).run()
    lua.put_schedule("report", TICK).run()
    assert lua.client.hget(lua.keys.revisions, "~report") == f"{LATER - 70_000} ".encode()


def test_notes_of_moves_are_forgotten_before_revisions(lua: Lua) -> None:
    lua.client.hset(lua.keys.revisions, mapping={f"~{at}": f"{NOW} 1" for at in range(1000)})
    for revision in ("r1", "r2"):
        assert lua.claim_revision("f", revision).run()[0] == 1
    assert lua.claim_revision("f", "r1").run()[0] == -1
    assert lua.client.hlen(lua.keys.revisions) < 600
