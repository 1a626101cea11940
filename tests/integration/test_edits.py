"""What is due when a schedule is edited: done by the definition that it came from, however much it is, if it can be read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oncue import App
from oncue.common.configtypes import ScheduleConfig
from oncue.common.store import Store
from oncue.scheduler.schedules import apply
from tests.support.fixtures import valkey_store
from tests.support.moving import before_call, queue_elsewhere
from tests.support.newer import make_newer, put_off
from tests.support.product import HOUR_MS, MINUTE_MS, START_MS, FixedClock, Hands, Passes

store = valkey_store(shards=2)

FILE = "/etc/oncue.yaml"


def entry(name: str, queue: str = "default", **settings: Any) -> ScheduleConfig:
    usual = ScheduleConfig(name, "0 * * * *", "UTC", queue, None, catch_up="all", overlap="allow")
    return replace(usual, **settings)


def hours(app: App, name: str, what: str) -> list[int]:
    """The hours, counted from the start, that something became of."""
    found = [event["planned"] for event in app.schedules.history(name) if event["what"] == what]
    return sorted((planned - START_MS) // HOUR_MS for planned in found)


@pytest.mark.parametrize("moves", [False, True])
def test_a_paused_schedule_that_cannot_be_read_here_does_not_keep_a_file_from_being_put(
    app: App, store: Store, clock: FixedClock, moves: bool
) -> None:
    apply(store, [entry("one"), entry("two")], FILE)
    app.schedules.pause("one", by="ada")
    make_newer(store.shard("default"), "one")
    clock.ms = START_MS + 2 * HOUR_MS + 1
    queue = queue_elsewhere(store) if moves else "default"
    edited = [entry("one", queue, priority=7), entry("two", priority=7)]
    assert sorted(apply(store, edited, FILE).changes) == ["edited one", "edited two"]
    found = app.schedules.get("one")
    assert (found.state, found.by, found.reason) == ("paused", "ada", "")
    assert hours(app, "one", "skipped") == [1]
    clock.ms = START_MS + 4 * HOUR_MS + 1
    app.schedules.resume("one")
    assert hours(app, "one", "skipped") == [1, 3, 4]
    clock.ms = START_MS + 5 * HOUR_MS + 1
    Passes(store)()
    assert hours(app, "one", "fired") == [5]


@pytest.mark.parametrize("moves", [False, True])
def test_an_edit_first_fires_all_that_is_due_however_much_it_is(
    app: App, store: Store, clock: FixedClock, moves: bool
) -> None:
    minutes = entry("one", cron="* * * * *", catch_up_max=1000)
    apply(store, [minutes], FILE)
    clock.ms = START_MS + 600 * MINUTE_MS + 1
    queue = queue_elsewhere(store) if moves else "default"
    assert apply(store, [replace(minutes, queue=queue, priority=7)], FILE).changes == ["edited one"]
    found = app.schedules.get("one")
    assert (found.fired, found.next_ms) == (600, START_MS + 601 * MINUTE_MS)


@pytest.mark.parametrize("moves", [False, True])
def test_what_was_put_off_runs_before_an_edit_by_who_can_read_it(
    app: App, store: Store, clock: FixedClock, moves: bool
) -> None:
    app.schedules.create("one", cron="0 * * * *", catch_up="all", overlap="allow", priority=3)
    clock.ms = START_MS + HOUR_MS
    put_off(store.shard("default"), "one")
    assert app.schedules.get("one").state == "invalid"
    clock.ms = START_MS + 3 * HOUR_MS + 1
    app.schedules.change("one", priority=7, queue=queue_elsewhere(store) if moves else "default")
    assert hours(app, "one", "fired") == [1, 2, 3]
    assert {task.priority for task in Hands(store, ("default",)).reserve()} == {3}
    assert app.schedules.get("one").state == "active"


@pytest.mark.parametrize("script", ["put_schedule", "resume"])
def test_who_sleeps_over_a_tick_in_the_middle_of_an_edit_or_a_resume_does_not_have_it_run_again(
    app: App, store: Store, clock: FixedClock, script: str
) -> None:
    app.schedules.create("one", cron="0 * * * *")
    if script == "resume":
        app.schedules.pause("one")
    hands = Hands(store, ("default",))
    ran: list[str] = []

    def work() -> None:
        Passes(store)()
        tasks = hands.reserve()
        ran.extend(task.id for task in tasks)
        hands.complete(*tasks)

    def sleep() -> None:
        if script == "resume":
            app.schedules.resume("one")
        clock.ms = START_MS + HOUR_MS
        work()
        # Longer than finished tasks are remembered.
        clock.ms += HOUR_MS // 2
        work()
        if script == "resume":
            app.schedules.pause("one")

    with before_call(sleep, script):
        if script == "resume":
            app.schedules.resume("one")
        else:
            apply(store, [entry("one", priority=7)], FILE, forced=True)
    for hour in (2, 3):
        work()
        clock.ms = START_MS + hour * HOUR_MS
        work()
    assert ran == [f"one@2027-01-15T{hour:02}:00:00Z" for hour in (9, 10, 11)]
    assert hours(app, "one", "fired") == [1, 2, 3]


@pytest.mark.parametrize("how", ["edited", "moved", "moved by a file", "planned anew"])
def test_a_tick_that_jitter_keeps_for_later_is_not_lost_by_an_edit(
    app: App, store: Store, clock: FixedClock, how: str
) -> None:
    app.schedules.create("one", cron="0 * * * *", jitter_s=1200)
    run_ms = app.schedules.get("one").next_run_ms or 0
    assert run_ms > START_MS + HOUR_MS + 1
    clock.ms = START_MS + HOUR_MS + 1
    if how == "moved by a file":
        apply(store, [entry("one", queue_elsewhere(store), jitter_s=1200)], FILE, forced=True)
    else:
        app.schedules.change(
            "one", **{"queue": queue_elsewhere(store)} if how == "moved" else {"priority": 7}
        )
    if how == "planned anew":
        shard = store.shard("default")
        shard.command("HDEL", shard.keys.schedule("one"), "rules")
    assert app.schedules.get("one").next_ms == START_MS + HOUR_MS
    clock.ms = run_ms - 1
    assert Passes(store)() == run_ms
    clock.ms = run_ms
    Passes(store)()
    assert hours(app, "one", "fired") == [1]
    assert app.schedules.get("one").next_ms == START_MS + 2 * HOUR_MS


@pytest.mark.parametrize("how", ["edited", "moved", "moved by a file", "planned anew"])
def test_a_tick_in_its_jitter_runs_at_once_when_an_edit_leaves_less_jitter_than_has_passed(
    app: App, store: Store, clock: FixedClock, how: str
) -> None:
    app.schedules.create("one", cron="0 * * * *", jitter_s=3000)
    run_ms = app.schedules.get("one").next_run_ms or 0
    assert run_ms > START_MS + HOUR_MS + 1
    clock.ms = run_ms - 1
    if how == "moved by a file":
        apply(store, [entry("one", queue_elsewhere(store))], FILE, forced=True)
    else:
        app.schedules.change("one", jitter_s=0, **{"queue": queue_elsewhere(store)} if how == "moved" else {})
    if how == "planned anew":
        shard = store.shard("default")
        shard.command("HDEL", shard.keys.schedule("one"), "rules")
    assert app.schedules.get("one").next_ms == START_MS + HOUR_MS
    Passes(store)()
    assert hours(app, "one", "fired") == [1]
    assert app.schedules.get("one").next_ms == START_MS + 2 * HOUR_MS


@pytest.mark.parametrize("cron", ["30 * * * *", "* * * * *"], ids=["has it not", "has later ones"])
@pytest.mark.parametrize("moves", [False, True])
def test_a_tick_in_its_jitter_that_goes_with_an_edit_is_skipped(
    app: App, store: Store, clock: FixedClock, moves: bool, cron: str
) -> None:
    app.schedules.create("one", cron="0 * * * *", jitter_s=3000)
    assert (app.schedules.get("one").next_run_ms or 0) > START_MS + HOUR_MS + 2 * MINUTE_MS
    clock.ms = START_MS + HOUR_MS + 2 * MINUTE_MS
    queue = {"queue": queue_elsewhere(store)} if moves else {}
    app.schedules.change("one", cron=cron, **queue)
    (event,) = app.schedules.history("one")
    assert event == {
        "what": "skipped",
        "reason": "edited before its run",
        "planned": START_MS + HOUR_MS,
        "at": clock.ms,
    }
    next_ms = app.schedules.get("one").next_ms or 0
    assert next_ms == START_MS + HOUR_MS + (30 if cron.startswith("30") else 3) * MINUTE_MS
    Passes(store)()
    assert app.schedules.get("one").skipped == 1
    assert hours(app, "one", "fired") == []


def test_what_was_planned_before_ticks_counted_from_the_end_of_a_run_is_none_of_them(
    app: App, store: Store, clock: FixedClock
) -> None:
    app.schedules.create("one", cron="0 * * * *")
    app.schedules.trigger("one")
    app.schedules.change("one", cron=None, every_s=600, from_end=True)
    clock.ms += 2 * HOUR_MS
    app.schedules.change("one", cron="0 * * * *", every_s=None, from_end=False)
    assert app.schedules.get("one").next_ms == START_MS + 3 * HOUR_MS
    assert hours(app, "one", "skipped") == []
