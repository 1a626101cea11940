"""A schedule that a program was moving to another shard goes on with the next scheduler, whoever was killed in the middle."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from oncue import App, NotFound, WrongState
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.move import forget, hand_over
from oncue.scheduler.standing import all_by_name
from oncue.scheduler.stranded import take_back
from tests.support.fixtures import valkey_store
from tests.support.moving import before_call, hours_run, killed_after, queues_of
from tests.support.processes import Process
from tests.support.product import HOUR_MS, START_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

store = valkey_store(shards=2)

# What a program does.
CHANGES = """
from tests.support.product import app_on
name, queue = words
app_on(store).schedules.change(name, queue=queue)
"""


def move(app: App, name: str, queue: str, at: int, meanwhile: Callable[[], object]) -> bool:
    """Moves a schedule while something else happens before one of its calls of scripts; whether there were so many."""
    call, left = Shard.call, at

    def counted(shard: Shard, *asked: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            meanwhile()
        return call(shard, *asked)

    with pytest.MonkeyPatch.context() as patch, suppress(WrongState, NotFound):
        patch.setattr(Shard, "call", counted)
        app.schedules.change(name, queue=queue)
    return left <= 0


@pytest.mark.parametrize("is_paused", [False, True])
def test_what_a_killed_program_was_moving_goes_on_with_the_next_scheduler_and_each_tick_runs_once(
    app: App, store: Store, valkey: RedisServer, namespace: str, clock: FixedClock, is_paused: bool
) -> None:
    queues = queues_of(store)
    hands = Hands(store, queues)
    for calls in range(1, 30):
        name, clock.ms = f"one-{calls}", START_MS
        app.schedules.create(name, cron="0 * * * *", queue=queues[0], catch_up="all", overlap="allow")
        clock.ms += HOUR_MS
        Passes(store)()
        if is_paused:
            app.schedules.pause(name, by="ada")
        clock.ms += HOUR_MS // 2
        is_killed = killed_after(calls, CHANGES, valkey.url, namespace, clock, name, queues[1])
        clock.ms = START_MS + 3 * HOUR_MS
        Passes(store)()
        take_back(store)
        take_back(store)
        found = app.schedules.get(name)
        assert (found.state, found.by) == (("paused", "ada") if is_paused else ("active", "")), calls
        if is_paused:
            app.schedules.resume(name)
        clock.ms += HOUR_MS
        Passes(store)()
        # And it can be moved again, whatever is left of the first time.
        app.schedules.change(name, queue=queues[1])
        app.schedules.change(name, queue=queues[0])
        clock.ms += HOUR_MS
        Passes(store)()
        assert hours_run(hands) == ([1, 4, 5] if is_paused else [1, 2, 3, 4, 5]), calls
        found = app.schedules.get(name)
        assert (found.state, found.fired) == ("active", 3 if is_paused else 5), calls
        app.schedules.remove(name)
        if not is_killed:
            return
    raise AssertionError("the child was killed every time")


def test_a_scheduler_that_starts_between_any_two_calls_of_a_move_doubles_and_loses_no_tick(
    app: App, store: Store, clock: FixedClock
) -> None:
    queues = queues_of(store)
    hands = Hands(store, queues)
    for at in range(1, 40):
        name, clock.ms = f"one-{at}", START_MS
        app.schedules.create(name, cron="0 * * * *", queue=queues[0], overlap="allow")
        was_met = move(app, name, queues[1], at, partial(take_back, store))
        for hour in (1, 2):
            clock.ms = START_MS + hour * HOUR_MS
            Passes(store)()
            assert hours_run(hands) == [hour], at
        assert app.schedules.get(name).state == "active", at
        app.schedules.remove(name)
        if not was_met:
            return
    raise AssertionError("the move had no end")


@pytest.mark.parametrize("is_removed_before", [False, True])
def test_what_is_removed_for_good_between_any_two_calls_of_a_move_does_not_come_back(
    app: App, store: Store, is_removed_before: bool
) -> None:
    queues = queues_of(store)

    def remove(name: str) -> None:
        if is_removed_before:
            app.schedules.remove(name)
        app.schedules.remove(name, for_good=True)

    for at in range(1, 40):
        name = f"one-{at}"
        app.schedules.create(name, cron="0 * * * *", queue=queues[0])
        if not move(app, name, queues[1], at, partial(remove, name)):
            assert app.schedules.get(name).state == "active"
            return
        assert name not in all_by_name(store), at
    raise AssertionError("the move had no end")


def test_what_somebody_else_has_moved_and_removed_meanwhile_does_not_come_back(
    app: App, store: Store
) -> None:
    queues = queues_of(store)
    app.schedules.create("one", cron="0 * * * *", queue=queues[0])

    def move_and_remove() -> None:
        app.schedules.change("one", queue=queues[1])
        app.schedules.remove("one", for_good=True)

    with before_call(move_and_remove, "arrive"), suppress(NotFound):
        app.schedules.change("one", queue=queues[1])
    assert all_by_name(store) == {}


@pytest.mark.parametrize("order", [1, -1])
def test_a_scheduler_that_takes_back_what_goes_on_moving_and_the_mover_do_not_both_take_it_away(
    app: App, store: Store, order: int
) -> None:
    here, there = (store.shard(queue) for queue in queues_of(store)[::order])
    app.schedules.create("one", cron="0 * * * *", queue=queues_of(store)[::order][0])
    (original,) = all_by_name(store)["one"]
    _, told = hand_over(original, b"")
    flat = told[1]
    moved = dict(zip(flat[::2], flat[1::2], strict=True))[b"moved"].decode()
    own = [getattr(there.keys, name)("one") for name in ("schedule", "history", "backfilled")]
    args = ["one", told[0], len(flat) // 2, 0, *flat]
    assert there.call("arrive", [there.keys.schedules, *own, there.keys.revisions], args) == 1
    # What the mover does next: its copy stands in the other shard.
    goes_on = partial(forget, store, here, "one", moved, str(there.number))
    with before_call(goes_on, "put_schedule", "remove_schedule"):
        take_back(store)
    take_back(store)
    (found,) = [entry for entry in all_by_name(store)["one"] if not entry.moved]
    assert found.state == "active"


@pytest.mark.parametrize("order", [1, -1])
def test_what_moves_while_it_is_removed_is_removed_where_it_has_come_to(
    app: App, store: Store, order: int
) -> None:
    here, there = queues_of(store)[::order]
    app.schedules.create("one", cron="0 * * * *", queue=here)
    with before_call(lambda: app.schedules.change("one", queue=there)):
        app.schedules.remove("one", for_good=True)
    assert all_by_name(store) == {}


def test_a_slow_move_does_not_put_a_second_one_beside_what_has_gone_to_a_third_shard_meanwhile(
    valkey: RedisServer, namespace: str, clock: FixedClock
) -> None:
    with opened(valkey, namespace, shards=3, clock=clock) as store:
        app, queues = app_on(store), queues_of(store)
        for at in range(1, 40):
            name = f"one-{at}"
            app.schedules.create(name, cron="0 * * * *", queue=queues[0])
            was_met = move(app, name, queues[1], at, partial(app.schedules.change, name, queue=queues[2]))
            (_,) = all_by_name(store)[name]
            assert app.schedules.get(name).state == "active", at
            if not was_met:
                return
        raise AssertionError("the move had no end")


def test_what_was_left_between_two_shards_ticks_again_once_a_scheduler_starts(
    valkey: RedisServer, namespace: str, run_oncue: Callable[..., Process], env: dict[str, str]
) -> None:
    with opened(valkey, namespace, shards=2) as store:
        app = app_on(store)
        app.schedules.create("one", cron="* * * * * *", queue=queues_of(store)[0], overlap="allow")
        (stored,) = all_by_name(store)["one"]
        assert hand_over(stored, b"")[0] == 1
        assert app.schedules.get("one").state == "invalid"
        run_oncue("scheduler", env={**env, "ONCUE_SHARDS": "2"})
        eventually(lambda: app.schedules.get("one").fired > 1, 15, "ticks")
