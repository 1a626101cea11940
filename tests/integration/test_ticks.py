"""When a tick comes: what is caught up after a standstill, what overlaps, and what people change meanwhile.

The clock is the test's: a standstill is the clock moved on with nobody looking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import oncue
from oncue import App, BadInput, CronError, NotFound, Task, WrongState
from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.catch_up import MOST_COUNTED, STEP
from tests.support.fixtures import valkey_store
from tests.support.product import DAY_MS, HOUR_MS, MINUTE_MS, START_MS, FixedClock, Hands, Passes

store = valkey_store()

QUEUE = "reports"


@pytest.fixture
def worker(store: Store) -> Hands:
    return Hands(store, (QUEUE,))


@pytest.fixture
def run(passes: Passes, worker: Hands) -> Callable[[], list[Task]]:
    """What schedulers and a worker do until nothing is due any more: the tasks, in the order of their runs."""

    def run() -> list[Task]:
        done: list[Task] = []
        while True:
            passes()
            tasks = worker.reserve(1)
            if not tasks:
                return done
            worker.complete(*tasks)
            done += tasks

    return run


def create(app: App, cron: str | None = "0 * * * *", **settings: Any) -> None:
    app.schedules.create("report", **{"cron": cron, "queue": QUEUE, "data": {"kind": "nightly"}} | settings)


def planned(tasks: list[Task]) -> list[int]:
    """Planned instants, in ms from the start."""
    return [round(task.planned_at.timestamp() * 1000) - START_MS for task in tasks if task.planned_at]


def events(app: App, what: str = "") -> list[dict[str, Any]]:
    """The history, oldest first."""
    return [event for event in app.schedules.history("report")[::-1] if what in ("", event["what"])]


def test_p06_a_restart_within_the_minute_fires_it_once_and_a_fresh_store_nothing_before_the_first(
    app: App, store: Store, clock: FixedClock, worker: Hands
) -> None:
    clock.pass_ms(30_000)
    create(app, "* * * * *", overlap="allow")
    assert Passes(store)() == START_MS + MINUTE_MS
    assert worker.reserve() == []
    for second in (60, 65, 75, 100):
        clock.ms = START_MS + second * 1000
        Passes(store)()
    assert planned(worker.reserve()) == [MINUTE_MS]


@pytest.mark.parametrize(
    ("settings", "ran", "missed"),
    [
        ({}, [HOUR_MS], 0),
        ({"catch_up": "skip"}, [], 1),
        ({"catch_up": "all"}, [HOUR_MS], 0),
        ({"catch_up_within_s": 20}, [HOUR_MS], 0),
        ({"catch_up_within_s": 15}, [], 1),
    ],
)
def test_p07_a_restart_across_the_tick_runs_it_late_or_counts_it_as_missed(
    app: App,
    clock: FixedClock,
    run: Callable[[], list[Task]],
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    ran: list[int],
    missed: int,
) -> None:
    create(app, **settings)
    clock.ms = START_MS + HOUR_MS + 16_000
    tasks = run()
    assert planned(tasks) == ran
    assert [task.late_by for task in tasks] == [timedelta(seconds=16)] * len(ran)
    found = app.schedules.get("report")
    assert (found.fired, found.missed) == (len(ran), missed)
    assert found.next_ms == START_MS + 2 * HOUR_MS
    assert ("is missed" in caplog.text) == bool(missed)


@pytest.mark.parametrize(
    ("policy", "ran"),
    [("latest", [3]), ("all", [1, 2, 3]), ("skip", [])],
)
def test_p07_after_three_missed_hours_the_policy_says_which_run_and_in_order(
    app: App, clock: FixedClock, run: Callable[[], list[Task]], policy: str, ran: list[int]
) -> None:
    create(app, catch_up=policy)
    clock.ms = START_MS + 3 * HOUR_MS + 16_000
    tasks = run()
    assert planned(tasks) == [hour * HOUR_MS for hour in ran]
    assert [task.late_by for task in tasks] == [timedelta(hours=3 - hour, seconds=16) for hour in ran]
    assert sorted(event["planned"] - START_MS for event in events(app)) == [
        hour * HOUR_MS for hour in (1, 2, 3)
    ]
    assert app.schedules.get("report").missed == 3 - len(ran)


def test_skip_still_fires_what_a_short_restart_of_the_server_held_up(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app, "* * * * * *", catch_up="skip", overlap="allow")
    clock.ms = START_MS + 5000
    assert planned(run()) == [5000]
    assert app.schedules.get("report").missed == 4


@pytest.mark.parametrize("most", [STEP, STEP + 1, STEP + 20])
def test_catching_up_all_is_bounded_and_goes_in_steps(
    app: App, store: Store, clock: FixedClock, run: Callable[[], list[Task]], most: int
) -> None:
    create(app, "* * * * *", catch_up="all", catch_up_max=most)
    clock.ms = START_MS + DAY_MS
    assert planned(run()) == [DAY_MS - n * MINUTE_MS for n in range(most - 1, -1, -1)]
    found = app.schedules.get("report")
    assert (found.fired, found.missed) == (most, MOST_COUNTED)
    assert app.schedules.get("report").next_ms == START_MS + DAY_MS + MINUTE_MS


def test_all_that_is_caught_up_runs_one_after_the_other_however_many_workers_there_are(
    app: App, clock: FixedClock, passes: Passes, worker: Hands
) -> None:
    create(app, catch_up="all")
    clock.ms = START_MS + 3 * HOUR_MS
    passes()
    for hour in (1, 2, 3):
        passes()
        (task,) = worker.reserve(10)
        assert planned([task]) == [hour * HOUR_MS]
        assert store_counts(app).get("blocked", 0) == 3 - hour
        worker.complete(task)
    assert worker.reserve() == []


def store_counts(app: App) -> dict[str, int]:
    return app.store.counts().get(QUEUE, {})


def test_a_month_of_minutes_costs_one_entry_and_one_task(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app, "* * * * *")
    clock.ms = START_MS + 30 * DAY_MS + 1
    assert planned(run()) == [30 * DAY_MS]
    missed, fired = events(app)
    assert (missed["planned"], missed["to"]) == (START_MS + MINUTE_MS, clock.ms - 1 - MINUTE_MS)
    assert (missed["count"], fired["planned"]) == (MOST_COUNTED, clock.ms - 1)


def test_nothing_from_before_the_creation_an_edit_or_a_resume_is_caught_up(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    clock.ms = START_MS + 90 * MINUTE_MS
    create(app, catch_up="all")
    assert run() == []
    app.schedules.change("report", cron="*/10 * * * *")
    assert run() == []
    app.schedules.pause("report")
    clock.ms = START_MS + 125 * MINUTE_MS
    app.schedules.resume("report")
    assert run() == []
    clock.ms = START_MS + 130 * MINUTE_MS
    assert planned(run()) == [130 * MINUTE_MS]
    skipped = [event["planned"] - START_MS for event in events(app, "skipped")]
    assert skipped == [100 * MINUTE_MS, 110 * MINUTE_MS, 120 * MINUTE_MS]


def test_a_tick_that_came_before_an_edit_is_fired_by_the_definition_that_it_came_from(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app)
    clock.ms = START_MS + HOUR_MS
    app.schedules.change("report", cron="30 * * * *", data="new")
    (task,) = run()
    assert (planned([task]), task.data) == ([HOUR_MS], {"kind": "nightly"})
    clock.ms = START_MS + 90 * MINUTE_MS
    (task,) = run()
    assert (planned([task]), task.data) == ([90 * MINUTE_MS], "new")


def test_a_pause_survives_edits_says_who_and_why_and_counts_many_ticks_in_one_entry(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app, "* * * * *")
    app.schedules.pause("report", by="ada", why="holidays")
    app.schedules.change("report", data="other")
    clock.ms = START_MS + HOUR_MS
    assert run() == []
    found = app.schedules.get("report")
    assert (found.state, found.by, found.why, found.next_ms) == ("paused", "ada", "holidays", None)
    found = app.schedules.resume("report")
    assert (found.state, found.skipped, found.next_ms) == ("active", 60, START_MS + HOUR_MS + MINUTE_MS)
    (event,) = events(app)
    assert (event["count"], event["reason"]) == (60, "paused")
    with pytest.raises(WrongState, match="active, not paused"):
        app.schedules.resume("report")


def test_a_schedule_that_is_not_enabled_fires_nothing_until_somebody_resumes_it(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app, enabled=False)
    clock.ms = START_MS + HOUR_MS
    assert run() == []
    found = app.schedules.get("report")
    assert (found.state, found.why) == ("paused", "enabled: false")
    app.schedules.resume("report")
    for hour in (2, 3):
        clock.ms = START_MS + hour * HOUR_MS
        assert planned(run()) == [hour * HOUR_MS]


def test_a_schedule_that_has_reached_its_end_is_finished(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    end = instant(START_MS + 2 * HOUR_MS).isoformat()
    create(app, end=end)
    for hour in (1, 2, 3):
        clock.ms = START_MS + hour * HOUR_MS
        assert len(run()) == (hour < 3)
    assert app.schedules.get("report").state == "finished"
    with pytest.raises(WrongState, match="is finished"):
        app.schedules.pause("report")
    assert app.schedules.change("report", end=None).state == "active"


def test_jitter_delays_the_run_and_not_the_identity(
    app: App, store: Store, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app, jitter_s=600)
    found = app.schedules.get("report")
    assert found.next_ms == START_MS + HOUR_MS
    assert found.next_run_ms is not None
    assert 0 < found.next_run_ms - found.next_ms <= 600_000
    clock.ms = found.next_run_ms - 1
    assert run() == []
    clock.pass_ms(1)
    (task,) = run()
    assert (planned([task]), task.late_by, task.due_ms) == ([HOUR_MS], timedelta(0), found.next_run_ms)
    assert task.id == f"report@{instant(START_MS + HOUR_MS).strftime('%Y-%m-%dT%H:%M:%SZ')}"
    clock.ms = START_MS + 5 * HOUR_MS + 601_000
    assert planned(run()) == [5 * HOUR_MS]
    assert app.schedules.get("report").missed == 3


def test_every_from_end_counts_from_the_finish_with_jitter_and_exclusions(
    app: App, clock: FixedClock, passes: Passes, worker: Hands
) -> None:
    day = instant(START_MS).date().isoformat()
    create(app, None, every_s=36_000, from_end=True, jitter_s=60)
    at = passes()
    assert at is not None
    assert 36_000_000 <= at - START_MS <= 36_060_000
    clock.ms = at
    passes()
    (task,) = worker.reserve()
    clock.pass_ms(1000)
    worker.complete(task)
    assert app.schedules.get("report").next_ms == clock.ms + 36_000_000
    app.schedules.change("report", exclude=[day, instant(START_MS + DAY_MS).date().isoformat()])
    midnight = START_MS + 40 * HOUR_MS
    found = app.schedules.get("report")
    assert found.next_ms == midnight
    clock.ms = found.next_run_ms or 0
    assert midnight <= clock.ms <= midnight + 60_000
    passes()
    assert len(worker.reserve()) == 1


@pytest.mark.parametrize("runs_meanwhile", [False, True])
def test_from_end_has_one_tick_in_waiting_so_a_pause_skips_one_at_most(
    app: App, clock: FixedClock, passes: Passes, worker: Hands, runs_meanwhile: bool
) -> None:
    create(app, None, every_s=600, from_end=True)
    clock.pass_ms(600_000)
    passes()
    (task,) = worker.reserve()
    if runs_meanwhile:
        app.schedules.pause("report")
        worker.complete(task)
    else:
        worker.complete(task)
        app.schedules.pause("report")
    clock.pass_ms(DAY_MS)
    resumed = app.schedules.resume("report")
    skipped = [] if runs_meanwhile else [START_MS + 1_200_000]
    assert [event["planned"] for event in events(app, "skipped")] == skipped
    assert resumed.skipped == len(skipped)
    assert resumed.next_ms == clock.ms + 600_000
    clock.pass_ms(600_000)
    passes()
    assert planned(worker.reserve()) == [DAY_MS + 1_200_000]


def test_what_is_triggered_beside_a_run_from_whose_end_ticks_count_waits_and_a_pause_holds(
    app: App, clock: FixedClock, passes: Passes, worker: Hands
) -> None:
    create(app, None, every_s=600, from_end=True, overlap="allow")
    clock.pass_ms(600_000)
    passes()
    (task,) = worker.reserve()
    waiting = app.schedules.trigger("report")
    found = app.get(waiting)
    assert found is not None
    assert found.state == "blocked"
    app.cancel(waiting)
    app.schedules.pause("report")
    worker.complete(task)
    clock.pass_ms(DAY_MS)
    passes()
    assert worker.reserve() == []
    assert app.schedules.get("report").fired == 1


def test_replace_cancels_a_task_that_waits_and_waits_for_one_that_runs(
    app: App, clock: FixedClock, passes: Passes, worker: Hands
) -> None:
    create(app, overlap="replace")
    for hour in (1, 4):
        clock.ms = START_MS + hour * HOUR_MS
        passes()
    (task,) = worker.reserve()
    assert planned([task]) == [4 * HOUR_MS]
    for hour in (5, 6):
        clock.ms = START_MS + hour * HOUR_MS
        worker.renew(task)
        passes()
        assert worker.reserve() == []
    worker.complete(task)
    passes()
    assert planned(worker.reserve()) == [6 * HOUR_MS]
    assert store_counts(app)["cancelled"] == 2


@pytest.mark.parametrize("is_planned_anew", [False, True])
def test_replace_cancels_the_end_of_a_line_and_what_was_made_beside_it_at_once(
    app: App,
    clock: FixedClock,
    passes: Passes,
    worker: Hands,
    caplog: pytest.LogCaptureFixture,
    is_planned_anew: bool,
) -> None:
    create(app, overlap="queue")
    app.schedules.trigger("report")
    waiting = app.schedules.trigger("report")
    worker.complete(*worker.reserve(1))
    passes()
    app.schedules.change("report", overlap="allow")
    beside = app.schedules.trigger("report")
    app.schedules.change("report", overlap="replace")
    clock.pass_ms(HOUR_MS - 1)
    passes()
    shard = app.store.shards[0]
    if is_planned_anew:
        shard.command("HDEL", shard.keys.schedule("report"), "rules")
    # Now the tick alone is due.
    clock.pass_ms(1)
    passes()
    assert caplog.messages == []
    assert {app.get(task).state for task in (waiting, beside)} == {"cancelled"}
    assert planned(worker.reserve(5)) == [HOUR_MS]


def test_a_trigger_runs_now_with_an_identity_of_its_own_and_moves_no_tick(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app)
    ids = [app.schedules.trigger("report") for _ in range(2)]
    assert app.get(ids[1]).state == "blocked"
    tasks = run()
    assert [task.id for task in tasks] == ids
    assert {task.schedule for task in tasks} == {"report"}
    found = app.schedules.get("report")
    assert (found.triggered, found.fired, found.next_ms) == (2, 0, START_MS + HOUR_MS)


def test_a_backfill_makes_each_planned_instant_once_with_its_own_identity(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app)
    clock.ms = START_MS + 3 * HOUR_MS
    assert planned(run()) == [3 * HOUR_MS]
    start, end = instant(START_MS - 2 * HOUR_MS), instant(START_MS + DAY_MS)
    found = app.schedules.backfill("report", start, end)
    tasks = run()
    assert planned(tasks) == [hour * HOUR_MS for hour in (-2, -1, 0, 1, 2)]
    assert [task.id for task in tasks] == found.made
    assert len(found.there) == 1
    assert app.schedules.backfill("report", start, end).made == []
    assert len(app.schedules.backfill("report", start, end, forced=True).made) == 6
    assert len(run()) == 6
    assert app.schedules.get("report").next_ms == START_MS + 4 * HOUR_MS


def test_what_a_schedule_cannot_have_is_refused_by_its_name(app: App, clock: FixedClock) -> None:
    with pytest.raises(BadInput, match="schedule report: its data is bytes; allowed: what JSON can hold"):
        create(app, data=b"x")
    create(app, None, every_s=60.0, from_end=True)
    with pytest.raises(BadInput, match="schedule report: its ticks count from the end of a run"):
        app.schedules.backfill("report", instant(START_MS), instant(clock.ms))


def test_what_is_older_than_the_history_is_taken_to_have_run(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app, "* * * * *")
    for minute in range(1, 121):
        clock.ms = START_MS + minute * MINUTE_MS
        assert len(run()) == 1
    start = instant(START_MS - 2 * MINUTE_MS)
    assert len(app.schedules.backfill("report", start, instant(clock.ms)).made) == 3


def test_the_calls_of_the_page_on_schedules_do_what_they_say(
    app: App, monkeypatch: pytest.MonkeyPatch, run: Callable[[], list[Task]]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text(encoding="utf-8")
    codes = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "redis://" in text]
    monkeypatch.setattr(oncue, "App", lambda url: app)
    for code in codes:
        exec(compile(code, "docs/schedules.md", "exec"), {})  # noqa: S102 - our own page
    found = app.schedules.get("report")
    assert (found.state, found.triggered, found.backfilled) == ("removed", 1, 7)
    assert len(run()) == 8


def test_refused_input_leaves_the_old_definition_untouched(app: App) -> None:
    create(app)
    before = app.schedules.get("report")
    refused: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"cron": "0 0 * 13 *"}, CronError),
        ({"timezone": "Mars/Base"}, CronError),
        ({"overlap": "perhaps"}, BadInput),
        ({"priority": 10}, BadInput),
        ({"queue": "no queue"}, BadInput),
        ({"colour": "red"}, BadInput),
        ({"data": b"bytes"}, BadInput),
        ({"every_s": 5}, CronError),
    ]
    for settings, error in refused:
        with pytest.raises(error):
            app.schedules.change("report", **settings)
        with pytest.raises(error):
            app.schedules.create("other", **{"cron": "* * * * *"} | settings)
    assert app.schedules.list() == [before]
    with pytest.raises(WrongState, match="already"):
        create(app, "* * * * *")
    for call in (app.schedules.get, app.schedules.pause, app.schedules.trigger, app.schedules.remove):
        with pytest.raises(NotFound):
            call("other")
    with pytest.raises(BadInput):
        app.schedules.create("x" * 129, cron="* * * * *")


def test_a_removed_schedule_keeps_its_history_until_it_goes_for_good(
    app: App, clock: FixedClock, run: Callable[[], list[Task]]
) -> None:
    create(app)
    clock.ms = START_MS + HOUR_MS
    assert len(run()) == 1
    app.schedules.remove("report")
    clock.ms = START_MS + 3 * HOUR_MS
    assert run() == []
    assert app.schedules.get("report").state == "removed"
    assert len(events(app)) == 1
    create(app)
    assert app.schedules.get("report").next_ms == START_MS + 4 * HOUR_MS
    app.schedules.remove("report", for_good=True)
    assert app.schedules.list() == []
