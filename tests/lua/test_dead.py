"""The dead: listed from any place, redriven, purged and kept within bounds; their failures, and the bytes they take."""

from __future__ import annotations

import json

import pytest

from tests.lua.audit import audit, leftovers
from tests.lua.instants import KEEP, LEASE, NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Task

STEP = 5000


def bury(lua: Lua, *ids: str, at: int = NOW, queue: str = "q") -> None:
    for task_id in ids:
        lua.bury(at, lua.one(task_id, queue=queue)).run()


def ids(flat: list[bytes]) -> list[str]:
    return [name.decode() for name in flat[::2]]


def dead(lua: Lua) -> list[str]:
    return ids(lua.list_dead("oldest", 0).run())


def test_failures_are_kept_the_last_first_and_no_more_than_ten(lua: Lua) -> None:
    held = lua.one("a")
    for n in range(14):
        lua.retry(NOW, NOW, held, error=json.dumps({"n": n})).run()
        (held,) = lua.take_all(NOW)
    lua.bury(NOW, held, error=json.dumps({"n": 14})).run()
    lines = lua.client.hget(lua.keys.errors, "a").split(b"\n")
    assert [json.loads(line)["n"] for line in lines] == [*range(14, 4, -1)]


def test_failures_of_many_bytes_are_kept_as_far_as_they_fit(lua: Lua) -> None:
    held = lua.one("a")
    for _ in range(5):
        lua.retry(NOW, NOW, held, error=json.dumps("x" * 30_000)).run()
        (held,) = lua.take_all(NOW)
    assert lua.client.hstrlen(lua.keys.errors, "a") <= 3 * 30_010


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_the_list_goes_on_from_any_place_though_what_was_there_has_gone(lua: Lua, order: str) -> None:
    names = [f"t{n:02}" for n in range(30)]
    for n, name in enumerate(names):
        bury(lua, name, at=NOW + n // 10)
    wanted = names if order == "oldest" else names[::-1]
    instant, last, seen = (0 if order == "oldest" else NOW + 99), "", list[str]()
    while page := lua.list_dead(order, instant, last, most=4).run():
        seen += ids(page)
        last, instant = ids(page)[-1], int(page[-1])
        lua.purge(NOW, last).run()
    assert seen == wanted


def test_a_redriven_task_runs_as_a_new_one_and_a_repeated_call_changes_nothing(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", band=7, data=b"data")).run()
    (held,) = lua.take_all(NOW)
    lua.retry(NOW, NOW, held).run()
    (held,) = lua.take_all(NOW)
    lua.bury(NOW, held).run()
    call = lua.redrive(NOW + 5, Task("a", band=7), into="other")
    assert call.run() == call.run() == [b"ready"]
    assert lua.counts() == {}
    (again,) = lua.take_all(NOW + 5, Asked("other"))
    assert (again.queue, again.band, again.attempts, again.failed, again.due) == ("other", 7, 0, 0, NOW + 5)
    assert lua.redrive(NOW + 9, Task("a", band=7), at=NOW + 5).run() == [b"ready"]
    assert lua.redrive(NOW + 9, Task("a", band=7)).run() == [b"leased"]
    assert lua.complete(NOW + 9, again).run() == [1]
    assert lua.redrive(NOW + 9, Task("a", band=7)).run() == [b"done"]
    lua.sweep(NOW + 9 + KEEP + STEP).run()
    lua.trim(NOW + 9 + KEEP + STEP).run()
    assert leftovers(lua) <= {b"timetable", b"wake:other"}


@pytest.mark.parametrize("claim", [b"", b"uq:key"])
@pytest.mark.parametrize("into", ["q", "longer.name"])
def test_data_and_an_id_of_the_callers_choice_outlive_a_redrive_and_the_end_in_time_does_not(
    lua: Lua, into: str, claim: bytes
) -> None:
    task = Task("a", data=b"data", nonce=b"12345678", expires=NOW + 1, claim=claim)
    lua.schedule(NOW, task).run()
    lua.bury(NOW, *lua.take_all(NOW)).run()
    lua.redrive(NOW + 50, task, into=into).run()
    record = lua.client.hget(lua.keys.records, "a")
    # A key belongs to its queue.
    expected = task._replace(due=NOW + 50, queue=into, expires=0, claim=claim if into == "q" else b"").record
    assert record[:1] + record[5:] == expected[:1] + expected[5:]
    assert len(lua.take_all(NOW + 50, Asked(into))) == 1


def test_only_the_dead_are_redriven_or_purged(lua: Lua) -> None:
    lua.one("leased")
    lua.complete(NOW, lua.one("done")).run()
    lua.schedule(NOW, Task("waits", NOW + 500)).run()
    tasks = [Task(name) for name in ("leased", "done", "waits", "never")]
    answers = [b"leased", b"done", b"waiting", b"unknown"]
    assert lua.redrive(NOW + 1, *tasks).run() == answers
    assert lua.purge(NOW, *(task.id for task in tasks)).run() == [0, 0, 0, 0]


def test_a_wrong_band_is_answered_with_the_true_one(lua: Lua) -> None:
    bury(lua, "a")
    assert lua.redrive(NOW, Task("a", band=3)).run() == [Task("a").bucket]
    assert dead(lua) == ["a"]


def test_a_purged_task_counts_as_cancelled_and_is_forgotten_like_one(lua: Lua) -> None:
    bury(lua, "a")
    assert lua.purge(NOW, "a").run() == lua.purge(NOW + 1, "a").run() == [1]
    (found,) = lua.locate(NOW, "a").run()
    assert (found[0], found[9]) == (b"cancelled", b"purged")
    assert lua.counts() == {"cancelled": 1}
    lua.trim(NOW + STEP).run()
    lua.sweep(NOW + KEEP + STEP).run()
    assert leftovers(lua) <= {b"timetable", b"wake:q"}


def test_burials_make_a_scheduler_look_soon_and_once(lua: Lua) -> None:
    bury(lua, "a", "b", at=NOW + 1)
    assert lua.timetable()[b"d"] == NOW + STEP
    lua.trim(NOW + STEP, age=60_000).run()
    assert lua.timetable()[b"d"] == NOW + 60_000 + STEP
    bury(lua, "c", at=NOW + STEP)
    assert lua.timetable()[b"d"] == NOW + 2 * STEP
    lua.trim(NOW + 2 * STEP).run()
    assert b"d" not in lua.timetable()


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        ({"number": 2}, ["c", "d"]),
        ({"age": 1000}, ["d"]),
        ({"size": 150}, ["b", "c", "d"]),
        ({"number": 9, "age": 9_999_999}, ["a", "b", "c", "d"]),
        ({}, ["a", "b", "c", "d"]),
    ],
)
def test_the_oldest_go_first_beyond_a_bound(lua: Lua, bounds: dict[str, int], left: list[str]) -> None:
    for n, name in enumerate("abcd"):
        bury(lua, name, at=NOW + 1000 * n)
    size = int(lua.client.get(lua.keys.dead_bytes))
    if "size" in bounds:
        bounds = {"size": size - 1}
    lua.trim(NOW + 3500, **bounds).run()
    assert dead(lua) == left
    audit(lua)


def test_a_trim_that_has_not_come_to_its_end_is_due_at_once(lua: Lua) -> None:
    bury(lua, *"abcde")
    lua.trim(NOW + 5000, most=2, number=1).run()
    assert (dead(lua), lua.timetable()[b"d"]) == (["c", "d", "e"], NOW + 5000)
    lua.trim(NOW + 5000, most=9, number=1).run()
    assert (dead(lua), b"d" in lua.timetable()) == (["e"], False)


def test_a_task_that_lost_too_many_leases_says_so_first_and_its_failures_after_that(lua: Lua) -> None:
    held = lua.one("a")
    lua.retry(NOW, NOW, held, error='{"type":"Boom"}').run()
    (held,) = lua.take_all(NOW)
    lua.reclaim(NOW + LEASE, held.lease, allowed=0).run()
    lines = lua.client.hget(lua.keys.errors, "a").split(b"\n")
    assert [json.loads(line)["type"] for line in lines] == ["Lost", "Boom"]
