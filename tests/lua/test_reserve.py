"""reserve: the right tasks, each once, under a lease."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.lua.instants import LEASE, NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Asked, Task, tasks

DUE = NOW + 1000
LONE = 8


def test_a_task_is_given_with_its_token_and_leased(lua: Lua) -> None:
    lua.schedule(NOW, Task("a"), Task("b")).run()
    got = lua.take(NOW, most=2)
    assert [(held.id, held.attempts, held.failed, held.lost, held.due) for held in got.tasks] == [
        ("a", 0, 0, 0, NOW),
        ("b", 0, 0, 0, NOW),
    ]
    assert got.tasks[0].token > 0
    assert got.tasks[1].token == got.tasks[0].token + 1
    assert lua.counts() == {"leased": 2}
    assert lua.timetable() == {b"l5q:a": NOW + LEASE, b"l5q:b": NOW + LEASE}
    assert lua.states(NOW, "a") == ["leased"]


def test_a_reserved_task_is_given_to_nobody_else(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(3)).run()
    assert lua.take(NOW, most=2).ids == ["t0", "t1"]
    assert lua.take(NOW, most=2).ids == ["t2"]
    assert lua.take(NOW, most=2) == ([], [], [])


def test_every_reservation_has_a_higher_token(lua: Lua) -> None:
    first = lua.one("a")
    lua.release(NOW, first).run()
    (second,) = lua.take_all(NOW)
    assert second.token > first.token


def test_the_highest_band_comes_first_across_queues(lua: Lua) -> None:
    lua.schedule(NOW, Task("low", NOW, "a", 0), Task("mid", NOW, "b", 4), Task("high", NOW, "a", 9)).run()
    assert lua.take(NOW, Asked("a"), Asked("b")).ids == ["high", "mid", "low"]


def test_equal_queues_go_by_name_and_take_turns(lua: Lua) -> None:
    for queue in ("b", "a"):
        lua.schedule(NOW, *tasks(3, queue=queue, prefix=queue)).run()
    assert lua.take(NOW, Asked("b"), Asked("a")).ids == ["a0", "b0", "a1", "b1", "a2", "b2"]


@pytest.mark.parametrize("most", [1, 7, 40])
def test_weights_share_out_three_to_one(lua: Lua, most: int) -> None:
    for queue in ("a", "b"):
        lua.schedule(NOW, *tasks(200, queue=queue, prefix=queue)).run()
    served: Counter[str] = Counter()
    while served.total() < 160:
        got = lua.take(NOW, Asked("a", 3), Asked("b", 1), most=min(most, 160 - served.total()))
        served.update(held.queue for held in got.tasks)
    assert served["a"] == pytest.approx(120, abs=3)


def test_a_queue_that_was_empty_is_not_paid_for_the_past(lua: Lua) -> None:
    both = Asked("a"), Asked("b")
    lua.schedule(NOW, *tasks(120, queue="a", prefix="a"), Task("b", queue="b")).run()
    assert lua.take(NOW, *both, most=2).ids == ["a0", "b"]
    lua.take(NOW, *both, most=50)
    lua.schedule(NOW, *tasks(50, queue="b", prefix="b")).run()
    share = Counter(held.queue for held in lua.take(NOW, *both, most=20).tasks)
    assert share == {"a": 10, "b": 10}


def test_a_ready_list_that_is_not_declared_is_asked_for(lua: Lua) -> None:
    lua.schedule(NOW, Task("high", NOW, "q", 9), Task("low", NOW, "q", 1)).run()
    assert lua.take(NOW, Asked("q", 1, "15")) == ([], [b"9q"], [])
    assert lua.take(NOW, Asked("q", 1, "159")).ids == ["high", "low"]


def test_a_segment_is_asked_for_by_name_and_drained_in_order(lua: Lua) -> None:
    same = tasks(LONE + MANY, DUE)
    lua.schedule(NOW, *same).run()
    lua.promote_due(DUE)
    first = lua.take(DUE, most=50)
    assert first.ids == [task.id for task in same[:LONE]]
    assert first.needs == [same[0].bucket]
    second = lua.take(DUE, most=50, segments=first.needs)
    assert second.ids == [task.id for task in same[LONE : LONE + 50]]
    assert second.references == [same[0].bucket]
    third = lua.take(DUE, most=50, segments=second.references)
    assert third.ids == [task.id for task in same[LONE + 50 :]]
    assert third == (third.tasks, [], [])
    assert b"bucket:%d:5:q" % DUE not in lua.names()


def test_an_answer_names_the_segments_that_come_next(lua: Lua) -> None:
    for n in range(3):
        lua.schedule(NOW, *tasks(LONE + MANY, DUE + n, prefix=f"s{n}.")).run()
        lua.promote_due(DUE + n)
    held = lua.take(DUE + 2, most=LONE)
    assert held.references == [b"=%d:5:q" % DUE]
    assert len(lua.take_all(DUE + 2, most=100)) == 3 * (LONE + MANY) - LONE


def test_a_segment_that_is_gone_is_a_stale_hint_and_no_harm(lua: Lua) -> None:
    lua.schedule(NOW, Task("a")).run()
    assert lua.take(NOW, segments=[b"=%d:5:q" % DUE]).ids == ["a"]


def test_the_byte_limit_gives_entries_back_in_their_order(lua: Lua) -> None:
    lua.schedule(NOW, *(Task(f"t{n}", data=b"x" * 1000) for n in range(6))).run()
    assert lua.take(NOW, most_bytes=2500).ids == ["t0", "t1", "t2"]
    assert lua.counts() == {"ready": 3, "leased": 3}
    assert lua.take(NOW, most_bytes=0).ids == ["t3"]
    assert lua.take(NOW, most_bytes=10_000).ids == ["t4", "t5"]


def test_the_byte_limit_gives_entries_of_a_segment_back_even_of_an_emptied_one(lua: Lua) -> None:
    same = [task._replace(data=b"x" * 1000) for task in tasks(LONE + MANY, DUE)]
    lua.schedule(NOW, *same).run()
    lua.promote_due(DUE)
    lua.take(DUE, most=LONE)
    left = [task.id for task in same[LONE:]]
    while left:
        got = lua.take(DUE, most=1000, most_bytes=9000, segments=[same[0].bucket])
        assert got.ids == left[: len(got.ids)] != []
        left = left[len(got.ids) :]
        assert lua.counts() == {"leased": len(same) - len(left)} | ({"ready": len(left)} if left else {})
    assert b"bucket:%d:5:q" % DUE not in lua.names()


def test_cancelled_entries_are_dropped_on_the_way(lua: Lua) -> None:
    few = tasks(10)
    lua.schedule(NOW, *few).run()
    lua.cancel(NOW, *few[::2]).run()
    assert lua.take(NOW, most=3).ids == ["t1", "t3", "t5"]
    assert lua.take(NOW, most=3).ids == ["t7", "t9"]
    assert lua.counts() == {"leased": 5, "cancelled": 5}


def test_an_id_used_again_is_given_once(lua: Lua) -> None:
    lua.schedule(NOW, Task("a", nonce=b"1" * 8)).run()
    lua.cancel(NOW, Task("a")).run()
    lua.schedule(NOW, Task("a", nonce=b"2" * 8)).run()
    assert [held.id for held in lua.take_all(NOW)] == ["a"]


def test_one_call_looks_at_a_bounded_number_of_cancelled_entries(lua: Lua) -> None:
    many = tasks(3000)
    lua.schedule(NOW, *many[:1500]).run()
    lua.schedule(NOW, *many[1500:]).run()
    lua.cancel(NOW, *many[1:2500]).run()
    assert lua.take(NOW, most=1000).ids == ["t0"]
    assert len(lua.take_all(NOW)) == 500


@pytest.mark.parametrize("most", [5000, 100_000])
def test_however_many_are_asked_for_none_is_lost(lua: Lua, most: int) -> None:
    for n in range(5):
        lua.schedule(NOW, *tasks(1000, prefix=f"{n}.")).run()
    got = lua.take(NOW, most=most)
    assert 0 < len(got.ids) <= 1000
    assert lua.counts() == {"ready": 5000 - len(got.ids), "leased": len(got.ids)}
    assert len(lua.take_all(NOW, most=most)) == 5000 - len(got.ids)


def test_what_is_left_wakes_the_next_worker(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(3)).run()
    assert lua.client.lpop(lua.keys.wake("q")) == b"1"
    lua.take(NOW, most=1)
    assert lua.length(lua.keys.wake("q")) == 1
    assert lua.timetable()[b"gq"] == NOW + 500
    lua.take(NOW, most=2)
    assert lua.length(lua.keys.wake("q")) == 0
    assert b"gq" not in lua.timetable()


def test_an_empty_queue_gives_nothing_and_leaves_nothing(lua: Lua) -> None:
    assert lua.take(NOW, Asked("a"), Asked("b")) == ([], [], [])
    assert lua.names() == set()


def test_a_call_for_no_tasks_takes_none(lua: Lua) -> None:
    lua.schedule(NOW, Task("a")).run()
    assert lua.take(NOW, most=0).ids == []
    assert lua.counts() == {"ready": 1}
