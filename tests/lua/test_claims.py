"""unique and debounce: one task of a key; the key is free again when its task is, and nothing of it stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oncue.common.scripts import script
from tests.lua.audit import audit, leftovers
from tests.lua.instants import KEEP, NOW, far, opening
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Held, Task, tasks
from tests.support.servers import RedisServer

DUE = NOW + 1000
FAR = far()
STEP = 5000
ASKED = Asked("q")


def unique(n: int, due: int = DUE) -> Task:
    return Task(f"u{n}", due, nonce=b"%08d" % n, claim=b"uq:key")


def pushed(n: int, due: int = DUE, data: bytes | None = None, band: int = 5) -> Task:
    return Task(f"d{n}", due, band=band, data=data or b"%d" % n, nonce=b"%08d" % n, claim=b"dq:key")


def write(
    lua: Lua, n: int, now: int = NOW, due: int = DUE, held_while: str = "waiting", until: int = 0
) -> str:
    return str(lua.unique(now, unique(n, due), held_while, until).run().decode())


def take(lua: Lua, now: int) -> Held:
    lua.promote_due(now)
    (held,) = lua.take_all(now, ASKED)
    return held


@pytest.mark.parametrize("due", [NOW, DUE, FAR], ids=["ready", "lone", "page"])
def test_a_second_task_of_a_key_is_not_written_while_the_first_waits(lua: Lua, due: int) -> None:
    assert [write(lua, n, due=due) for n in (1, 1, 2, 3)] == ["u1"] * 4
    assert sum(lua.counts().values()) == 1
    lua.cancel_wherever(NOW, "u1")
    assert write(lua, 4, due=due) == "u4"
    lua.cancel_wherever(NOW, "u4")
    lua.sweep(NOW + KEEP + STEP).run()
    assert leftovers(lua) <= {b"ready:q:5", b"wake:q", b"timetable"}


def test_a_running_task_holds_its_key_if_that_is_asked_for(lua: Lua) -> None:
    write(lua, 1)
    held = take(lua, DUE)
    assert write(lua, 2, DUE, held_while="running") == "u1"
    lua.complete(DUE, held).run()
    assert write(lua, 2, DUE, held_while="running") == "u2"
    assert write(lua, 1, DUE) == "u2"


def test_a_running_task_leaves_its_key_to_the_next_otherwise(lua: Lua) -> None:
    write(lua, 1)
    held = take(lua, DUE)
    assert write(lua, 2, DUE, DUE + 9) == "u2"
    lua.complete(DUE, held).run()
    lua.sweep(DUE + KEEP + STEP).run()
    assert lua.client.hget(lua.keys.claims, "uq:key")[6:] == b"u2"


def test_a_key_is_held_for_a_time_even_if_its_task_is_done_and_is_free_afterwards(lua: Lua) -> None:
    until = DUE + 200_000
    write(lua, 1, until=until)
    lua.complete(DUE, take(lua, DUE)).run()
    now = DUE
    while now < until - STEP:
        assert write(lua, 2, now, now) == "u1"
        now += STEP
        lua.sweep(now).run()
    lua.sweep(until + 2 * STEP).run()
    assert leftovers(lua) <= {b"wake:q", b"timetable"}
    assert write(lua, 2, until + STEP, until + 60_000) == "u2"


def test_a_key_that_ends_before_other_memories_is_free_in_memory_then_too(lua: Lua) -> None:
    until = NOW + KEEP + 2 * STEP
    write(lua, 1, due=NOW, until=until)
    lua.complete(NOW, take(lua, NOW)).run()
    lua.sweep(NOW + KEEP).run()
    lua.complete(NOW + KEEP, lua.one("other")).run()
    assert lua.timetable()[b"f"] == until
    lua.sweep(until).run()
    assert lua.states(until, "u1", "other") == ["unknown", "done"]
    assert not {b"claims", b"holding"} & lua.names()
    audit(lua)


def test_an_id_in_use_again_is_not_forgotten_when_its_former_task_lets_its_key_go(lua: Lua) -> None:
    until = NOW + 3 * KEEP
    write(lua, 1, due=NOW, until=until)
    lua.complete(NOW, take(lua, NOW)).run()
    lua.sweep(NOW + KEEP).run()
    assert lua.schedule(NOW + KEEP, Task("u1", until + KEEP, nonce=b"another!")).run() == [1]
    lua.sweep(until).run()
    assert lua.states(until, "u1") == ["delayed"]
    assert b"holding" not in lua.names()


def hold(lua: Lua, keys: int) -> None:
    """Done tasks that are remembered for their keys alone; of the n-th until n ms after the first."""
    until = NOW + 10 * KEEP
    lua.client.script_load(script("unique").text)
    for first in range(0, keys, 1000):
        with lua.client.pipeline(transaction=False) as pipe:
            for n in range(first, first + 1000):
                task = Task(f"u{n}", NOW, nonce=b"%08d" % n, claim=b"uq:%d" % n)
                replace(lua.unique(NOW, task, "waiting", until + n), client=pipe).run()
            pipe.execute()
        lua.complete(NOW, *lua.take_all(NOW, most=1000)).run()
    for _ in range(0, keys, 1000):
        lua.sweep(NOW + KEEP, 1000).run()


def commands(lua: Lua) -> int:
    """How many the server has run, also within scripts."""
    return sum(int(stats["calls"]) for stats in lua.client.info("commandstats").values())


@pytest.mark.slow
def test_a_sweep_among_a_hundred_thousand_held_keys_touches_those_alone_that_let_go(
    valkey: RedisServer, namespace: str
) -> None:
    lua, until, keys = Lua(valkey.client(), namespace), NOW + 10 * KEEP, 100_000
    hold(lua, keys)
    assert lua.client.zcard(lua.keys.holding) == lua.client.hlen(lua.keys.claims) == keys
    used = []
    for now in (NOW + 2 * KEEP, NOW + 3 * KEEP, until - 1, until + 9):
        before = commands(lua)
        lua.sweep(now).run()
        used.append(commands(lua) - before)
    assert used[0] == used[1] == used[2] <= 10
    assert used[3] <= 10 + 10 * 6
    assert lua.client.zcard(lua.keys.holding) == lua.client.hlen(lua.keys.claims) == keys - 10
    for _ in range(keys // 1000):
        lua.sweep(until + keys, 1000).run()
    assert leftovers(lua) <= {b"wake:q", b"timetable"}
    assert b"f" not in lua.timetable()
    lua.client.close()


@pytest.mark.parametrize("end", ["cancel", "bury", "purge"])
def test_a_key_dies_with_its_task_whatever_its_time(lua: Lua, end: str) -> None:
    write(lua, 1, until=NOW + 900_000)
    if end == "cancel":
        lua.cancel_wherever(NOW, "u1")
    else:
        lua.bury(DUE, take(lua, DUE)).run()
        if end == "purge":
            lua.purge(DUE, "u1").run()
    assert write(lua, 2, DUE, FAR) == "u2"
    audit(lua)


def test_a_repeated_call_is_known_whatever_became_of_its_task(lua: Lua) -> None:
    write(lua, 1)
    held = take(lua, DUE)
    assert write(lua, 1, DUE) == "u1"
    lua.complete(DUE, held).run()
    assert write(lua, 1, DUE) == "u1"
    assert lua.counts() == {"done": 1}


def test_an_id_that_another_task_has_is_refused(lua: Lua) -> None:
    lua.schedule(NOW, Task("u1", FAR), Task("d1", FAR)).run()
    assert write(lua, 1) == ""
    assert lua.debounce(NOW, pushed(1)).run() == [b"taken", b"d1"]
    assert lua.counts() == {"delayed": 2}


# ---- debounce


@pytest.mark.parametrize("start", [NOW, DUE, FAR], ids=["ready", "lone", "page"])
@pytest.mark.parametrize("to", [NOW, DUE + 7, FAR, FAR + 60_000])
def test_each_call_gives_the_waiting_task_its_time_and_its_data(lua: Lua, start: int, to: int) -> None:
    assert lua.debounced(NOW, pushed(1, start)) == "d1"
    assert lua.debounced(NOW, pushed(2, to, band=7)) == "d1"
    audit(lua, NOW)
    for now in (opening(to), to):
        if now > NOW and to > FAR - 1:
            lua.open_whole_page(now, to // 60_000)
    lua.promote_due(max(NOW, to))
    (held,) = lua.take_all(max(NOW, to), ASKED)
    assert (held.id, held.due, held.band) == ("d1", to, 7)
    assert lua.client.hget(lua.keys.records, "d1")[-1:] == b"2"


def test_a_task_in_a_bucket_is_pushed_out_of_it(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(20, DUE)).run()
    lua.debounced(NOW, pushed(1))
    assert lua.debounced(NOW, pushed(2, DUE + 5)) == "d1"
    audit(lua, NOW)


def test_the_first_call_bounds_how_far_it_is_pushed(lua: Lua) -> None:
    for n, now in enumerate(range(NOW, NOW + 3000, 500)):
        lua.debounced(now, pushed(n, now + 2000), 3000)
    (found,) = lua.locate(NOW + 2500, "d0").run()
    assert found[1] == NOW + 3000


def test_a_call_while_the_task_runs_makes_a_new_one(lua: Lua) -> None:
    lua.debounced(NOW, pushed(1))
    held = take(lua, DUE)
    assert lua.debounced(DUE, pushed(2, DUE + 9)) == "d2"
    assert lua.complete(DUE, held).run() == [1]
    assert take(lua, DUE + 9).id == "d2"


def test_a_repeated_call_whose_task_has_run_meanwhile_makes_none(lua: Lua) -> None:
    lua.debounced(NOW, pushed(1))
    lua.debounced(NOW, pushed(2))
    held = take(lua, DUE)
    assert lua.debounced(DUE, pushed(2)) == "d1"
    lua.complete(DUE, held).run()
    assert lua.debounced(DUE, pushed(2)) == "d1"
    assert lua.counts() == {"done": 1}


def test_a_retry_that_waits_is_pushed_too(lua: Lua) -> None:
    lua.debounced(NOW, pushed(1))
    lua.retry(DUE, DUE + 50, take(lua, DUE)).run()
    assert lua.debounced(DUE, pushed(2, DUE + 90)) == "d1"
    held = take(lua, DUE + 90)
    assert (held.failed, held.due) == (1, DUE + 90)


@pytest.mark.parametrize(
    ("answer", "keeps"),
    [("failed", True), ("throttled", True), ("nothing", False)],
    ids=lambda value: str(value),
)
def test_a_call_brings_no_retry_nearer_than_its_back_off(lua: Lua, answer: str, keeps: bool) -> None:
    lua.debounced(NOW, pushed(1), 2000)
    lua.retry(DUE, FAR, take(lua, DUE), counted=answer).run()
    for n, now in enumerate((DUE + 1, NOW + 2000, NOW + 9000), 2):
        assert lua.debounced(now, pushed(n, now + 500), 2000) == "d1"
        (found,) = lua.locate(now, "d1").run()
        assert found[1] == (FAR if keeps else min(now + 500, NOW + 2000))
    assert lua.client.hget(lua.keys.records, "d1")[-1:] == b"4"
    assert lua.debounced(NOW + 9001, pushed(5, FAR + 7), 2000) == "d1"


def test_a_thousand_pushes_leave_nothing(lua: Lua) -> None:
    for n in range(500):
        lua.debounced(NOW, pushed(n, (FAR if n % 2 else DUE) + n % 9))
    assert lua.counts() == {"delayed": 1}
    lua.cancel_wherever(NOW, "d0")
    lua.sweep(NOW + KEEP + STEP).run()
    assert leftovers(lua) <= {b"timetable"}


def test_a_task_that_has_the_id_by_now_and_another_key_or_none_holds_nothing(lua: Lua) -> None:
    first = Task("rep", NOW, nonce=b"%08d" % 1, claim=b"uq:key")
    assert lua.unique(NOW, first).run() == b"rep"
    lua.complete(NOW, *lua.take_all(NOW)).run()
    assert lua.schedule(NOW, Task("rep", DUE, nonce=b"%08d" % 2)).run() == [1]
    assert lua.unique(NOW, Task("next", NOW, nonce=b"%08d" % 3, claim=b"uq:key")).run() == b"next"


@pytest.mark.parametrize("until", [0, NOW + 9 * KEEP], ids=["remembered", "holding"])
def test_an_id_that_comes_back_with_another_key_leaves_its_former_key_nothing(lua: Lua, until: int) -> None:
    for n, now in enumerate((NOW, NOW + KEEP + STEP)):
        assert (
            lua.unique(now, Task("rep", now, nonce=b"%08d" % n, claim=b"uq:%d" % n), until=until).run()
            == b"rep"
        )
        lua.complete(now, *lua.take_all(now)).run()
        if until:
            lua.sweep(now + KEEP).run()
    assert lua.client.hkeys(lua.keys.claims) == [b"uq:1"]
    now = NOW + KEEP + STEP + 1
    assert lua.debounced(now, Task("rep", now, nonce=b"%08d" % 3, claim=b"dq:1")) == "rep"
    assert lua.client.hkeys(lua.keys.claims) == [b"dq:1"]


@pytest.mark.parametrize("into", ["q", "other"])
def test_a_redriven_task_holds_its_key_again_but_not_from_another_queue(lua: Lua, into: str) -> None:
    write(lua, 0, due=NOW)
    lua.bury(NOW, take(lua, NOW)).run()
    lua.redrive(NOW, unique(0), into=into).run()
    assert write(lua, 1, due=NOW) == ("u0" if into == "q" else "u1")
    audit(lua, NOW)
    lua.complete(NOW, *lua.take_all(NOW, Asked("q"), Asked("other"))).run()
    lua.sweep(NOW + KEEP + STEP).run()
    assert lua.client.hlen(lua.keys.claims) == 0


def test_a_redriven_task_runs_beside_a_newer_one_that_has_its_key_by_then(lua: Lua) -> None:
    write(lua, 0, due=NOW)
    lua.bury(NOW, take(lua, NOW)).run()
    assert write(lua, 1, due=NOW) == "u1"
    lua.redrive(NOW, unique(0)).run()
    assert lua.states(NOW, "u0", "u1") == ["ready", "ready"]
    assert write(lua, 2, due=NOW) == "u1"
    lua.complete(NOW, *lua.take_all(NOW)).run()
    lua.sweep(NOW + KEEP + STEP).run()
    assert lua.client.hlen(lua.keys.claims) == 0
