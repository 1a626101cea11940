"""reschedule: a waiting task gets another due time wherever it stands; its old entry is left behind and never runs."""

from __future__ import annotations

import pytest

from oncue.common.keys import page_of
from tests.lua.audit import audit
from tests.lua.instants import LEASE, NOW, far, opening
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Task, tasks

DUE = NOW + 1000
FAR = far()
PLACES = {"ready": NOW, "lone": DUE, "page": FAR, "same page": FAR + 5, "other page": FAR + 60_000}


def finish_all(lua: Lua, now: int) -> list[str]:
    """Lets time pass to `now` and completes what is ready; the ids."""
    for member in lua.timetable():
        if member[:1] == b"p" and opening((int(member[1:])) * 60_000) <= now:
            lua.open_whole_page(now, int(member[1:]))
    lua.promote_due(now)
    held = lua.take_all(now)
    lua.complete(now, *held).run()
    return sorted(task.id for task in held)


@pytest.mark.parametrize("to", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("start", PLACES.values(), ids=PLACES)
def test_a_task_moves_from_any_place_to_any_other_and_runs_once_and_then(
    lua: Lua, start: int, to: int
) -> None:
    lua.schedule(NOW, Task("a", start), Task("stays", start)).run()
    assert lua.reschedule(NOW, to, Task("a", start)).run() == [b"moved"]
    audit(lua, NOW)
    (found,) = lua.locate(NOW, "a").run()
    assert found[1] == to
    assert "a" not in finish_all(lua, to - 1) or to <= NOW
    finish_all(lua, max(start, to) + 60_000)
    assert lua.counts() == {"done": 2}


@pytest.mark.parametrize("to", [NOW, DUE, DUE + 7, FAR], ids=["ready", "same bucket", "lone", "page"])
def test_a_task_in_a_bucket_or_segment_moves(lua: Lua, to: int) -> None:
    same = tasks(MANY + 20, DUE)
    lua.schedule(NOW, *same).run()
    assert lua.reschedule(NOW, to, same[-1], same[0]).run() == [b"moved"] * 2
    audit(lua, NOW)
    lua.promote_due(DUE)
    assert lua.reschedule(DUE, DUE + 90, same[-2]).run() == [b"moved"]
    finish_all(lua, FAR + 60_000)
    assert lua.counts() == {"done": len(same)}


def test_a_retry_that_waits_moves_and_keeps_its_counters(lua: Lua) -> None:
    held = lua.one("a")
    lua.retry(NOW, DUE, held).run()
    assert lua.reschedule_wherever(NOW, "a", DUE + 5) == "moved"
    lua.promote_due(DUE)
    assert lua.take_all(DUE) == []
    lua.promote_due(DUE + 5)
    (again,) = lua.take_all(DUE + 5)
    assert (again.failed, again.due) == (1, DUE + 5)


def test_what_runs_or_has_ended_stays_as_it_is(lua: Lua) -> None:
    lua.one("running")
    lua.complete(NOW, lua.one("done")).run()
    lua.bury(NOW, lua.one("dead")).run()
    lua.schedule(NOW, Task("gone")).run()
    lua.cancel(NOW, Task("gone")).run()
    before = lua.counts()
    ids = [Task(name) for name in ("running", "done", "dead", "gone", "never")]
    assert lua.reschedule(NOW, DUE, *ids).run() == [b"leased", b"done", b"dead", b"cancelled", b"unknown"]
    assert lua.counts() == before


@pytest.mark.parametrize(
    "guess", [Task("a", DUE + 1), Task("a", DUE, "other"), Task("a", DUE, "q", 4), Task("a", FAR)]
)
def test_a_wrong_guess_is_answered_with_the_truth_and_changes_nothing(lua: Lua, guess: Task) -> None:
    lua.schedule(NOW, Task("a", DUE)).run()
    before = lua.timetable()
    assert lua.reschedule(NOW, FAR, guess).run() == [Task("a", DUE).bucket]
    assert lua.timetable() == before


def test_a_task_whose_page_ought_to_be_open_has_it_opened_first(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", FAR)).run()
    now = opening(FAR)
    assert lua.reschedule(now, now, Task("a", FAR)).run() == [b"p%d" % page_of(FAR)]
    assert lua.reschedule_wherever(now, "a", now) == "moved"
    assert [task.id for task in lua.take_all(now)] == ["a"]


def test_pushing_one_task_ahead_many_times_leaves_no_trail(lua: Lua) -> None:
    for start, step in ((FAR, 0), (FAR, 1), (DUE, 0), (DUE, 1)):
        mine = tasks(20, start, prefix=f"{start}.{step}.")
        lua.schedule(NOW, *mine).run()
        for n in range(300):
            assert lua.reschedule_wherever(NOW, mine[3].id, start + n % 100 * step) == "moved"
        audit(lua, NOW)
        lists = [name for name in lua.names() if name.startswith((b"page:", b"bucket:"))]
        assert sum(lua.length(lua.keys.prefix + name) for name in lists) <= 60
        for task in mine:
            lua.cancel_wherever(NOW, task.id)


def test_a_released_task_moves_and_its_lease_is_gone(lua: Lua) -> None:
    held = lua.one("a")
    lua.release(NOW, held).run()
    assert lua.reschedule_wherever(NOW, "a", DUE) == "moved"
    assert lua.take_all(NOW) == []
    lua.promote_due(DUE + LEASE)
    assert [task.id for task in lua.take_all(DUE + LEASE)] == ["a"]
