"""Edits and resumes of a schedule whose ticks count from the end of a run: none delays the next tick, however many come."""

from __future__ import annotations

from typing import Any

import pytest

from oncue import App
from oncue.common.configtypes import ScheduleConfig
from oncue.common.store import Store
from oncue.scheduler.schedules import apply, changes
from tests.support.fixtures import valkey_store
from tests.support.moving import queue_elsewhere
from tests.support.product import HOUR_MS, MINUTE_MS, START_MS, FixedClock, Hands, Passes

store = valkey_store(shards=2)

FILE = "/etc/oncue.yaml"
END_MS = START_MS + HOUR_MS + 880
"""When the first run has ended; the second one comes an hour later."""


def entry(**settings: Any) -> ScheduleConfig:
    usual: dict[str, Any] = {"queue": "default", "every_s": 3600.0, "from_end": True}
    return ScheduleConfig("one", None, "UTC", data=None, **(usual | settings))


def run_once(store: Store, clock: FixedClock, **settings: Any) -> None:
    """Puts the schedule, has it run an hour later, and ends that run."""
    apply(store, [entry(**settings)], FILE)
    clock.ms = START_MS + HOUR_MS
    Passes(store)()
    hands = Hands(store, ("default",))
    (task,) = hands.reserve()
    clock.ms = END_MS
    hands.complete(task)


def next_ms(app: App) -> int | None:
    return app.schedules.get("one").next_ms


def edit(app: App, store: Store, how: str) -> None:
    if how == "paused and resumed":
        app.schedules.pause("one")
        app.schedules.resume("one")
    elif how == "edited while it is paused":
        app.schedules.pause("one")
        app.schedules.change("one", priority=7)
        app.schedules.resume("one")
    elif how == "from another path":
        apply(store, [entry()], "/srv/oncue.yaml")
    elif how == "moved":
        app.schedules.change("one", queue=queue_elsewhere(store))
    else:
        apply(store, [entry(priority=7)], FILE, forced=True)


EDITS = ("edited", "from another path", "paused and resumed", "edited while it is paused", "moved")


@pytest.mark.parametrize("how", EDITS)
def test_an_edit_between_two_runs_leaves_the_next_one_where_it_was(
    app: App, store: Store, clock: FixedClock, how: str
) -> None:
    run_once(store, clock)
    for minutes in (20, 40, 59):
        clock.ms = END_MS + minutes * MINUTE_MS
        edit(app, store, how)
        assert next_ms(app) == END_MS + HOUR_MS
        edit(app, store, "edited")
        apply(store, [entry()], FILE, forced=True)
        assert next_ms(app) == END_MS + HOUR_MS
    clock.ms = END_MS + HOUR_MS
    Passes(store)()
    assert app.schedules.get("one").fired == 2


@pytest.mark.parametrize("how", EDITS)
def test_an_edit_before_the_first_run_leaves_it_where_it_was(
    app: App, store: Store, clock: FixedClock, how: str
) -> None:
    apply(store, [entry()], FILE)
    clock.ms += 40 * MINUTE_MS
    edit(app, store, how)
    assert next_ms(app) == START_MS + HOUR_MS


@pytest.mark.parametrize(
    ("minutes", "expected"), [(90, END_MS + 90 * MINUTE_MS), (20, END_MS + 30 * MINUTE_MS + 1)]
)
def test_another_interval_counts_from_the_last_end_and_never_comes_before_the_edit(
    app: App, store: Store, clock: FixedClock, minutes: int, expected: int
) -> None:
    run_once(store, clock)
    clock.ms = END_MS + 30 * MINUTE_MS
    (change,) = changes(store, [entry(every_s=60.0 * minutes)], FILE)
    apply(store, [entry(every_s=60.0 * minutes)], FILE)
    assert change.what == "edited"
    assert next_ms(app) == expected
    apply(store, [entry(every_s=60.0 * minutes, priority=7)], FILE)
    assert next_ms(app) == expected


def test_an_edit_while_a_run_goes_on_has_the_next_one_count_from_its_end(
    app: App, store: Store, clock: FixedClock
) -> None:
    apply(store, [entry()], FILE)
    clock.ms = START_MS + HOUR_MS
    Passes(store)()
    hands = Hands(store, ("default",))
    (task,) = hands.reserve()
    edit(app, store, "edited")
    clock.ms = END_MS
    hands.complete(task)
    clock.ms += MINUTE_MS
    apply(store, [entry()], FILE, forced=True)
    assert next_ms(app) == END_MS + HOUR_MS


def test_a_start_that_is_taken_back_does_not_keep_the_first_run_for_later(
    app: App, store: Store, clock: FixedClock
) -> None:
    apply(store, [entry(start="2028-01-01")], FILE)
    clock.ms += MINUTE_MS
    apply(store, [entry(start="2027-12-01")], FILE)
    apply(store, [entry()], FILE)
    assert next_ms(app) == START_MS + MINUTE_MS + HOUR_MS


@pytest.mark.parametrize("start", ["2027-01-15T08:30", "2027-01-16T09:00"])
def test_a_start_that_has_passed_since_the_last_end_neither_delays_the_next_run_nor_makes_one(
    app: App, store: Store, clock: FixedClock, start: str
) -> None:
    run_once(store, clock, every_s=72 * 3600.0, start="2027-01-15T09:00")
    clock.ms = END_MS + 48 * HOUR_MS
    apply(store, [entry(every_s=72 * 3600.0, start=start, catch_up="skip")], FILE)
    due_ms = END_MS + 72 * HOUR_MS
    assert next_ms(app) == due_ms
    clock.ms = due_ms
    Passes(store)()
    found = app.schedules.get("one")
    assert (found.fired, found.missed, found.last_ms) == (2, 0, due_ms)


def test_an_edit_in_its_jitter_leaves_the_next_run_where_it_was(
    app: App, store: Store, clock: FixedClock
) -> None:
    apply(store, [entry(jitter_s=3000.0)], FILE)
    first = app.schedules.get("one")
    assert first.next_run_ms is not None
    assert first.next_run_ms > START_MS + HOUR_MS + MINUTE_MS
    clock.ms = START_MS + HOUR_MS + MINUTE_MS
    apply(store, [entry(jitter_s=3000.0, priority=7)], FILE)
    edited = app.schedules.get("one")
    assert (edited.next_ms, edited.next_run_ms, edited.skipped) == (first.next_ms, first.next_run_ms, 0)


def test_an_excluded_date_is_waited_out_to_its_end_after_an_edit_as_before(
    app: App, store: Store, clock: FixedClock
) -> None:
    # 2027-01-15, and the run ends at 9 o'clock.
    run_once(store, clock, every_s=16 * 3600.0, start="2027-01-15T09:00", exclude=("2027-01-16",))
    clock.ms = END_MS + 16 * HOUR_MS
    Passes(store)()
    midnight = START_MS + 40 * HOUR_MS
    assert next_ms(app) == midnight
    clock.ms = midnight - HOUR_MS
    apply(
        store,
        [entry(every_s=16 * 3600.0, start="2027-01-15T09:00", exclude=("2027-01-16",), priority=7)],
        FILE,
    )
    assert next_ms(app) == midnight
