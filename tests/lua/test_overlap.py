"""fire, trigger and what follows the end of a run: a tick is skipped, waits in line, or takes the place of another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lua.audit import audit
from tests.lua.instants import KEEP, LEASE, NOW
from tests.lua.report import at, fire, ids, tick
from tests.lua.schedule_calls import RULES, ZONE, Tick, fired
from tests.lua.scripts import Lua
from tests.lua.tasks import Held, Task

End = Callable[[Lua, int, Held], object]
ENDS: dict[str, End] = {
    "done": lambda lua, now, held: lua.complete(now, held).run(),
    "dead": lambda lua, now, held: lua.bury(now, held).run(),
    "lost too often": lambda lua, now, held: lua.reclaim(now + 2 * LEASE, held.lease, allowed=0).run(),
}


@pytest.mark.parametrize("running", [False, True])
def test_skip_leaves_a_tick_out_while_the_last_run_has_not_ended_and_says_why(
    lua: Lua, running: bool
) -> None:
    assert fire(lua, 0, "skip") == [b"ready"]
    held = lua.take_all(at(0)) if running else []
    assert fire(lua, 1, "skip") == [b"skipped"]
    held = held or lua.take_all(at(1))
    assert ids(held) == ["report@0"]
    lua.complete(at(1), *held).run()
    assert fire(lua, 2, "skip") == [b"ready"]
    skipped = lua.history("report")[1]
    assert (skipped["what"], skipped["planned"]) == ("skipped", at(1))
    assert skipped["reason"] == "overlap: report@0 has not ended"
    found = lua.schedule_state("report")
    assert (found["fired"], found["skipped"], found["last"]) == ("2", "1", str(at(2)))


def test_a_run_whose_lease_was_lost_is_over_when_its_task_is_dead_and_not_before(lua: Lua) -> None:
    fire(lua, 0, "skip")
    (held,) = lua.take_all(at(0))
    lua.reclaim(at(0) + LEASE, held.lease).run()
    assert fire(lua, 1, "skip") == [b"skipped"]
    (held,) = lua.take_all(at(1))
    lua.reclaim(at(1) + LEASE, held.lease, allowed=1).run()
    assert fire(lua, 2, "skip") == [b"ready"]


@pytest.mark.parametrize("end", ENDS)
def test_queue_lets_one_wait_and_it_is_due_in_the_step_that_ends_its_predecessor(lua: Lua, end: str) -> None:
    fire(lua, 0, "queue")
    (held,) = lua.take_all(at(0))
    assert fire(lua, 1, "queue") == [b"blocked"]
    assert fire(lua, 2, "queue") == [b"skipped"]
    assert lua.history("report")[-1]["reason"] == "overlap: report@1 waits already"
    assert lua.states(at(2), "report@1") == ["blocked"]
    assert lua.counts() == {"leased": 1, "blocked": 1}
    audit(lua)
    assert lua.take_all(at(2)) == []
    ENDS[end](lua, at(2), held)
    assert lua.counts()["delayed"] == 1
    # Every scheduler is armed for it: its time has come long ago.
    assert lua.notified()[-1] <= at(2)
    lua.promote_due(at(2))
    (held,) = lua.take_all(at(2))
    assert held.id == "report@1"
    lua.complete(at(2), held).run()
    assert b"followers" not in lua.names()


def test_a_cancelled_predecessor_lets_go_what_waits_for_it(lua: Lua) -> None:
    fire(lua, 0, "queue")
    fire(lua, 1, "queue")
    assert lua.cancel_wherever(at(1), "report@0") == "cancelled"
    lua.promote_due(at(1))
    assert ids(lua.take_all(at(1))) == ["report@1"]


def test_a_blocked_task_is_cancelled_out_of_its_line(lua: Lua) -> None:
    fire(lua, 0, "queue")
    (held,) = lua.take_all(at(0))
    ticks = [fired(tick(n), at(n), "line") for n in (1, 2, 3)]
    assert lua.fire_all(at(3), "report", at(1), at(4), *ticks).run()[2] == [b"blocked"] * 3
    assert lua.cancel_wherever(at(3), "report@2") == "cancelled"
    assert lua.cancel_wherever(at(3), "report@2") == "cancelled"
    assert lua.reschedule_wherever(at(3), "report@1", at(9)) == "blocked"
    audit(lua)
    order = []
    for _ in range(3):
        lua.complete(at(3), held).run()
        lua.promote_due(at(3))
        held = next(iter(lua.take_all(at(3))), held)
        order.append(held.id)
    assert order == ["report@1", "report@3", "report@3"]
    assert lua.counts() == {"done": 3, "cancelled": 1}


def test_allow_makes_every_tick_a_ready_task(lua: Lua) -> None:
    assert [fire(lua, n, "allow") for n in range(3)] == [[b"ready"]] * 3
    assert ids(lua.take_all(at(2))) == ["report@0", "report@1", "report@2"]


def test_replace_asks_for_a_waiting_task_to_be_cancelled_and_then_takes_its_place(lua: Lua) -> None:
    fire(lua, 0, "replace")
    call = lua.fire(at(1), "report", at(1), at(2), tick(1), overlap="replace")
    assert call.run()[::3] == [2, b"report@0"]
    assert lua.timetable()[b"treport"] == at(1)
    lua.cancel_wherever(at(1), "report@0")
    assert call.run()[2] == [b"ready"]
    assert ids(lua.take_all(at(1))) == ["report@1"]


def test_replace_waits_for_a_running_task_and_takes_the_place_of_the_one_that_waits_for_it(lua: Lua) -> None:
    fire(lua, 0, "replace")
    (held,) = lua.take_all(at(0))
    assert fire(lua, 1, "replace") == [b"blocked"]
    assert fire(lua, 2, "replace") == [b"blocked"]
    assert lua.states(at(2), "report@1", "report@2") == ["cancelled", "blocked"]
    lua.complete(at(2), held).run()
    lua.promote_due(at(2))
    assert ids(lua.take_all(at(2))) == ["report@2"]
    assert lua.counts() == {"leased": 1, "done": 1, "cancelled": 1}


def test_a_tick_that_counts_from_the_end_of_a_run_comes_after_that_however_it_ends(lua: Lua) -> None:
    every, now = 600_000, at(0)
    lua.put_schedule("report", now, every=every).run()
    for n, end in enumerate([*ENDS.values(), ENDS["done"]]):
        task = Task(f"run{n}", now)
        assert lua.fire(now, "report", now, None, task, every=every).run()[2] == [b"ready"]
        assert b"treport" not in lua.timetable()
        assert lua.schedule_state("report")["state"] == "active"
        (held,) = lua.take_all(now)
        now += 5000
        end(lua, now, held)
        now = lua.timetable()[b"treport"]
    ended = [lua.history("report")[n + 1]["planned"] - at(0) for n in range(3)]
    assert ended == [605_000, 2 * 605_000, 3 * 605_000 + 2 * LEASE]


@pytest.mark.parametrize("how", ["pause", "remove", "edit"])
def test_a_schedule_that_is_taken_away_while_its_run_goes_on_gets_no_tick_after_it(
    lua: Lua, how: str
) -> None:
    fire(lua, 0, "skip", every=1000)
    (held,) = lua.take_all(at(0))
    if how == "pause":
        lua.pause(at(0), "report").run()
    elif how == "remove":
        lua.remove_schedule("report").run()
    else:
        lua.put_schedule("report", at(5), "h2").run()
    lua.complete(at(0), held).run()
    assert lua.timetable().get(b"treport") == (at(5) if how == "edit" else None)
    if how == "pause":
        lua.resume(at(1), "report", at(1) + 1000, every=1000).run()
        assert lua.timetable()[b"treport"] == at(1) + 1000


def test_a_resumed_schedule_still_counts_from_the_end_of_the_run_that_goes_on(lua: Lua) -> None:
    fire(lua, 0, "skip", every=1000)
    (held,) = lua.take_all(at(0))
    lua.pause(at(0), "report").run()
    lua.resume(at(1), "report", at(1) + 1000, every=1000).run()
    assert b"treport" not in lua.timetable()
    lua.complete(at(2), held).run()
    assert lua.timetable()[b"treport"] == at(2) + 1000


def test_a_triggered_task_waits_for_the_run_that_goes_on_and_the_next_tick_counts_from_its_end(
    lua: Lua,
) -> None:
    fire(lua, 0, "skip", every=1000)
    (held,) = lua.take_all(at(0))
    call = lua.trigger(at(0), "report", Task("by-hand", at(0)))
    assert call.run() == [b"blocked"]
    assert call.run() == [b"there"]
    lua.complete(at(0), held).run()
    assert b"treport" not in lua.timetable()
    lua.promote_due(at(0))
    lua.complete(at(1), *lua.take_all(at(0))).run()
    assert lua.timetable()[b"treport"] == at(1) + 1000
    assert lua.trigger(at(1), "report", Task("x", at(1)), known="h0").run() == [-1]


def test_a_backfilled_instant_is_not_repeated_unless_asked_to(lua: Lua) -> None:
    lua.put_schedule("report", at(9)).run()
    past = Task("report@past", at(0))
    call = lua.trigger(at(1), "report", past, what="backfilled")
    assert call.run() == [b"ready"]
    lua.complete(at(1), *lua.take_all(at(1))).run()
    lua.sweep(at(1) + KEEP + 5000).run()
    assert call.run() == [b"there"]
    assert lua.trigger(at(1), "report", past, what="backfilled", forced=True).run() == [b"ready"]
    assert lua.trigger(at(1), "report", past, what="backfilled", forced=True).run() == [b"there"]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("became", ["blocked", "cancelled", "replaced", "done"])
def test_a_repeated_backfill_knows_what_it_has_made_whatever_has_become_of_that(
    lua: Lua, became: str, forced: bool
) -> None:
    fire(lua, 0, "queue")
    (held,) = lua.take_all(at(0))
    past = Task("report@past", at(-1), nonce=b"12345678")
    call = lua.trigger(at(0), "report", past, what="backfilled", forced=forced)
    assert call.run() == [b"blocked"]
    if became == "cancelled":
        assert lua.cancel(at(0), past).run() == [b"cancelled"]
    elif became == "replaced":
        assert fire(lua, 1, "replace") == [b"blocked"]
    elif became == "done":
        lua.complete(at(0), held).run()
        lua.promote_due(at(0))
        lua.complete(at(0), *lua.take_all(at(0))).run()
    assert call.run() == [b"made"]
    assert lua.states(at(1), past.id) == ["cancelled" if became == "replaced" else became]
    assert lua.schedule_state("report")["backfilled"] == "1"
    audit(lua)


def test_missed_ticks_are_counted_and_caught_up_ones_line_up_oldest_first(lua: Lua) -> None:
    lua.put_schedule("report", at(0)).run()
    missed = Tick("missed", at(0), "down", at(4), 5)
    line = [fired(tick(n), at(n), "line") for n in (5, 6, 7)]
    _, _, became, _ = lua.fire_all(at(7), "report", at(0), at(8), missed, *line).run()
    assert became == [b"missed", b"ready", b"blocked", b"blocked"]
    assert lua.schedule_state("report")["missed"] == "5"
    assert lua.history("report")[0] | {"at": 0} == {
        "what": "missed",
        "reason": "down",
        "planned": at(0),
        "to": at(4),
        "count": 5,
        "at": 0,
    }
    order = []
    for _ in line:
        (held,) = lua.take_all(at(7))
        order.append(held.id)
        lua.complete(at(7), held).run()
        lua.promote_due(at(7))
    assert order == ["report@5", "report@6", "report@7"]


def test_the_history_keeps_the_last_hundred(lua: Lua) -> None:
    lua.put_schedule("report", at(0)).run()
    for n in range(120):
        lua.fire(at(n), "report", at(n), at(n + 1), tick(n)).run()
    events = lua.history("report")
    assert [event["planned"] for event in events] == [at(n) for n in range(20, 120)]
    assert lua.schedule_state("report")["skipped"] == "119"


def test_an_edit_while_a_tick_is_due_asks_for_the_tick_first_and_fires_nothing(lua: Lua) -> None:
    lua.put_schedule("report", at(0)).run()
    edit = lua.put_schedule("report", at(5), "h2", now=at(0))
    assert edit.run() == [-3]
    lua.fire(at(0), "report", at(0), at(1), tick(0)).run()
    assert edit.run() == [-4]
    assert lua.put_schedule("report", at(5), "h2", now=at(0)).run() == [2]
    assert lua.timetable()[b"treport"] == at(5)
    assert lua.counts() == {"ready": 1}


def test_who_was_overtaken_by_a_tick_puts_and_resumes_nothing_that_was_planned_before(lua: Lua) -> None:
    lua.put_schedule("report", at(0)).run()
    slow = lua.put_schedule("report", at(0), "h2")
    lua.fire(at(0), "report", at(0), at(1), tick(0)).run()
    assert slow.run() == [-4]
    lua.client.zrem(lua.keys.timetable, "treport")
    assert lua.put_schedule("report", at(0), through="").run() == [-4]
    assert lua.timetable().keys().isdisjoint({b"treport"})
    lua.put_schedule("report", at(1)).run()
    lua.pause(NOW, "report").run()
    early = lua.resume(at(0), "report", at(1))
    lua.resume(at(0), "report", at(1)).run()
    lua.fire(at(1), "report", at(1), at(2), tick(1)).run()
    lua.pause(NOW, "report").run()
    assert early.run() == -1
    assert lua.resume(at(1), "report", at(2)).run() == 1
    assert lua.timetable()[b"treport"] == at(2)


def test_who_was_overtaken_by_a_tick_does_not_plan_it_anew(lua: Lua) -> None:
    lua.claim_zones((ZONE, RULES, "2026a", "data")).run()
    lua.put_schedule("report", at(0)).run()
    lua.put_off(at(0), "report", at(0), "h1").run()
    slow, first = lua.replan("report", at(0)), lua.replan("report", at(0))
    assert first.run() == [1]
    assert lua.fire(at(0), "report", at(0), at(1), tick(0)).run()[0] == 1
    lua.put_off(at(1), "report", at(1), "h1").run()
    assert slow.run() == [0]
    assert lua.replan("report", at(1)).run() == [1]
    assert lua.timetable()[b"treport"] == at(1)


@pytest.mark.parametrize("goes", ["removed", "moved"])
def test_nothing_is_made_for_a_schedule_that_was_removed_or_is_on_its_way_to_another_shard(
    lua: Lua, goes: str
) -> None:
    lua.put_schedule("report", at(0)).run()
    (lua.remove_schedule("report") if goes == "removed" else lua.hand_over("report")).run()
    assert lua.trigger(NOW, "report", Task("report+1", NOW)).run() == [-1]
    assert lua.counts() == {}


def test_what_a_paused_schedule_has_skipped_is_written_down_once_though_the_call_is_repeated(
    lua: Lua,
) -> None:
    lua.put_schedule("report", at(0)).run()
    lua.pause(NOW, "report").run()
    written = lua.resume(at(2), "report", at(3), (at(0), at(2), 3), stay=True)
    assert [written.run(), written.run()] == [1, -1]
    assert lua.schedule_state("report")["skipped"] == "3"


def test_only_the_definition_that_is_to_be_replaced_is_replaced(lua: Lua) -> None:
    hashes = ["a" * 32, "b" * 32]
    assert lua.put_schedule("report", at(0), hashes[0], replaces="").run() == [1]
    assert lua.put_schedule("report", at(1), hashes[1], replaces="").run() == [-1]
    assert lua.put_schedule("report", at(1), hashes[1], replaces="c" * 32).run() == [-1]
    assert lua.put_schedule("report", at(1), hashes[1], replaces=hashes[0]).run() == [2]


def test_a_paused_schedule_stays_so_through_an_edit_and_what_it_skipped_is_counted(lua: Lua) -> None:
    lua.put_schedule("report", at(0)).run()
    assert lua.pause(NOW, "report", "ada", "holidays").run() == b"paused"
    assert lua.pause(NOW, "report", "bob", "").run() == b"paused"
    assert lua.timetable() == {}
    edit = lua.put_schedule("report", at(3), "h2", now=at(2))
    assert edit.run() == [-3]
    assert lua.resume(at(2), "report", at(3), (at(0), at(2), 3), known="h1", stay=True).run() == 1
    assert edit.run() == [-4]
    assert lua.put_schedule("report", at(3), "h2", now=at(2)).run() == [2]
    found = lua.schedule_state("report")
    assert (found["state"], found["by"], found["why"]) == ("paused", "ada", "holidays")
    assert lua.resume(at(5), "report", at(6), (at(3), at(5), 3), known="h1").run() == -1
    assert lua.resume(at(5), "report", at(6), (at(3), at(5), 3), known="h2").run() == 1
    assert lua.resume(at(5), "report", at(6), known="h2").run() == 0
    assert lua.timetable() == {b"treport": at(6)}
    assert lua.schedule_state("report")["skipped"] == "6"
    assert [event["planned"] for event in lua.history("report")] == [at(0), at(3)]
    assert lua.pause(NOW, "other").run() == b"unknown"


def test_a_revision_that_was_replaced_is_old_and_puts_nothing(lua: Lua) -> None:
    claims = [("f", "r1"), ("f", "r1"), ("f", "r2"), ("f", "r1"), ("g", "r1"), ("f", "r2")]
    assert [lua.claim_revision(*claim).run()[0] for claim in claims] == [1, 0, 1, -1, 1, 0]
    assert lua.put_schedule("report", at(0), file="f", revision="r1").run() == [-2]
    assert lua.put_schedule("report", at(0), file="f", revision="r2").run() == [1]
    assert lua.remove_schedule("report", file="f", revision="r1").run() == 0
    assert lua.claim_revision("f", "r1", replaces="r0").run()[0] == -1
    assert lua.claim_revision("f", "r1", replaces="r2").run()[0] == 1
    assert lua.claim_revision("f", "r2").run()[0] == -1
    assert lua.claim_revision("f", "r2", replaces="*").run()[0] == 1
    assert lua.claim_revision("f", "r1", replaces="r2").run()[0] == 1
    assert lua.claim_revision("f", "r2").run()[0] == -1
    assert lua.remove_schedule("report", file="f", revision="r1").run() == 1


def test_a_shard_that_is_told_the_order_of_revisions_takes_none_that_was_overtaken(lua: Lua) -> None:
    claims = [("r2", 2), ("r1", 1), ("r2", 2), ("r1", 3), ("r2", 2)]
    answers = [lua.claim_revision("f", name, order=order).run() for name, order in claims]
    assert answers == [[1, 2], [-1, 1], [0, 2], [1, 3], [-1, 2]]


def test_revisions_are_forgotten_some_day(lua: Lua) -> None:
    for n in range(1100):
        lua.claim_revision("f", f"r{n}").run()
    assert lua.client.hlen(lua.keys.revisions) <= 1000
    assert lua.claim_revision("f", "r1099").run()[0] == 0
    assert lua.claim_revision("f", "r1098").run()[0] == -1
