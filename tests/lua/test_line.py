"""The line of a schedule: whoever leaves it, and wherever, the next tick goes to its end, for a price that stays the same."""

from __future__ import annotations

import pytest

from tests.lua.audit import audit
from tests.lua.instants import KEEP
from tests.lua.report import STEP, at, fire, ids, tick
from tests.lua.schedule_calls import fired
from tests.lua.scripts import Lua
from tests.lua.tasks import Held, Task


def lined_up(lua: Lua, number: int, overlap: str = "queue") -> tuple[Held, list[Task]]:
    """A run in hand, and so many that wait behind it, one after the other."""
    fire(lua, 0, overlap)
    (held,) = lua.take_all(at(0))
    waiting = [Task(f"report+{n}", at(0)) for n in range(number)]
    for task in waiting:
        assert lua.trigger(at(0), "report", task).run() == [b"blocked"]
    return held, waiting


def run_to_the_end(lua: Lua, *held: Held) -> list[str]:
    """The ids of what runs, none beside another, until nothing waits any more."""
    order = []
    while held:
        (run,) = held
        order.append(run.id)
        lua.complete(at(9), run).run()
        lua.promote_due(at(9))
        held = (*lua.take_all(at(9)),)
    audit(lua, at(9))
    return order


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_a_run_goes_on_though_what_waited_for_it_was_cancelled(lua: Lua, overlap: str) -> None:
    held, waiting = lined_up(lua, 20, overlap)
    for task in waiting[::-1]:
        lua.cancel(at(0), task).run()
    lua.sweep(at(0) + KEEP).run()
    assert fire(lua, 1, overlap) == [b"skipped" if overlap == "skip" else b"blocked"]
    lua.complete(at(1), held).run()
    lua.promote_due(at(1))
    assert ids(lua.take_all(at(1))) == ([] if overlap == "skip" else ["report@1"])


@pytest.mark.parametrize("ended", [0, 1, 3])
@pytest.mark.parametrize("leaves", ["middle", "end", "nobody"])
def test_a_tick_goes_to_the_end_of_a_line_of_which_the_newest_were_cancelled_one_by_one(
    lua: Lua, ended: int, leaves: str
) -> None:
    held, waiting = lined_up(lua, 24)
    for _ in range(ended):
        lua.complete(at(0), held).run()
        lua.promote_due(at(0))
        (held,) = lua.take_all(at(0))
    last = Task("report+last", at(0))
    assert lua.trigger(at(0), "report", last).run() == [b"blocked"]
    for task in [*waiting[6:], last][::-1]:
        lua.cancel(at(0), task).run()
    tick_of = fired(tick(1), at(1), "line")
    assert lua.fire_all(at(1), "report", at(1), at(2), tick_of).run()[2] == [b"blocked"]
    gone = {"middle": [waiting[4]], "end": [waiting[5]], "nobody": []}[leaves]
    for task in gone:
        lua.cancel(at(1), task).run()
    audit(lua)
    running = ["report@0", *(task.id for task in waiting[:6])]
    stay = [one for one in running[ended:] if one not in [task.id for task in gone]]
    assert run_to_the_end(lua, held) == [*stay, "report@1"]
    assert lua.counts() == {"done": len(stay) + 1 + ended, "cancelled": 19 + len(gone)}


def test_a_tick_whose_task_was_made_before_it_leaves_the_end_of_the_line_where_it_is(lua: Lua) -> None:
    fire(lua, 0, "queue")
    (held,) = lua.take_all(at(0))
    lua.trigger(at(0), "report", tick(1), Task("report+1", at(0)), what="backfilled").run()
    ticks = [fired(tick(n), at(n), "line") for n in (1, 2)]
    assert lua.fire_all(at(2), "report", at(1), at(3), *ticks).run()[2] == [b"there", b"blocked"]
    lua.cancel(at(2), Task("report+1", at(0))).run()
    audit(lua)
    assert run_to_the_end(lua, held) == ["report@0", "report@1", "report@2"]


def test_a_tick_goes_from_behind_a_run_though_one_was_made_beside_that(lua: Lua) -> None:
    fire(lua, 0, "allow", every=STEP)
    (held,) = lua.take_all(at(0))
    assert lua.trigger(at(0), "report", Task("beside", at(0)), overlap="allow").run() == [b"ready"]
    lua.pause(at(0), "report").run()
    lua.complete(at(0), held).run()
    assert b"treport" not in lua.timetable()


def test_what_was_redriven_out_of_a_line_that_has_ended_is_not_replaced_by_a_tick(lua: Lua) -> None:
    held, _ = lined_up(lua, 1)
    lua.bury(at(0), held).run()
    lua.promote_due(at(0))
    lua.complete(at(0), *lua.take_all(at(0))).run()
    assert b"followers" not in lua.names()
    fire(lua, 1, "replace")
    lua.complete(at(1), *lua.take_all(at(1))).run()
    lua.redrive(at(1), Task(held.id, at(0))).run()
    assert fire(lua, 2, "replace") == [b"ready"]
    assert ids(lua.take_all(at(2))) == [held.id, "report@2"]


@pytest.mark.parametrize("cut", [0, 150, 298])
def test_a_tick_costs_as_much_behind_a_long_line_as_behind_a_short_one_whoever_was_cancelled(
    lua: Lua, cut: int
) -> None:
    def commands() -> int:
        return sum(found["calls"] for found in lua.client.info("commandstats").values())

    fire(lua, 0, "queue")
    lua.take_all(at(0))
    costs = []
    for n, number in enumerate((2, 300), 1):
        waiting = [Task(f"report+{n}-{m}", at(0)) for m in range(number)]
        lua.trigger(at(0), "report", *waiting).run()
        lua.cancel(at(0), *waiting[::-1][: min(cut, number - 1)]).run()
        call = lua.fire_all(at(n), "report", at(n), at(n + 1), fired(tick(n), at(n), "line"))
        before = commands()
        assert call.run()[2] == [b"blocked"]
        costs.append(commands() - before)
    assert costs[0] == costs[1]


def test_a_tick_that_an_older_oncue_has_put_behind_a_run_goes_from_there(lua: Lua) -> None:
    fire(lua, 0, "skip", every=STEP)
    (held,) = lua.take_all(at(0))
    lua.client.hdel(lua.keys.followers, "=report")
    lua.pause(at(0), "report").run()
    lua.complete(at(0), held).run()
    assert b"treport" not in lua.timetable()


def test_a_schedule_that_comes_back_goes_behind_the_line_that_it_has_left(lua: Lua) -> None:
    held, waiting = lined_up(lua, 2)
    lua.remove_schedule("report", for_good=True).run()
    lua.put_schedule("report", at(1)).run()
    lua.cancel(at(0), waiting[1]).run()
    assert lua.fire_all(at(1), "report", at(1), at(2), fired(tick(1), at(1), "line")).run()[2] == [b"blocked"]
    assert run_to_the_end(lua, held) == ["report@0", "report+0", "report@1"]
    assert b"followers" not in lua.names()


@pytest.mark.parametrize("goes", ["pause", "remove", "edit", "move"])
def test_a_tick_goes_from_behind_a_run_though_what_waited_in_between_was_cancelled(
    lua: Lua, goes: str
) -> None:
    fire(lua, 0, "skip", every=STEP)
    (held,) = lua.take_all(at(0))
    waiting = Task("report+1", at(0))
    assert lua.trigger(at(0), "report", waiting).run() == [b"blocked"]
    lua.cancel(at(0), waiting).run()
    calls = {
        "pause": lambda: lua.pause(at(0), "report"),
        "remove": lambda: lua.remove_schedule("report"),
        "edit": lambda: lua.put_schedule("report", at(5), "h2", now=at(0)),
        "move": lambda: lua.hand_over("report", now=at(0)),
    }
    calls[goes]().run()
    lua.complete(at(0) + 1, held).run()
    assert lua.timetable().get(b"treport") == (at(5) if goes == "edit" else None)


def test_a_tick_goes_behind_what_an_older_oncue_has_put_at_the_end_of_a_line(lua: Lua) -> None:
    held, waiting = lined_up(lua, 3)
    lua.client.hset(lua.keys.followers, "=report", held.id)
    assert lua.fire_all(at(1), "report", at(1), at(2), fired(tick(1), at(1), "line")).run()[2] == [b"blocked"]
    assert run_to_the_end(lua, held) == ["report@0", *(task.id for task in waiting), "report@1"]


@pytest.mark.parametrize("knows_names", [True, False])
def test_what_an_older_oncue_has_put_at_the_end_of_a_line_is_noted_by_a_tick_that_is_skipped(
    lua: Lua, knows_names: bool
) -> None:
    held, waiting = lined_up(lua, 5)
    lua.client.hset(lua.keys.followers, "=report", held.id)
    if not knows_names:
        lua.client.hdel(lua.keys.followers, waiting[-1].id)
    assert fire(lua, 1, "skip") == [b"skipped"]
    assert lua.client.hget(lua.keys.followers, "=report") == waiting[-1].id.encode()
    audit(lua)
    assert run_to_the_end(lua, held) == ["report@0", *(task.id for task in waiting)]
    assert b"followers" not in lua.names()


def test_the_note_of_a_last_task_that_an_older_oncue_has_ended_goes_with_the_next_tick(lua: Lua) -> None:
    fire(lua, 0, "skip")
    lua.complete(at(0), *lua.take_all(at(0))).run()
    lua.client.hset(lua.keys.followers, "=report", "report@0")
    assert fire(lua, 1, "skip") == [b"ready"]
    assert b"followers" not in lua.names()
    audit(lua)
