"""A running task whose cancel is wished is told and ends at once; one that has not begun in time is dropped."""

from __future__ import annotations

import pytest

from tests.lua.audit import leftovers
from tests.lua.calls import Call
from tests.lua.instants import KEEP, LEASE, NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Held, Task

NONCE = b"12345678"


def wished(lua: Lua) -> Held:
    """A leased task whose cancel has come too late."""
    held = lua.one("a")
    assert lua.cancel(NOW, Task("a")).run() == [b"leased"]
    return held


def reason(lua: Lua, now: int, task_id: str = "a") -> tuple[str, str]:
    (found,) = lua.locate(now, task_id).run()
    return found[0].decode(), found[9].decode()


def nothing_is_left(lua: Lua, now: int) -> None:
    lua.sweep(now + KEEP + 5000).run()
    assert leftovers(lua) - {b"timetable", b"wake:q"} == set()


def test_the_next_renewal_brings_the_wish(lua: Lua) -> None:
    held = wished(lua)
    other = lua.one("b")
    assert lua.renew(NOW + 1, held, other).run() == [2, 1]
    assert reason(lua, NOW) == ("leased", "cancel wished")
    assert lua.cancel(NOW + 1, Task("a")).run() == [b"leased"]


def test_a_task_that_ends_well_in_spite_of_the_wish_is_done(lua: Lua) -> None:
    held = wished(lua)
    assert lua.complete(NOW, held).run() == [1]
    assert reason(lua, NOW) == ("done", "")


def gone_wrong(lua: Lua, held: Held) -> dict[str, Call]:
    """How a task comes out of its worker's hand without having ended."""
    return {
        "failed": lua.retry(NOW + LEASE, NOW + 3_600_000, held),
        "failed, to be tried at once": lua.retry(NOW + LEASE, NOW, held),
        "snoozed": lua.retry(NOW + LEASE, NOW + 3_600_000, held, counted="nothing"),
        "released": lua.release(NOW + LEASE, held),
        "lost": lua.reclaim(NOW + LEASE, held.lease),
        "lost too often": lua.reclaim(NOW + LEASE, held.lease, allowed=0),
    }


HOW = ["failed", "failed, to be tried at once", "snoozed", "released", "lost", "lost too often"]


@pytest.mark.parametrize("how", HOW)
def test_a_task_that_would_run_again_is_cancelled_at_once(lua: Lua, how: str) -> None:
    held = wished(lua)
    call, now = gone_wrong(lua, held)[how], NOW + LEASE
    first = call.run()
    assert reason(lua, now) == ("cancelled", "")
    assert lua.counts() == {"cancelled": 1}
    assert call.run() == first
    assert lua.cancel_wherever(now, "a") == "cancelled"
    assert lua.reschedule_wherever(now, "a", now) == "cancelled"
    assert lua.take_all(now) == []
    nothing_is_left(lua, now)


def test_the_holder_of_a_lost_lease_is_told_so_though_its_task_is_cancelled(lua: Lua) -> None:
    held = wished(lua)
    lua.reclaim(NOW + LEASE, held.lease).run()
    assert lua.retry(NOW + LEASE, NOW, held).run() == [0]
    assert lua.abandon(NOW + LEASE, held).run() == [0]


@pytest.mark.parametrize("how", HOW)
def test_what_waits_for_the_end_of_a_task_whose_cancel_is_wished_need_not_wait_for_its_next_run(
    lua: Lua, how: str
) -> None:
    lua.put_schedule("report", NOW).run()
    lua.trigger(NOW, "report", Task("a")).run()
    (held,) = lua.take_all(NOW)
    assert lua.trigger(NOW, "report", Task("b")).run() == [b"blocked"]
    lua.cancel_wherever(NOW, "a")
    gone_wrong(lua, held)[how].run()
    lua.promote_due(NOW + LEASE)
    assert [task.id for task in lua.take_all(NOW + LEASE)] == ["b"]


def test_a_running_task_is_not_moved_whether_its_cancel_is_wished_or_not(lua: Lua) -> None:
    wished(lua)
    lua.one("b")
    assert lua.reschedule(NOW, NOW, Task("a"), Task("b")).run() == [b"leased"] * 2


@pytest.mark.parametrize("to", [NOW + 11, NOW + 3_600_000])
def test_a_task_is_not_moved_beyond_its_end_in_time(lua: Lua, to: int) -> None:
    expiring(lua, NOW + 10)
    assert lua.reschedule_wherever(NOW, "a", to) == f"expires:{NOW + 10}"
    assert lua.reschedule_wherever(NOW, "a", NOW + 10) == "moved"
    lua.promote_due(NOW + 10)
    (held,) = lua.take_all(NOW + 10)
    lua.retry(NOW + 10, NOW + 20, held).run()
    assert lua.reschedule_wherever(NOW + 10, "a", to) == "moved"


def test_a_task_that_fails_for_good_in_spite_of_the_wish_is_dead(lua: Lua) -> None:
    lua.bury(NOW, wished(lua)).run()
    assert reason(lua, NOW) == ("dead", "")


def expiring(lua: Lua, expires: int, due: int = NOW) -> None:
    lua.schedule(NOW, Task("a", due, nonce=NONCE, expires=expires)).run()


def test_what_has_not_begun_in_time_is_dropped_and_counted(lua: Lua) -> None:
    expiring(lua, NOW + 10)
    assert lua.take_all(NOW + 11) == []
    assert reason(lua, NOW + 11) == ("cancelled", "expired")
    assert lua.counts() == {"cancelled": 1, "expired": 1}
    assert lua.cancel(NOW + 11, Task("a")).run() == [b"cancelled"]
    nothing_is_left(lua, NOW + 11)


def test_what_begins_in_the_last_moment_runs_and_may_be_retried_later(lua: Lua) -> None:
    expiring(lua, NOW + 10)
    (held,) = lua.take_all(NOW + 10)
    lua.retry(NOW + 20, NOW + 20, held).run()
    (again,) = lua.take_all(NOW + 20)
    assert lua.complete(NOW + 20, again).run() == [1]


def test_what_was_only_released_has_not_begun(lua: Lua) -> None:
    expiring(lua, NOW + 10)
    (held,) = lua.take_all(NOW)
    lua.release(NOW, held).run()
    assert lua.take_all(NOW + 11) == []
    assert lua.counts() == {"cancelled": 1, "expired": 1}


def test_the_repeated_call_of_an_expired_task_changes_nothing(lua: Lua) -> None:
    expiring(lua, NOW + 10)
    lua.take_all(NOW + 11)
    call = lua.schedule(NOW + 12, Task("a", NOW, nonce=NONCE, expires=NOW + 10))
    assert call.run() == [0]
    assert lua.take_all(NOW + 12) == []


def test_expired_tasks_do_not_hide_those_behind_them(lua: Lua) -> None:
    for n in range(300):
        lua.schedule(NOW, Task(f"e{n}", NOW, nonce=NONCE, expires=NOW + 1)).run()
    lua.schedule(NOW, Task("lives")).run()
    assert [task.id for task in lua.take_all(NOW + 2, most=10)] == ["lives"]
    assert lua.counts() == {"cancelled": 300, "expired": 300, "leased": 1}


def test_a_renewal_never_makes_a_lease_shorter(lua: Lua) -> None:
    held = lua.one("a")
    assert lua.renew(NOW, held, lease=90_000).run() == [1]
    assert lua.renew(NOW + 1, held).run() == [1]
    assert lua.timetable()[held.lease] == NOW + 90_000
