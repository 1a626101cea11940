"""Rules of a zone that change between two releases of tz data: each local time has one tick, whichever host plans it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oncue import App
from oncue.common import rule as rule_module
from oncue.common import walltime
from oncue.common.config import load
from oncue.common.rule import Rule
from oncue.common.store import Store
from oncue.common.timing import Timing
from oncue.scheduler.definition import Definition
from oncue.scheduler.replan import settle
from oncue.scheduler.schedule_calls import next_planned
from oncue.scheduler.schedules import apply
from oncue.scheduler.zones import claim
from tests.support.fixtures import valkey_store
from tests.support.moving import before_call
from tests.support.product import DAY_MS, HOUR_MS, START_MS, FixedClock, Passes, app_on
from tests.support.zones import ZONE, next_ms

store = valkey_store()


def planned(app: App, name: str = "payroll") -> list[int]:
    """All planned instants that the history has, in ms from the start, rising."""
    return sorted(event["planned"] - START_MS for event in app.schedules.history(name))


def begun(store: Store) -> Passes:
    """A scheduler that has just been started."""
    passes = Passes(store)
    for loop in passes.loops:
        loop.pass_once()
    return passes


@contextmanager
def another_host() -> Iterator[None]:
    """What this process has taken over until now is unknown within, and what it takes over within is unknown after."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walltime, "_adopted", {})
        yield


def midnight() -> int:
    """The first midnight in UTC after the start, in ms from the start."""
    return -START_MS % DAY_MS


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (1, 1.5), (-3, 5), (5, -3)])
@pytest.mark.parametrize("change_h", [-1.75, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 6, -8])
def test_payroll_runs_once_each_local_day_whenever_a_host_with_newer_rules_comes(
    app: App,
    store: Store,
    clock: FixedClock,
    knows: Callable[..., None],
    before: float,
    after: float,
    change_h: float,
) -> None:
    """The third local day's 02:30 is at 02:30 UTC less the offset; the newer host starts around it."""
    knows("2026a", before)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE, overlap="allow")
    change_ms = START_MS + midnight() + 2 * DAY_MS + round((2.5 - before + change_h) * HOUR_MS)
    old = Passes(store)
    days: list[tuple[int, int]] = []

    def run(until_ms: int, offset: float, scheduler: Passes) -> None:
        while clock.ms < until_ms:
            clock.ms = min(clock.ms + HOUR_MS // 4, until_ms)
            scheduler()
        new = sorted(set(planned(app)) - {at for at, _ in days})
        days.extend((at, (at - midnight() + round(offset * HOUR_MS)) // DAY_MS) for at in new)

    run(change_ms, before, old)
    knows("2026b", after)
    run(START_MS + midnight() + 5 * DAY_MS, after, begun(store))
    assert app.schedules.get("payroll").fired == len(days)
    local_days = [day for _, day in days]
    assert local_days == list(range(local_days[0], local_days[0] + len(days)))
    assert {(at - midnight()) % DAY_MS for at, _ in days[-2:]} == {round((2.5 - after) * HOUR_MS) % DAY_MS}


def test_a_host_with_older_rules_plans_by_the_newer_ones_of_the_store(
    app: App, store: Store, clock: FixedClock, knows: Callable[..., None]
) -> None:
    knows("2026b", 2)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE, overlap="allow")
    knows("2026a", 1)
    passes = Passes(store)
    app.schedules.create("wages", cron="30 2 * * *", timezone=ZONE, overlap="allow")
    for _ in range(3 * 24):
        clock.pass_ms(HOUR_MS)
        passes()
    assert planned(app) == planned(app, "wages")
    assert {(at - midnight()) % DAY_MS for at in planned(app)} == {HOUR_MS // 2}


def test_what_follows_elapsed_time_goes_on_through_a_change_of_rules(
    app: App, store: Store, clock: FixedClock, knows: Callable[..., None]
) -> None:
    knows("2026a", 2)
    app.schedules.create("often", cron="*/15 * * * *", timezone=ZONE, overlap="allow")
    app.schedules.create("pace", every_s=900.0, timezone=ZONE, overlap="allow")
    for n in range(24):
        if n == 12:
            knows("2026b", 1)
        clock.pass_ms(HOUR_MS // 4)
        Passes(store)()
    assert planned(app, "often") == planned(app, "pace") == [n * HOUR_MS // 4 for n in range(1, 25)]


def test_what_was_decided_is_not_decided_again_after_an_edit(
    app: App, store: Store, clock: FixedClock, knows: Callable[..., None]
) -> None:
    """The tick of 02:30 has come by the old rules; by the new ones it is still to come when the schedule is edited."""
    knows("2026a", 2)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE, overlap="allow")
    clock.ms = START_MS + midnight() + HOUR_MS // 2
    Passes(store)()
    assert planned(app) == [midnight() + HOUR_MS // 2]
    clock.pass_ms(HOUR_MS // 4)
    knows("2026b", 1)
    app.schedules.change("payroll", data={"amount": 1})
    clock.ms = START_MS + midnight() + 2 * HOUR_MS
    Passes(store)()
    assert next_ms(app) == START_MS + midnight() + DAY_MS + 3 * HOUR_MS // 2
    app.schedules.pause("payroll")
    app.schedules.resume("payroll")
    assert next_ms(app) == START_MS + midnight() + DAY_MS + 3 * HOUR_MS // 2


def test_a_local_time_that_was_skipped_in_a_pause_does_not_come_by_newer_rules(
    app: App, store: Store, clock: FixedClock, knows: Callable[..., None]
) -> None:
    knows("2026a", 2)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE, overlap="allow")
    app.schedules.pause("payroll")
    clock.ms = START_MS + midnight() + HOUR_MS
    app.schedules.resume("payroll")
    knows("2026b", 1)
    begun(store)
    assert next_ms(app) == START_MS + midnight() + DAY_MS + 3 * HOUR_MS // 2


@pytest.mark.parametrize(
    "given", [{"cron": "30 2 * * *"}, {"rrule": "FREQ=DAILY", "dtstart": "2026-01-01T02:30"}]
)
def test_a_rule_is_of_one_piece_whatever_another_thread_takes_over_meanwhile(
    knows: Callable[..., None], monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    knows("2026a", 2)
    wanted = Rule("payroll", Timing(timezone=ZONE, **given)).next_after(START_MS)

    def overtaken(key: str) -> walltime.WallClock:
        found = walltime.wall_clock(key)
        knows("2026b", 1)
        return found

    monkeypatch.setattr(rule_module, "wall_clock", overtaken)
    assert Rule("payroll", Timing(timezone=ZONE, **given)).next_after(START_MS) == wanted


def test_a_replan_that_died_half_way_is_completed_by_the_next_scheduler(
    app: App, store: Store, knows: Callable[..., None]
) -> None:
    knows("2026a", 1)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    before = next_ms(app)
    knows("2026b", 2)
    assert claim(store.shards[0], [ZONE])
    assert next_ms(app) == before
    begun(store)
    assert next_ms(app) == before - HOUR_MS
    fields = store.shards[0].command("HKEYS", store.shards[0].keys.zones)
    assert not [field for field in fields if field[:1] == b"!"]


def test_local_days_stay_whole_where_a_newer_host_dies_before_it_has_planned_anew(
    app: App, store: Store, clock: FixedClock, knows: Callable[..., None]
) -> None:
    """The schedule has never fired: nothing but what it was put by says that the other rules made its tick."""
    knows("2026a", 2)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE, overlap="allow")
    old = Passes(store)
    old()
    knows("2026b", 1)
    assert claim(store.shards[0], [ZONE])
    knows("2026a", 2)
    for _ in range(60):
        clock.pass_ms(HOUR_MS)
        old()
    first = midnight() + 3 * HOUR_MS // 2
    assert planned(app) == list(range(first, clock.ms - START_MS + 1, DAY_MS))


@pytest.mark.parametrize("what", ["put", "resumed"])
def test_what_was_planned_by_older_rules_is_refused_after_the_newer_ones_have_come(
    app: App,
    store: Store,
    knows: Callable[..., None],
    what: str,
) -> None:
    """Between plan and call, a newer host replaces the rules, and plans anew what is there by then."""
    knows("2026a", 2)
    if what == "resumed":
        app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
        app.schedules.pause("payroll")

    def replace() -> None:
        with another_host():
            knows("2026b", 1)
            settle(store.shards[0], [ZONE])

    with before_call(replace, "put_schedule", "resume"):
        if what == "resumed":
            app.schedules.resume("payroll")
        else:
            app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    assert next_ms(app) == START_MS + midnight() + 3 * HOUR_MS // 2


def test_a_replan_leaves_the_mark_of_rules_that_came_while_it_went_on(
    app: App, store: Store, knows: Callable[..., None]
) -> None:
    """A host with still newer rules replaces them, and dies, before the first has planned anything anew."""
    knows("2026a", 1)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    before = next_ms(app)
    (shard,) = store.shards

    def overtake() -> None:
        with another_host():
            knows("2026c", 3)
            assert claim(shard, [ZONE])

    knows("2026b", 2)
    with before_call(overtake, "replan"):
        settle(shard, [ZONE])
    assert next_ms(app) == before
    begun(store)
    assert next_ms(app) == before - 2 * HOUR_MS
    assert not [field for field in shard.command("HKEYS", shard.keys.zones) if field[:1] == b"!"]


def test_a_schedule_that_cannot_be_planned_keeps_no_other_from_the_new_rules(
    app: App, store: Store, knows: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of this oncue's own, in one of them."""

    def decide(definition: Definition, *rest: Any) -> int | None:
        if definition.name == "bad":
            raise RuntimeError("a fault")
        return next_planned(definition, *rest)

    knows("2026a", 1)
    for name in ("bad", "payroll"):
        app.schedules.create(name, cron="30 2 * * *", timezone=ZONE)
    before = next_ms(app)
    monkeypatch.setattr("oncue.scheduler.replan.next_planned", decide)
    knows("2026b", 2)
    begun(store)
    assert (next_ms(app, "bad"), next_ms(app)) == (before, before - HOUR_MS)


def test_a_release_that_was_undone_by_a_newer_one_does_not_come_back(
    app: App, store: Store, knows: Callable[..., None]
) -> None:
    """The newest one has the rules of the oldest again."""
    knows("2023a", 2)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    before = next_ms(app)
    knows("2023c", 2)
    begun(store)
    knows("2023b", 3)
    begun(store)
    assert next_ms(app) == before


def test_a_local_anchor_is_no_edit_for_a_host_with_other_rules(
    store: Store, knows: Callable[..., None], tmp_path: Path
) -> None:
    """The file says when, and the rules in force which instant that is."""
    file = tmp_path / "oncue.yaml"
    file.write_text(f"schedules: {{pace: {{every: 6h, anchor: 2026-01-01T00:15, timezone: {ZONE}}}}}\n")
    changes = []
    for release, hours in (("2026a", 1), ("2026b", 2), ("2026a", 1), ("2026b", 2)):
        knows(release, hours)
        config = load(str(file), {}, {})
        changes.append(apply(store, config.schedules.values(), "/f", config.faulty).changes)
    assert [bool(made) for made in changes] == [True, False, False, False]
    begun(store)
    assert next_ms(app_on(store), "pace") % (6 * HOUR_MS) == 4 * HOUR_MS + HOUR_MS // 4


def test_rules_that_somebody_has_spoilt_in_the_store_are_replaced(
    app: App, store: Store, clock: FixedClock, knows: Callable[..., None]
) -> None:
    knows("2026a", 1)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    (shard,) = store.shards
    shard.command("HSET", shard.keys.zones, ZONE, "f" * 16 + " 2099z", f"={ZONE}", "no rules")
    clock.pass_ms(2 * DAY_MS)
    Passes(store)()
    assert app.schedules.get("payroll").fired == 1


def test_who_only_looks_asks_for_no_rules_that_he_knows_and_changes_none(
    app: App, store: Store, knows: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    knows("2026a", 1)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    app.schedules.create("elsewhere", cron="30 2 * * *", timezone="Europe/Berlin")
    (shard,) = store.shards
    command, asked = shard.command, list[tuple[Any, ...]]()

    def seen(*words: Any) -> Any:
        if words[1] == shard.keys.zones:
            asked.append(words)
        return command(*words)

    monkeypatch.setattr(shard, "command", seen)
    app.schedules.get("payroll")
    app.schedules.history("payroll")
    assert asked == [("HMGET", shard.keys.zones, ZONE)] * 2
    spoilt = {ZONE.encode(): b"f" * 16 + b" 2099z", b"=" + ZONE.encode(): b"no rules"}
    command("HSET", shard.keys.zones, *(word for pair in spoilt.items() for word in pair))
    app.schedules.get("payroll")
    app.schedules.list()
    assert spoilt.items() <= command("HGETALL", shard.keys.zones).items()
