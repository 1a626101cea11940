"""schedule: each task goes where its due time belongs, once."""

from __future__ import annotations

from oncue.common.keys import PAGE_MS, page_of
from tests.lua.instants import NOW, far, opening
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Task, tasks

LONE = 8


def test_a_task_of_the_far_future_is_one_entry_of_its_page(lua: Lua) -> None:
    due = far()
    assert lua.schedule(NOW, Task("a", due), Task("b", due + 1)).run() == [1, 1]
    page = page_of(due)
    assert lua.timetable() == {b"p%d" % page: opening(due)}
    assert [entry[:-4] for entry in lua.client.lrange(lua.keys.page(page), 0, -1)] == [b"a", b"b"]
    assert lua.counts() == {"delayed": 2}
    assert lua.states(NOW, "a", "b") == ["delayed", "delayed"]


def test_the_page_after_the_next_is_closed_and_the_next_is_open(lua: Lua) -> None:
    closed, open_already = NOW + 2 * PAGE_MS, NOW + 2 * PAGE_MS - 1
    lua.schedule(NOW, Task("far", closed), Task("near", open_already)).run()
    assert set(lua.timetable().values()) == {NOW + PAGE_MS, open_already}
    assert lua.length(lua.keys.page(page_of(closed))) == 1
    assert lua.length(lua.keys.page(page_of(open_already))) == 0


def test_few_tasks_of_one_instant_stay_lone_and_more_share_a_bucket(lua: Lua) -> None:
    due = NOW + 1000
    few = tasks(LONE, due)
    lua.schedule(NOW, *few).run()
    assert len(lua.timetable()) == LONE
    assert lua.length(lua.keys.bucket(due, 5, "q")) == 0
    lua.schedule(NOW, *tasks(3, due, prefix="more")).run()
    assert lua.timetable()[few[0].bucket] == due
    assert len(lua.timetable()) == LONE + 1
    assert lua.length(lua.keys.bucket(due, 5, "q")) == 3
    assert lua.counts() == {"delayed": LONE + 3}


def test_each_queue_and_band_has_a_bucket_of_its_own(lua: Lua) -> None:
    due = NOW + 1000
    lua.schedule(NOW, *tasks(LONE, due)).run()
    lua.schedule(NOW, Task("x", due, "a"), Task("y", due, "a", 9), Task("z", due, "b")).run()
    buckets = {member for member in lua.timetable() if member[:1] == b"="}
    assert buckets == {b"=%d:5:a" % due, b"=%d:9:a" % due, b"=%d:5:b" % due}


def test_a_due_task_is_ready_and_wakes_one_worker(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", NOW), Task("b", NOW - 5), Task("c", 0)).run()
    assert lua.counts() == {"ready": 3}
    assert lua.length(lua.keys.ready("q", 5)) == 3
    assert lua.length(lua.keys.wake("q")) == 1
    assert lua.timetable() == {b"gq": NOW + 500}
    assert lua.states(NOW, "a", "b", "c") == ["ready"] * 3


def test_the_same_call_again_leaves_one_task(lua: Lua) -> None:
    call = lua.schedule(NOW, Task("now"), Task("near", NOW + 10), Task("far", far()))
    assert call.run() == [1, 1, 1]
    before = lua.timetable()
    assert call.run() == [0, 0, 0]
    assert lua.timetable() == before
    assert lua.counts() == {"delayed": 2, "ready": 1}


def test_an_id_twice_in_one_call_is_one_task(lua: Lua) -> None:
    lua.schedule(NOW, Task("a"), Task("a", NOW + 10), Task("b")).run()
    assert lua.counts() == {"ready": 2}


def test_a_repeated_call_does_not_run_a_finished_task_again(lua: Lua) -> None:
    call = lua.schedule(NOW, Task("a", nonce=b"12345678"), Task("b"))
    call.run()
    lua.complete(NOW, *lua.take_all(NOW)).run()
    assert call.run() == [0, 0]
    assert lua.counts() == {"done": 2}


def test_a_new_call_may_use_the_id_of_a_finished_task(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", nonce=b"12345678")).run()
    lua.complete(NOW, *lua.take_all(NOW)).run()
    assert lua.schedule(NOW, Task("a", nonce=b"87654321")).run() == [1]
    assert lua.counts() == {"done": 1, "ready": 1}
    assert lua.states(NOW, "a") == ["ready"]


def test_the_id_of_a_dead_task_is_taken(lua: Lua) -> None:
    lua.bury(NOW, lua.one("a", nonce=b"12345678")).run()
    assert lua.schedule(NOW, Task("a", nonce=b"87654321")).run() == [-1]
    assert lua.counts() == {"dead": 1}


def test_a_repeated_call_is_known_again_when_its_task_is_dead(lua: Lua) -> None:
    mine, generated = Task("a", nonce=b"12345678"), Task("b")
    lua.bury(NOW, lua.one("a", nonce=mine.nonce), lua.one("b")).run()
    assert lua.schedule(NOW, mine, generated).run() == [0, 0]


def test_the_record_is_kept_as_it_was_sent_but_for_its_placement(lua: Lua) -> None:
    task = Task("a", NOW + 7, "mails", 9, b"\x00\xff bytes", b"12345678")
    lua.schedule(NOW, task).run()
    (found,) = lua.locate(NOW, "a", whole=True).run()
    assert found[:7] == [b"delayed", NOW + 7, 9, b"mails", 0, 0, 0]
    assert found[7][:1] + found[7][5:] == task.record[:1] + task.record[5:]
    assert found[7][1:5] == (1).to_bytes(4, "big")


def test_placement_numbers_rise_across_tasks_and_calls(lua: Lua) -> None:
    lua.schedule(NOW, Task("a"), Task("b")).run()
    lua.schedule(NOW, Task("c")).run()
    records = lua.client.hgetall(lua.keys.records)
    assert [int.from_bytes(records[i][1:5], "big") for i in (b"a", b"b", b"c")] == [1, 2, 3]


def test_only_a_nearer_instant_is_notified(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", NOW + 5000)).run()
    lua.schedule(NOW, Task("b", NOW + 6000)).run()
    lua.schedule(NOW, Task("c", NOW + 4000)).run()
    assert lua.notified() == [NOW + 5000, NOW + 4000]
    lua.schedule(NOW, Task("d", far())).run()
    assert lua.notified() == [NOW + 5000, NOW + 4000]


def test_the_notify_list_stays_short(lua: Lua) -> None:
    for n in range(40):
        lua.schedule(NOW, Task(f"t{n}", NOW + 5000 - n)).run()
    assert len(lua.notified()) == 16


def test_a_task_for_a_bucket_that_a_clock_ahead_has_promoted_is_ready(lua: Lua) -> None:
    due = NOW + 1000
    lua.schedule(NOW, *tasks(100, due)).run()
    lua.promote_due(due)
    assert lua.schedule(due - 1, Task("late", due)).run() == [1]
    assert lua.states(due, "late") == ["ready"]
    assert {held.id for held in lua.take_all(due)} >= {"late", "t99"}
    assert lua.counts() == {"leased": 101}


def test_ids_with_colons_and_queues_that_start_with_digits_are_taken_apart_rightly(lua: Lua) -> None:
    ids = ["a:b", "5:x:y", "m@h/1+2-3", "q:q:q"]
    lua.schedule(NOW, *(Task(i, NOW + 10, "7.up", 3) for i in ids)).run()
    lua.promote_due(NOW + 10)
    held = lua.take_all(NOW + 10, Asked("7.up"))
    assert sorted(task.id for task in held) == sorted(ids)
    lua.reclaim(NOW + 10 + 20_000, *(task.lease for task in held)).run()
    assert lua.counts("7.up") == {"ready": 4}


def test_one_task_joins_a_page_that_holds_something_as_a_call_for_many_would(lua: Lua) -> None:
    due = far()
    lua.schedule(NOW, Task("a", due)).run()
    assert lua.schedule_one(Task("b", due + 1)).run() == 1
    assert lua.timetable() == {b"p%d" % page_of(due): opening(due)}
    assert [entry[:-4] for entry in lua.client.lrange(lua.keys.page(page_of(due)), 0, -1)] == [b"a", b"b"]
    assert lua.counts() == {"delayed": 2}
    assert lua.states(NOW, "a", "b") == ["delayed", "delayed"]
    assert lua.cancel_wherever(NOW, "b") == "cancelled"


def test_one_task_scheduled_twice_is_one_task(lua: Lua) -> None:
    due = far()
    lua.schedule(NOW, Task("a", due)).run()
    assert [lua.schedule_one(Task("b", due)).run() for _ in range(3)] == [1, 0, 0]
    assert lua.counts() == {"delayed": 2}
    assert lua.length(lua.keys.page(page_of(due))) == 2


def test_one_task_opens_no_page_and_meets_no_id_that_was_in_use(lua: Lua) -> None:
    """Neither has its place in the short way: what makes a page known, and what tells a repeated call from a new one."""
    due = far()
    assert lua.schedule_one(Task("a", due)).run() == -1
    assert lua.names() == {b"seq"}
    lua.schedule(NOW, Task("a", due), Task("b", due)).run()
    lua.cancel_wherever(NOW, "b")
    before = lua.counts()
    assert lua.schedule_one(Task("b", due)).run() == -1
    assert lua.counts() == before
