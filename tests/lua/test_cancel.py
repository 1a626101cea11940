"""cancel and locate: a waiting task is found and taken out wherever it waits, and its memory comes back."""

from __future__ import annotations

import pytest

from oncue.common.keys import page_of
from tests.lua.audit import audit, leftovers
from tests.lua.instants import KEEP, LEASE, NOW, far, opening
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Task, tasks

DUE = NOW + 1000
FAR = far()
PAGE = page_of(FAR)
LONE = 8


def forget(lua: Lua, now: int) -> None:
    lua.sweep(now + KEEP + 5000, 100_000).run()


@pytest.mark.parametrize("due", [NOW, DUE, FAR], ids=["ready", "lone", "page"])
def test_a_waiting_task_is_cancelled_and_never_runs(lua: Lua, due: int) -> None:
    task = Task("a", due)
    lua.schedule(NOW, task).run()
    assert lua.cancel(NOW, task).run() == [b"cancelled"]
    assert lua.cancel(NOW, task).run() == [b"cancelled"]
    assert lua.states(NOW, "a") == ["cancelled"]
    assert lua.counts() == {"cancelled": 1}
    lua.promote_due(due)
    assert lua.take_all(due) == []
    forget(lua, due)
    assert leftovers(lua) == set()
    assert lua.states(NOW, "a") == ["unknown"]


def test_a_task_in_a_bucket_or_segment_is_cancelled(lua: Lua) -> None:
    same = tasks(LONE + MANY + 2, DUE)
    lua.schedule(NOW, *same).run()
    assert lua.cancel(NOW, same[-1]).run() == [b"cancelled"]
    assert lua.client.hgetall(lua.keys.stale) == {same[0].bucket: b"1"}
    lua.promote_due(DUE)
    assert lua.cancel(DUE, same[-2]).run() == [b"cancelled"]
    assert lua.counts() == {"ready": LONE + MANY, "cancelled": 2}
    assert len(lua.take_all(DUE)) == LONE + MANY


def test_what_runs_or_has_ended_is_not_cancelled(lua: Lua) -> None:
    running = lua.one("running")
    lua.complete(NOW, lua.one("done")).run()
    lua.bury(NOW, lua.one("dead")).run()
    before = lua.counts()
    ids = [Task("running"), Task("done"), Task("dead"), Task("never")]
    assert lua.cancel(NOW, *ids).run() == [b"leased", b"done", b"dead", b"unknown"]
    assert lua.counts() == before
    assert lua.complete(NOW, running).run() == [1]


@pytest.mark.parametrize(
    "guess", [Task("a", DUE + 1), Task("a", DUE, "other"), Task("a", DUE, "q", 4), Task("a", FAR)]
)
def test_a_wrong_guess_is_answered_with_the_truth_and_changes_nothing(lua: Lua, guess: Task) -> None:
    lua.schedule(NOW, Task("a", DUE)).run()
    assert lua.cancel(NOW, guess).run() == [b"=%d:5:q" % DUE]
    assert lua.counts() == {"delayed": 1}
    assert lua.cancel_wherever(NOW, "a") == "cancelled"


def test_a_task_whose_page_ought_to_be_open_has_it_opened_first(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", FAR), Task("b", FAR)).run()
    at = opening(FAR)
    assert lua.cancel(at, Task("a", FAR)).run() == [b"p%d" % PAGE]
    assert lua.counts() == {"delayed": 2}
    assert lua.cancel_wherever(at, "a") == "cancelled"
    assert lua.counts() == {"delayed": 1, "cancelled": 1}


def test_a_page_half_opened_by_a_clock_ahead_is_opened_whole_first(lua: Lua) -> None:
    same = tasks(60, FAR)
    lua.schedule(NOW, *same).run()
    lua.open_page(NOW, PAGE, same[0].bucket, most=30).run()
    for task in (same[0], same[29], same[59]):
        assert lua.cancel_wherever(NOW, task.id) == "cancelled"
    assert lua.counts() == {"delayed": 57, "cancelled": 3}


def test_a_retried_task_is_cancelled_by_its_new_due_time(lua: Lua) -> None:
    lua.retry(NOW, DUE, lua.one("a")).run()
    assert lua.cancel(NOW, Task("a", NOW)).run() == [b"=%d:5:q" % DUE]
    assert lua.cancel(NOW, Task("a", DUE)).run() == [b"cancelled"]
    assert lua.counts() == {"cancelled": 1}
    lua.client.delete(lua.keys.errors)


def test_cancelling_a_task_that_had_failed_forgets_its_error(lua: Lua) -> None:
    lua.retry(NOW, DUE, lua.one("a")).run()
    lua.cancel(NOW, Task("a", DUE)).run()
    assert lua.client.hkeys(lua.keys.errors) == []


def test_an_answer_that_comes_after_a_cancel_changes_nothing(lua: Lua) -> None:
    held = lua.one("a")
    lua.release(NOW, held).run()
    lua.cancel(NOW, Task("a")).run()
    assert lua.complete(NOW, held).run() == [0]
    # It cannot be told from a repeated call whose task has been cancelled since.
    assert lua.retry(NOW, DUE, held).run() == [1]
    assert lua.counts() == {"cancelled": 1}


@pytest.mark.parametrize("due", [DUE, FAR], ids=["bucket", "page"])
@pytest.mark.parametrize("order", ["forward", "backward", "inside out"])
def test_cancelling_all_gives_the_list_back_and_keeps_it_short_on_the_way(
    lua: Lua, due: int, order: str
) -> None:
    same = tasks(400, due)
    lua.schedule(NOW, *same).run()
    ordered = {
        "forward": same,
        "backward": same[::-1],
        "inside out": sorted(same, key=lambda task: abs(int(task.id[1:]) - 200)),
    }[order]
    key = lua.keys.page(PAGE) if due == FAR else lua.keys.segment(same[0].bucket)
    for n, task in enumerate(ordered, 1):
        assert lua.cancel(NOW, task).run() == [b"cancelled"]
        assert lua.length(key) <= 2 * (400 - n) + LONE
        if n % 50 == 0:
            audit(lua)
    assert lua.counts() == {"cancelled": 400}
    forget(lua, NOW)
    assert leftovers(lua) == set()


def test_a_late_task_of_an_instant_whose_bucket_still_waits_costs_the_bucket_nothing(lua: Lua) -> None:
    """No scheduler ran at the due time; a task that came later is ready, beside the bucket of the same instant."""
    same = tasks(LONE + 1, DUE)
    lua.schedule(NOW, *same).run()
    late = Task("late", DUE)
    lua.schedule(DUE + 1, late).run()
    assert lua.cancel(DUE + 1, late).run() == [b"cancelled"]
    assert sum(lua.counts().values()) == LONE + 2
    lua.promote_due(DUE + 1)
    assert lua.counts() == {"ready": LONE + 1, "cancelled": 1}
    assert sorted(held.id for held in lua.take_all(DUE + 1)) == sorted(task.id for task in same)


@pytest.mark.parametrize("late", [1, 5, 12])
def test_counts_add_up_when_the_bucket_vanishes_beside_late_tasks(lua: Lua, late: int) -> None:
    same = tasks(LONE + 3, DUE)
    lua.schedule(NOW, *same).run()
    ready = tasks(late + 1, DUE, prefix="late")
    lua.schedule(DUE + 1, *ready).run()
    assert lua.cancel(DUE + 1, *ready[1:], *same[LONE:]).run() == [b"cancelled"] * (late + 3)
    assert sum(lua.counts().values()) == LONE + 4 + late
    lua.promote_due(DUE + 1)
    assert lua.counts() == {"ready": LONE + 1, "cancelled": late + 3}
    assert len(lua.take_all(DUE + 1)) == LONE + 1


def test_a_reclaimed_task_of_an_instant_whose_bucket_still_waits_costs_the_bucket_nothing(lua: Lua) -> None:
    """The bucket was not declared when the lone tasks of its instant were promoted."""
    same = tasks(LONE + 2, DUE)
    lua.schedule(NOW, *same).run()
    lua.promote(DUE).run()
    held = lua.take(DUE, most=1).tasks[0]
    lua.reclaim(DUE + LEASE, held.lease).run()
    assert lua.cancel(DUE + LEASE, *same[:LONE]).run() == [b"cancelled"] * LONE
    lua.promote_due(DUE + LEASE)
    assert lua.counts() == {"ready": 2, "cancelled": LONE}
    assert [task.id for task in lua.take_all(DUE + LEASE)] == ["t8", "t9"]


def test_an_id_may_be_cancelled_and_used_again_many_times(lua: Lua) -> None:
    for n in range(30):
        task = Task("a", FAR, nonce=b"%08d" % n)
        assert lua.schedule(NOW, task).run() == [1]
        assert lua.cancel(NOW, task).run() == [b"cancelled"]
    assert lua.counts() == {"cancelled": 30}
    assert lua.length(lua.keys.page(PAGE)) == 0
    forget(lua, NOW)
    assert leftovers(lua) == set()


def test_a_cancelled_task_is_not_run_by_the_repeated_schedule_call(lua: Lua) -> None:
    call = lua.schedule(NOW, Task("a", DUE))
    call.run()
    lua.cancel(NOW, Task("a", DUE)).run()
    assert call.run() == [0]
    assert lua.counts() == {"cancelled": 1}


def test_locate_knows_every_state_and_writes_nothing(lua: Lua) -> None:
    lua.one("leased")
    lua.complete(NOW, lua.one("done")).run()
    lua.bury(NOW, lua.one("dead")).run()
    lua.schedule(NOW, Task("ready"), Task("lone", DUE), Task("page", FAR), Task("gone", DUE)).run()
    lua.cancel(NOW, Task("gone", DUE)).run()
    before = lua.names(), lua.timetable()
    ids = ["leased", "done", "dead", "ready", "lone", "page", "gone", "never"]
    assert lua.states(NOW, *ids) == [
        "leased",
        "done",
        "dead",
        "ready",
        "delayed",
        "delayed",
        "cancelled",
        "unknown",
    ]
    assert (lua.names(), lua.timetable()) == before
    done, gone = lua.locate(NOW, "done", "gone", whole=True).run()
    assert done == [b"done", NOW + KEEP, 0, b"", 1, 0, 0, b"", b"", b"", 0]
    assert gone == [b"cancelled", NOW + KEEP, 0, b"", 0, 0, 0, b"", b"", b"", 0]


def test_locate_leaves_records_and_errors_out_unless_asked(lua: Lua) -> None:
    lua.retry(NOW, DUE, lua.one("a"), error='{"type":"Boom"}').run()
    (brief,), (whole,) = lua.locate(NOW, "a").run(), lua.locate(NOW, "a", whole=True).run()
    assert brief[:7] == whole[:7] == [b"delayed", DUE, 5, b"q", 1, 1, 0]
    assert brief[7:] == [b"", b"", b"", 0]
    assert whole[8] == b'{"type":"Boom"}'


@pytest.mark.parametrize("live", [0, 1])
def test_ready_tasks_that_are_cancelled_at_once_leave_nothing(lua: Lua, live: int) -> None:
    for n in range(live):
        lua.schedule(NOW, Task(f"live{n}", NOW)).run()
    for n in range(200):
        task = Task(f"t{n}", NOW)
        lua.schedule(NOW, task).run()
        assert lua.cancel(NOW, task).run() == [b"cancelled"]
    assert lua.client.llen(lua.keys.ready("q", 5)) == live


def test_ready_tasks_that_are_asked_to_be_ready_stay_where_they_are(lua: Lua) -> None:
    task = Task("a", NOW)
    lua.schedule(NOW, task).run()
    for _ in range(50):
        assert lua.reschedule(NOW, NOW, task).run() == [b"moved"]
    assert lua.client.llen(lua.keys.ready("q", 5)) == 1


def test_ready_tasks_that_are_cancelled_one_behind_the_other_leave_nothing(lua: Lua) -> None:
    lua.schedule(NOW, Task("t0", NOW)).run()
    for n in range(100):
        lua.schedule(NOW, Task(f"t{n + 1}", NOW)).run()
        assert lua.cancel(NOW, Task(f"t{n}", NOW)).run() == [b"cancelled"]
    assert lua.client.llen(lua.keys.ready("q", 5)) == 1
