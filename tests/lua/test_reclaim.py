"""reclaim, guard, sweep: what schedulers look after when a lease, a wake token's time or a memory ends."""

from __future__ import annotations

import pytest

from tests.lua.audit import leftovers
from tests.lua.calls import head
from tests.lua.instants import KEEP, LEASE, NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Task, tasks

ENDED = NOW + LEASE


def test_a_task_whose_lease_has_ended_is_ready_again_and_not_before(lua: Lua) -> None:
    held = lua.one("a")
    call = lua.reclaim(ENDED - 1, held.lease)
    assert head(call.run()) == [(held.lease, ENDED)]
    assert lua.counts() == {"leased": 1}
    lua.reclaim(ENDED, held.lease).run()
    assert lua.counts() == {"ready": 1}
    assert lua.length(lua.keys.wake("q")) == 1
    assert [(task.attempts, task.lost) for task in lua.take_all(ENDED)] == [(1, 1)]


def test_a_reclaimed_task_goes_before_those_that_wait(lua: Lua) -> None:
    held = lua.one("a")
    lua.schedule(NOW, Task("b")).run()
    lua.reclaim(ENDED, held.lease).run()
    assert [task.id for task in lua.take_all(ENDED)] == ["a", "b"]


def test_a_second_scheduler_reclaims_nothing_more(lua: Lua) -> None:
    call = lua.reclaim(ENDED, lua.one("a").lease)
    assert call.run() == call.run()
    assert lua.counts() == {"ready": 1}
    assert len(lua.take_all(ENDED)) == 1


def test_a_renewed_lease_is_left_alone(lua: Lua) -> None:
    held = lua.one("a")
    lua.renew(NOW + 1, held).run()
    lua.reclaim(ENDED, held.lease).run()
    assert lua.counts() == {"leased": 1}


def test_a_lease_that_was_answered_meanwhile_is_left_alone(lua: Lua) -> None:
    held = lua.one("a")
    lua.complete(NOW, held).run()
    lua.reclaim(ENDED, held.lease).run()
    assert lua.counts() == {"done": 1}


def test_a_late_answer_before_anybody_reclaims_still_counts(lua: Lua) -> None:
    held = lua.one("a")
    assert lua.complete(ENDED + 5, held).run() == [1]
    lua.reclaim(ENDED + 5, held.lease).run()
    assert lua.counts() == {"done": 1}


@pytest.mark.parametrize("allowed", [0, 2])
def test_a_task_that_was_lost_too_often_is_buried(lua: Lua, allowed: int) -> None:
    lua.schedule(NOW, Task("a")).run()
    now = NOW
    for _ in range(allowed + 1):
        (held,) = lua.take_all(now)
        now += LEASE
        lua.reclaim(now, held.lease, allowed=allowed).run()
    assert lua.counts() == {"dead": 1}
    (found,) = lua.locate(now, "a", whole=True).run()
    assert found[0] == b"dead"
    assert found[4:7] == [allowed + 1, 0, allowed + 1]
    assert found[8] == b'{"type":"Lost"}'
    assert lua.client.zscore(lua.keys.dead, "a") == now


def test_leases_of_several_queues_and_bands_are_reclaimed_in_one_call(lua: Lua) -> None:
    lua.schedule(NOW, Task("a"), Task("b:c", NOW, "x", 9), Task("d", NOW, "7up", 0)).run()
    held = lua.take_all(NOW, Asked("q"), Asked("x"), Asked("7up"))
    lua.reclaim(ENDED, *(task.lease for task in held)).run()
    assert lua.counts() == lua.counts("x") == lua.counts("7up") == {"ready": 1}
    assert len(lua.take_all(ENDED, Asked("q"), Asked("x"), Asked("7up"))) == 3


def test_a_guard_replaces_a_token_that_somebody_died_with(lua: Lua) -> None:
    lua.schedule(NOW, Task("a")).run()
    lua.client.lpop(lua.keys.wake("q"))
    call = lua.guard(NOW + 499, "q")
    call.run()
    assert lua.length(lua.keys.wake("q")) == 0
    assert head(lua.guard(NOW + 500, "q").run()) == [(b"gq", NOW + 1000)]
    # Several, since more than one of those that wait may be dead.
    assert lua.length(lua.keys.wake("q")) == 16


def test_a_token_that_lies_in_its_list_needs_no_guard(lua: Lua) -> None:
    lua.schedule(NOW, Task("a")).run()
    assert lua.guard(NOW + 500, "q").run() == []
    assert lua.length(lua.keys.wake("q")) == 1


def test_a_queue_without_ready_tasks_needs_no_guard(lua: Lua) -> None:
    lua.schedule(NOW, Task("a")).run()
    lua.client.lpop(lua.keys.wake("q"))
    lua.cancel(NOW, Task("a")).run()
    lua.guard(NOW + 500, "q").run()
    assert lua.length(lua.keys.wake("q")) == 0
    assert b"gq" not in lua.timetable()


def test_guards_of_several_queues_go_in_one_call(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", NOW, "a"), Task("b", NOW, "b"), Task("c", NOW + 200, "c")).run()
    for queue in "ab":
        lua.client.lpop(lua.keys.wake(queue))
    lua.guard(NOW + 500, "a", "b", "c").run()
    assert [lua.length(lua.keys.wake(queue)) for queue in "abc"] == [16, 16, 0]


def test_finished_tasks_are_forgotten_when_their_time_is_over(lua: Lua) -> None:
    lua.complete(NOW, lua.one("a")).run()
    lua.complete(NOW + 3000, lua.one("b")).run()
    assert head(lua.sweep(NOW + KEEP - 1).run()) == [(b"f", NOW + KEEP)]
    assert lua.states(NOW, "a", "b") == ["done", "done"]
    assert head(lua.sweep(NOW + KEEP).run()) == [(b"f", NOW + KEEP + 5000)]
    assert lua.states(NOW, "a", "b") == ["unknown", "done"]
    assert lua.sweep(NOW + KEEP + 5000).run() == []
    assert leftovers(lua) == set()
    assert lua.counts() == {"done": 2}


def test_one_sweep_forgets_at_most_what_it_was_asked_for_and_says_that_there_is_more(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(5)).run()
    lua.complete(NOW, *lua.take_all(NOW)).run()
    assert head(lua.sweep(NOW + KEEP, 3).run()) == [(b"f", NOW + KEEP)]
    assert lua.length(lua.keys.finished) == 2
    assert lua.sweep(NOW + KEEP, 3).run() == []


def test_an_id_in_use_again_is_not_forgotten(lua: Lua) -> None:
    lua.complete(NOW, lua.one("a", nonce=b"1" * 8)).run()
    held = lua.one("a", nonce=b"2" * 8)
    lua.sweep(NOW + KEEP).run()
    assert lua.states(NOW, "a") == ["leased"]
    lua.complete(NOW + 7, held).run()
    lua.sweep(NOW + KEEP + 6).run()
    assert lua.states(NOW, "a") == ["done"]
    lua.sweep(NOW + KEEP + 7).run()
    assert leftovers(lua) == set()


def test_finishing_wakes_schedulers_once_for_many_tasks(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(20)).run()
    before = len(lua.notified())
    for held in lua.take_all(NOW):
        lua.complete(NOW + 1, held).run()
    assert len(lua.notified()) == before
    assert [member for member in lua.timetable() if member == b"f"] == [b"f"]
