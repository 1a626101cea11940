"""complete, abandon, retry, bury, release, renew: only who holds the token decides, and saying it twice is saying it once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis.exceptions import ResponseError

from oncue.common.keys import page_of
from tests.lua.calls import Call
from tests.lua.instants import KEEP, LEASE, NOW, far
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Held, Task, tasks

LATER = NOW + 5000

Answer = Callable[[Lua, Held], Call]
ANSWERS: dict[str, Answer] = {
    "complete": lambda lua, held: lua.complete(NOW, held),
    "retry": lambda lua, held: lua.retry(NOW, LATER, held),
    "bury": lambda lua, held: lua.bury(NOW, held),
    "abandon": lambda lua, held: lua.abandon(NOW, held),
    "throttle": lambda lua, held: lua.retry(NOW, LATER, held, counted="throttled"),
    "snooze": lambda lua, held: lua.retry(NOW, LATER, held, counted="nothing"),
    "release": lambda lua, held: lua.release(NOW, held),
}


@pytest.fixture(params=ANSWERS)
def answer(request: pytest.FixtureRequest) -> Answer:
    return ANSWERS[str(request.param)]


def state(lua: Lua) -> object:
    """All that the answers of workers may change."""
    keys = lua.keys
    lists = [lua.client.lrange(key, 0, -1) for key in (keys.ready("q", 5), keys.finished)]
    hashes = [lua.client.hgetall(key) for key in (keys.records, keys.runs, keys.errors, keys.counts)]
    return lists, hashes, lua.timetable(), lua.client.zrange(keys.dead, 0, -1)


def test_an_old_token_changes_nothing(lua: Lua, answer: Answer) -> None:
    old = lua.one("a")
    lua.reclaim(NOW + LEASE, old.lease).run()
    before = state(lua)
    assert answer(lua, old).run() == [0]
    assert state(lua) == before
    (new,) = lua.take_all(NOW + LEASE)
    before = state(lua)
    assert answer(lua, old).run() == [0]
    assert lua.renew(NOW, old).run() == [0]
    assert state(lua) == before
    assert answer(lua, new).run() == [1]


def test_the_call_repeated_after_a_lost_reply_answers_the_same(lua: Lua, answer: Answer) -> None:
    call = answer(lua, lua.one("a"))
    assert call.run() == [1]
    before = state(lua)
    assert call.run() == [1]
    assert state(lua) == before


def test_a_task_that_nobody_holds_cannot_be_answered(lua: Lua, answer: Answer) -> None:
    lua.schedule(NOW, Task("ready"), Task("delayed", LATER)).run()
    before = state(lua)
    for task_id in ("ready", "delayed", "never"):
        assert answer(lua, Held(task_id, 7)).run() == [0]
    assert state(lua) == before


def test_many_are_answered_in_one_call_each_for_itself(lua: Lua, answer: Answer) -> None:
    lua.schedule(NOW, *tasks(3)).run()
    first, second, third = lua.take_all(NOW)
    call = answer(lua, first)
    per_task = len(call.args) - len(answer(lua, first).given(args=()).args)
    assert per_task
    calls = [answer(lua, held) for held in (first, second._replace(token=999), third)]
    assert [c.run() for c in calls] == [[1], [0], [1]]
    assert lua.counts()["leased"] == 1


@pytest.mark.parametrize("other", ["complete", "bury", "abandon"])
def test_another_answer_with_a_used_token_is_refused(lua: Lua, other: str) -> None:
    held = lua.one("a")
    lua.retry(NOW, LATER, held).run()
    before = state(lua)
    assert ANSWERS[other](lua, held).run() == [0]
    assert state(lua) == before


def test_complete_gives_all_memory_back_but_a_mark(lua: Lua) -> None:
    held = lua.one("a", data=b"x" * 1000)
    lua.complete(NOW, held).run()
    assert lua.counts() == {"done": 1}
    assert lua.states(NOW, "a") == ["done"]
    assert lua.names() - {b"seq", b"counts", b"bands", b"armed", b"notify"} == {
        b"runs",
        b"finished",
        b"timetable",
    }
    assert lua.timetable() == {b"f": NOW + KEEP}


def test_complete_forgets_the_error_of_an_earlier_attempt(lua: Lua) -> None:
    lua.retry(NOW, NOW, lua.one("a"), error='{"type":"First"}').run()
    (again,) = lua.take_all(NOW)
    assert (again.attempts, again.failed) == (1, 1)
    lua.complete(NOW, again).run()
    assert lua.client.hgetall(lua.keys.errors) == {}


def test_retry_delays_a_task_until_the_instant_that_the_policy_says(lua: Lua) -> None:
    held = lua.one("a")
    lua.retry(NOW, LATER, held, error='{"type":"Boom"}').run()
    assert lua.counts() == {"delayed": 1}
    (found,) = lua.locate(NOW, "a", whole=True).run()
    assert found[:7] == [b"delayed", LATER, 5, b"q", 1, 1, 0]
    assert found[8] == b'{"type":"Boom"}'
    lua.promote_due(LATER - 1)
    assert lua.take_all(LATER - 1) == []
    lua.promote_due(LATER)
    assert [(h.id, h.attempts, h.failed, h.due) for h in lua.take_all(LATER)] == [("a", 1, 1, LATER)]


def test_a_retry_in_the_past_is_ready_and_one_in_the_far_future_in_its_page(lua: Lua) -> None:
    lua.retry(NOW, NOW, lua.one("a")).run()
    assert lua.counts() == {"ready": 1}
    (again,) = lua.take_all(NOW)
    lua.retry(NOW, far(), again).run()
    assert lua.length(lua.keys.page(page_of(far()))) == 1
    assert lua.counts() == {"delayed": 1}


def test_retries_of_one_instant_need_no_bucket(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(30)).run()
    lua.retry(NOW, LATER, *lua.take_all(NOW)).run()
    assert sorted(lua.timetable().values()) == [LATER] * 30
    lua.promote_due(LATER)
    assert len(lua.take_all(LATER)) == 30


def test_bury_keeps_a_task_among_the_dead_with_its_error(lua: Lua) -> None:
    lua.bury(NOW, lua.one("a"), error='{"type":"Fatal"}').run()
    assert lua.counts() == {"dead": 1}
    (found,) = lua.locate(NOW, "a", whole=True).run()
    assert found[:7] == [b"dead", NOW, 5, b"q", 1, 1, 0]
    assert found[7][13:] == b"q1"
    assert found[8] == b'{"type":"Fatal"}'
    assert lua.client.zscore(lua.keys.dead, "a") == NOW


def test_release_hands_back_to_the_head_and_counts_no_attempt(lua: Lua) -> None:
    lua.schedule(NOW, Task("a"), Task("b")).run()
    (held,) = lua.take(NOW, most=1).tasks
    lua.release(NOW, held).run()
    assert lua.counts() == {"ready": 2}
    assert [(task.id, task.attempts) for task in lua.take_all(NOW)] == [("a", 0), ("b", 0)]


def test_release_wakes_a_worker(lua: Lua) -> None:
    held = lua.one("a")
    assert lua.length(lua.keys.wake("q")) == 0
    lua.release(NOW, held).run()
    assert lua.length(lua.keys.wake("q")) == 1
    assert lua.timetable() == {b"gq": NOW + 500}


def test_renew_moves_the_end_of_the_lease(lua: Lua) -> None:
    held = lua.one("a")
    assert lua.renew(NOW + 5000, held).run() == [1]
    assert lua.timetable() == {b"l5q:a": NOW + 5000 + LEASE}
    lua.reclaim(NOW + LEASE, held.lease).run()
    assert lua.states(NOW, "a") == ["leased"]
    assert lua.complete(NOW + LEASE, held).run() == [1]
    assert lua.renew(NOW, held).run() == [0]


def test_renew_says_for_each_task_whether_its_lease_is_lost(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(3)).run()
    held = lua.take_all(NOW)
    lua.complete(NOW, held[1]).run()
    assert lua.renew(NOW, *held).run() == [1, 0, 1]
    assert b"l5q:t1" not in lua.timetable()


def test_answers_of_several_queues_and_bands_go_in_one_call(lua: Lua) -> None:
    mixed = [Task("a"), Task("b", NOW, "x", 9), Task("c", NOW, "x", 0), Task("d")]
    lua.schedule(NOW, *mixed).run()
    held = lua.take_all(NOW, Asked("q"), Asked("x"))
    assert lua.release(NOW, *held).run() == [1] * 4
    held = lua.take_all(NOW, Asked("q"), Asked("x"))
    assert lua.retry(NOW, far(), *held[:2]).run() == [1, 1]
    assert lua.complete(NOW, *held[2:]).run() == [1, 1]


def test_a_schedule_and_cancel_between_two_answers_is_told_apart(lua: Lua) -> None:
    held = lua.one("a", nonce=b"1" * 8)
    lua.complete(NOW, held).run()
    lua.schedule(NOW, Task("a", nonce=b"2" * 8)).run()
    before = state(lua)
    assert lua.complete(NOW, held).run() == [0]
    assert state(lua) == before


def test_a_throttled_task_is_counted_apart_and_keeps_the_reason(lua: Lua) -> None:
    held = lua.one("a")
    lua.retry(NOW, NOW, held, error='{"type":"Throttled"}', counted="throttled").run()
    (again,) = lua.take_all(NOW)
    assert (again.attempts, again.failed, again.lost, again.throttled) == (1, 0, 0, 1)
    (found,) = lua.locate(NOW, "a", whole=True).run()
    assert (found[8], found[10]) == (b'{"type":"Throttled"}', 1)
    lua.bury(NOW, again, counted="throttled").run()
    (found,) = lua.locate(NOW, "a").run()
    assert (found[4:7], found[10]) == ([2, 0, 0], 2)


def test_a_snoozed_task_comes_back_as_if_never_run_and_keeps_an_earlier_error(lua: Lua) -> None:
    lua.retry(NOW, NOW, lua.one("a"), error='{"type":"First"}').run()
    (held,) = lua.take_all(NOW)
    lua.retry(NOW, LATER, held, error="", counted="nothing").run()
    (found,) = lua.locate(NOW, "a", whole=True).run()
    assert (found[0], found[4:7], found[8]) == (b"delayed", [1, 1, 0], b'{"type":"First"}')


def test_an_abandoned_task_is_cancelled_and_gives_all_memory_back_but_a_mark(lua: Lua) -> None:
    lua.retry(NOW, NOW, lua.one("a")).run()
    lua.abandon(NOW, *lua.take_all(NOW)).run()
    assert lua.counts() == {"cancelled": 1}
    assert lua.states(NOW, "a") == ["cancelled"]
    assert lua.client.hgetall(lua.keys.records) == lua.client.hgetall(lua.keys.errors) == {}
    lua.sweep(NOW + KEEP).run()
    assert lua.states(NOW + KEEP, "a") == ["unknown"]


def test_a_result_is_written_with_the_completion_and_only_with_it(lua: Lua) -> None:
    old = lua.one("a")
    lua.reclaim(NOW + LEASE, old.lease).run()
    (new,) = lua.take_all(NOW + LEASE)
    assert lua.complete(NOW, old, kept={"a": (b"old", 60_000)}).run() == [0]
    assert lua.client.get(lua.keys.result("a")) is None
    call = lua.complete(NOW, new, kept={"a": (b"new", 60_000)})
    assert call.run() == [1]
    assert lua.client.get(lua.keys.result("a")) == b"new"
    assert 0 < lua.client.pttl(lua.keys.result("a")) <= 60_000
    lua.client.delete(lua.keys.result("a"))
    assert call.run() == [1]
    assert lua.client.get(lua.keys.result("a")) is None


def test_results_of_some_of_many_tasks_go_to_their_own(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(4)).run()
    held = lua.take_all(NOW)
    lua.complete(NOW, *held, kept={"t1": (b"one", 5000), "t3": (b"three", 5000)}).run()
    found = [lua.client.get(lua.keys.result(f"t{n}")) for n in range(4)]
    assert found == [None, b"one", None, b"three"]


def test_a_commit_writes_and_ends_the_task_or_does_neither(lua: Lua) -> None:
    own = lua.keys.prefix + b"own:sum"
    old = lua.one("a")
    lua.reclaim(NOW + LEASE, old.lease).run()
    (new,) = lua.take_all(NOW + LEASE)
    before = state(lua)
    assert lua.commit(NOW, old, ("INCRBY", own, 5)).run() == [0]
    assert (state(lua), lua.client.get(own)) == (before, None)
    call = lua.commit(NOW, new, ("INCRBY", own, 5), ("GET", own))
    assert call.run() == [1, [5, b"5"]]
    # The reply was lost, and the call is made again.
    assert call.run() == [1]
    assert (lua.client.get(own), lua.counts()) == (b"5", {"done": 1})
    assert lua.complete(NOW, new).run() == [1]
    lua.client.delete(own)


def test_a_commit_whose_write_is_refused_leaves_the_task_in_hand(lua: Lua) -> None:
    own = lua.keys.prefix + b"own:text"
    held = lua.one("a")
    lua.client.set(own, "no list")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        lua.commit(NOW, held, ("RPUSH", own, "x")).run()
    assert lua.counts() == {"leased": 1}
    assert lua.complete(NOW, held).run() == [1]
    lua.client.delete(own)
