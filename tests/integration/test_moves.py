"""A schedule whose queue lives in another shard moves there whole, whoever is killed in the middle of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from oncue import App, WrongState
from oncue.common.configtypes import ScheduleConfig
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.definition import defined
from oncue.scheduler.move import arrive, hand_over
from oncue.scheduler.put import put
from oncue.scheduler.schedules import apply, changes
from oncue.scheduler.standing import Stored, all_by_name, find
from oncue.scheduler.stranded import take_back
from tests.support.fixtures import valkey_store
from tests.support.moving import before_call, hours_run, killed_after, queues_of
from tests.support.product import HOUR_MS, START_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer

store = valkey_store(shards=2)

FILE = "/etc/oncue.yaml"
# What a process does with the file.
APPLIES = """
from oncue.common.configtypes import ScheduleConfig
from oncue.scheduler.schedules import apply
file, name, queue = words
config = ScheduleConfig(name, "0 * * * *", "UTC", queue, None, catch_up="all", overlap="allow")
apply(store, [config], file)
"""


@pytest.fixture
def queues(store: Store) -> list[str]:
    return queues_of(store)


def entry(name: str, queue: str) -> ScheduleConfig:
    return ScheduleConfig(name, "0 * * * *", "UTC", queue, None, catch_up="all", overlap="allow")


def home(store: Store, name: str) -> list[Shard]:
    """The shards that know a schedule."""
    return [found.shard for found in all_by_name(store).get(name, ())]


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_move_takes_pause_counts_history_and_backfilled_instants_along(
    app: App, store: Store, clock: FixedClock, queues: list[str], by_hand: bool
) -> None:
    clock.ms = START_MS + HOUR_MS // 2
    apply(store, [entry("one", queues[0])], FILE)
    app.schedules.backfill("one", instant(START_MS), instant(START_MS))
    clock.ms = START_MS + HOUR_MS
    Passes(store)()
    before = app.schedules.pause("one", by="ada", why="audit")
    history = app.schedules.history("one")
    clock.ms += HOUR_MS // 2
    if by_hand:
        app.schedules.change("one", queue=queues[1])
    else:
        config = entry("one", queues[1])
        assert [change.what for change in changes(store, [config], FILE)] == ["edited"]
        assert apply(store, [config], FILE).changes == ["edited one"]
    assert home(store, "one") == [store.shard(queues[1])]
    after = app.schedules.get("one")
    kept = ("state", "by", "why", "fired", "backfilled", "created_ms", "last_ms", "late_ms", "changed_at_ms")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert app.schedules.history("one") == history
    assert app.schedules.backfill("one", instant(START_MS), instant(START_MS)).made == []
    clock.ms = START_MS + 3 * HOUR_MS
    assert app.schedules.resume("one").skipped == 2
    clock.ms += HOUR_MS
    Passes(store)()
    assert hours_run(Hands(store, queues[1:])) == [4]


def test_what_is_due_at_the_move_runs_where_it_came_from_and_once(
    app: App, store: Store, clock: FixedClock, queues: list[str]
) -> None:
    apply(store, [entry("one", queues[0])], FILE)
    clock.ms = START_MS + 2 * HOUR_MS
    apply(store, [entry("one", queues[1])], FILE)
    clock.ms += HOUR_MS
    Passes(store)()
    assert hours_run(Hands(store, queues[:1])) == [1, 2]
    assert hours_run(Hands(store, queues[1:])) == [3]


@pytest.mark.parametrize("goes_back", [False, True])
@pytest.mark.parametrize("is_paused", [False, True])
def test_a_move_that_is_killed_anywhere_is_completed_by_the_next_start_and_each_tick_runs_once(
    app: App,
    store: Store,
    valkey: RedisServer,
    namespace: str,
    clock: FixedClock,
    queues: list[str],
    is_paused: bool,
    goes_back: bool,
) -> None:
    hands = Hands(store, queues)
    for calls in range(1, 30):
        clock.ms = START_MS
        name, file = f"one-{calls}", f"/etc/{calls}.yaml"
        apply(store, [entry(name, queues[0])], file)
        clock.ms += HOUR_MS
        Passes(store)()
        if is_paused:
            app.schedules.pause(name, by="ada")
        clock.ms += HOUR_MS // 2
        is_killed = killed_after(calls, APPLIES, valkey.url, namespace, clock, file, name, queues[1])
        # Nobody comes for three hours, but for the schedulers that are there.
        clock.ms = START_MS + 3 * HOUR_MS
        Passes(store)()
        clock.ms += HOUR_MS
        apply(store, [entry(name, queues[0 if goes_back else 1])], file, forced=goes_back)
        Passes(store)()
        assert home(store, name) == [store.shard(queues[0 if goes_back else 1])], calls
        found = app.schedules.get(name)
        if is_paused:
            assert (found.state, found.by, found.fired) == ("paused", "ada", 1), calls
            app.schedules.resume(name)
            clock.ms += HOUR_MS
            Passes(store)()
        assert hours_run(hands) == ([1, 5] if is_paused else [1, 2, 3, 4]), calls
        planned = [event["planned"] for event in app.schedules.history(name) if event["what"] == "fired"]
        assert len(planned) == len(set(planned)) == (2 if is_paused else 4), calls
        app.schedules.remove(name)
        if not is_killed:
            return
    raise AssertionError("the child was killed every time")


def test_a_move_cut_short_says_so_and_what_to_do(app: App, store: Store, queues: list[str]) -> None:
    app.schedules.create("one", cron="0 * * * *", queue=queues[0])
    (stored,) = all_by_name(store)["one"]
    hand_over(stored, b"")
    found = app.schedules.get("one")
    assert (found.state, found.next_ms) == ("invalid", None)
    assert "its move to another shard was cut short" in found.reason
    with pytest.raises(WrongState, match="already"):
        app.schedules.create("one", cron="0 * * * *", queue=queues[1])
    assert app.schedules.change("one", queue=queues[1]).state == "active"
    assert home(store, "one") == [store.shard(queues[1])]


def cut_short(store: Store, name: str, to: Shard) -> None:
    """A move whose mover is killed after the second of its three steps: it is in both shards."""
    (stored,) = all_by_name(store)[name]
    _, told = hand_over(stored, b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oncue.scheduler.move.forget", lambda *_: None)
        arrive(store, stored, to, told)
    assert len(home(store, name)) == 2


@pytest.mark.parametrize("taken_back", [False, True])
def test_who_puts_what_was_cut_short_leaves_no_copy_behind(
    app: App, store: Store, queues: list[str], taken_back: bool
) -> None:
    app.schedules.create("one", cron="0 * * * *", queue=queues[0])
    cut_short(store, "one", store.shard(queues[1]))
    if taken_back:
        take_back(store)
    else:
        app.schedules.change("one", priority=6)
    assert app.schedules.get("one").state == "active"
    assert home(store, "one") == [store.shard(queues[0])]


def test_what_a_move_has_left_behind_wins_over_nothing_though_its_mark_is_later(
    app: App, store: Store, clock: FixedClock, queues: list[str]
) -> None:
    apply(store, [entry("one", queues[0])], FILE)
    clock.ms = START_MS + HOUR_MS // 2
    cut_short(store, "one", store.shard(queues[1]))
    # Killed between the put and what comes after it.
    put(store, store.shard(queues[0]), [defined(entry("one", queues[0]), FILE)], {"one": b"*"})
    clock.ms = START_MS + HOUR_MS
    Passes(store)()
    hands = Hands(store, queues)
    assert hours_run(hands) == [1]
    clock.ms = START_MS + HOUR_MS // 4
    apply(store, [entry("one", queues[1])], FILE)
    assert home(store, "one") == [store.shard(queues[1])]
    assert app.schedules.get("one").fired == 1
    clock.ms = START_MS + 2 * HOUR_MS
    Passes(store)()
    assert hours_run(hands) == [2]


def test_what_is_to_be_moved_stays_where_another_of_its_name_stands_there(
    app: App, store: Store, queues: list[str]
) -> None:
    for queue in queues:
        put(store, store.shard(queue), [defined(entry("one", queue), "")], {"one": b""})
    before = all_by_name(store)["one"]
    with pytest.raises(WrongState, match="look at it"):
        app.schedules.change("one", queue=queues[1])
    assert all_by_name(store)["one"] == before


def test_of_two_that_were_created_at_once_a_file_keeps_the_one_in_the_shard_of_its_queue(
    app: App, store: Store, clock: FixedClock, queues: list[str]
) -> None:
    for queue in queues:
        put(store, store.shard(queue), [defined(entry("one", queue), FILE)], {"one": b"*"})
    assert [change.what for change in changes(store, [entry("one", queues[1])], FILE)] == ["removed"]
    assert apply(store, [entry("one", queues[1])], FILE).changes == ["removed one"]
    stand = {found.shard: found.state for found in all_by_name(store)["one"]}
    assert stand == {store.shard(queues[0]): "removed", store.shard(queues[1]): "active"}
    clock.ms = START_MS + HOUR_MS
    Passes(store)()
    assert hours_run(Hands(store, queues)) == [1]


@pytest.mark.parametrize("forced", [True, False])
def test_a_file_that_is_put_while_its_schedule_is_moved_by_hand_leaves_one_of_them(
    app: App,
    store: Store,
    queues: list[str],
    clock: FixedClock,
    forced: bool,
) -> None:
    apply(store, [entry("one", queues[0])], FILE)
    with before_call(lambda: app.schedules.change("one", queue=queues[1]), "put_schedule"):
        apply(store, [replace(entry("one", queues[0]), priority=7)], FILE, forced=forced)
    (there,) = [found for found in all_by_name(store)["one"] if found.state != "removed"]
    assert there.shard is store.shard(queues[0])
    clock.ms += HOUR_MS
    Passes(store)()
    assert len(Hands(store, queues).reserve()) == 1


def test_what_was_moved_by_hand_stays_though_a_scheduler_that_starts_has_missed_it(
    app: App, store: Store, queues: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(store, [entry("one", queues[0])], FILE)
    app.schedules.change("one", queue=queues[1])

    def missed(store: Store) -> dict[str, list[Stored]]:
        monkeypatch.undo()
        return {}

    monkeypatch.setattr("oncue.scheduler.schedules.all_by_name", missed)
    apply(store, [entry("one", queues[0])], FILE)
    (there,) = [found for found in all_by_name(store)["one"] if found.state != "removed"]
    assert (there.shard, there.source) == (store.shard(queues[1]), "")


def test_of_two_programs_that_create_a_schedule_in_two_shards_one_is_refused(
    app: App, store: Store, queues: list[str]
) -> None:
    create = partial(app.schedules.create, "one", cron="0 * * * *")
    with (
        before_call(partial(create, queue=queues[1], priority=3), "put_schedule"),
        pytest.raises(WrongState, match="made or moved at the same moment"),
    ):
        create(queue=queues[0])
    (there,) = all_by_name(store)["one"]
    assert there.shard is store.shard(queues[1])


@pytest.mark.parametrize("order", [1, -1])
def test_a_schedule_is_found_though_it_moves_while_it_is_looked_for(
    app: App, store: Store, queues: list[str], monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    here, there = queues[::order]
    app.schedules.create("one", cron="0 * * * *", queue=here)
    looked = find

    def slow(shard: Shard, name: str) -> list[Stored]:
        found = looked(shard, name)
        if shard is store.shards[0]:
            monkeypatch.undo()
            app.schedules.change("one", queue=there)
        return found

    monkeypatch.setattr("oncue.scheduler.standing.find", slow)
    assert app.schedules.get("one").state == "active"


@pytest.mark.parametrize("is_same_move", [False, True])
def test_a_mover_whose_mark_was_taken_by_others_that_moved_it_again_puts_no_second_one(
    valkey: RedisServer,
    namespace: str,
    clock: FixedClock,
    is_same_move: bool,
) -> None:
    with opened(valkey, namespace, shards=3, clock=clock) as store:
        app = app_on(store)
        first, second, third = queues_of(store)
        app.schedules.create("one", cron="0 * * * *", queue=first)

        def others() -> None:
            app.schedules.change("one", queue=second if is_same_move else first, priority=7)
            clock.ms += 1
            app.schedules.change("one", queue=third)

        with before_call(others, "arrive"), pytest.raises(WrongState):
            app.schedules.change("one", queue=second)
        (there,) = all_by_name(store)["one"]
        assert there.shard is store.shard(third)


def test_a_file_that_has_seen_a_schedule_twice_while_it_moved_takes_none_away(
    app: App, store: Store, queues: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app.schedules.create("one", cron="0 * * * *", queue=queues[0])
    before = all_by_name(store)
    app.schedules.change("one", queue=queues[1])

    def twice(store: Store) -> dict[str, list[Stored]]:
        monkeypatch.undo()
        return {"one": before["one"] + all_by_name(store)["one"]}

    monkeypatch.setattr("oncue.scheduler.schedules.all_by_name", twice)
    apply(store, [entry("one", queues[1])], FILE, forced=True)
    (there,) = [found for found in all_by_name(store)["one"] if found.state != "removed"]
    assert (there.shard, there.source) == (store.shard(queues[1]), FILE)
