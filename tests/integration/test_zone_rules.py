"""Rules of a zone that change between two releases of tz data: each local time has one tick, whichever host plans it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
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
from oncue.scheduler.replan import settle
from oncue.scheduler.schedules import apply
from oncue.scheduler.zones import claim
from tests.support.commands import ended
from tests.support.processes import Process
from tests.support.product import DAY_MS, HOUR_MS, START_MS, FixedClock, Passes, app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually
from tests.support.zones import rules, tzif, zone_folder

Start = Callable[..., Process]
ZONE = "Test/Zone"
PERIOD_S = 3
OFTEN = f"{','.join(map(str, range(0, 60, PERIOD_S)))} 0-59 0-23 * * *"
"""Fixed times, since no field starts with `*`."""


@pytest.fixture
def store(valkey: RedisServer, namespace: str, clock: FixedClock) -> Iterator[Store]:
    with opened(valkey, namespace, clock=clock) as found:
        yield found


@pytest.fixture
def app(store: Store) -> App:
    return app_on(store)


@pytest.fixture
def knows(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make this process one on a host whose data are of this release: `knows("2026b", hours=2)`."""
    monkeypatch.setattr(walltime, "_adopted", {})

    def knows(release: str, hours: float) -> None:
        walltime.adopt(ZONE, rules(release, round(hours * 3600)))

    return knows


def planned(app: App, name: str = "payroll") -> list[int]:
    """All planned instants that the history has, in ms from the start, rising."""
    return sorted(event["planned"] - START_MS for event in app.schedules.history(name))


def begun(store: Store) -> Passes:
    """A scheduler that has just been started."""
    passes = Passes(store)
    for loop in passes.loops:
        loop.pass_once()
    return passes


def next_ms(app: App, name: str = "payroll") -> int:
    found = app.schedules.get(name).next_ms
    assert found is not None
    return found


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
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    """Between plan and call, a newer host replaces the rules, and plans anew what is there by then."""
    knows("2026a", 2)
    if what == "resumed":
        app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
        app.schedules.pause("payroll")
    call, come = store.shards[0].call, False

    def late(name: str, *args: Any) -> Any:
        nonlocal come
        if name in ("put_schedule", "resume") and not come:
            come = True
            with monkeypatch.context() as other_host:
                other_host.setattr(walltime, "_adopted", {})
                knows("2026b", 1)
                settle(store.shards[0], [ZONE])
        return call(name, *args)

    monkeypatch.setattr(store.shards[0], "call", late)
    if what == "resumed":
        app.schedules.resume("payroll")
    else:
        app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    assert come
    assert next_ms(app) == START_MS + midnight() + 3 * HOUR_MS // 2


def test_a_replan_leaves_the_mark_of_rules_that_came_while_it_went_on(
    app: App, store: Store, knows: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host with still newer rules replaces them, and dies, before the first has planned anything anew."""
    knows("2026a", 1)
    app.schedules.create("payroll", cron="30 2 * * *", timezone=ZONE)
    before = next_ms(app)
    (shard,) = store.shards
    call, come = shard.call, False

    def overtaken(name: str, *args: Any) -> Any:
        nonlocal come
        if name == "replan" and not come:
            come = True
            with monkeypatch.context() as other_host:
                other_host.setattr(walltime, "_adopted", {})
                knows("2026c", 3)
                assert claim(shard, [ZONE])
        return call(name, *args)

    monkeypatch.setattr(shard, "call", overtaken)
    knows("2026b", 2)
    settle(shard, [ZONE])
    assert next_ms(app) == before
    begun(store)
    assert next_ms(app) == before - 2 * HOUR_MS
    assert not [field for field in shard.command("HKEYS", shard.keys.zones) if field[:1] == b"!"]


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


class Host:
    """A host with tz data of its own, and a scheduler that may be killed."""

    def __init__(self, start: Start, env: dict[str, str]) -> None:
        self._start, self.env = start, env

    def begin(self) -> Process:
        self.process = self._start("scheduler", env=self.env)
        self.process.wait_for_line("at work on")
        return self.process


@pytest.fixture
def host(run_oncue: Start, valkey: RedisServer, namespace: str, tmp_path: Path) -> Callable[[str, int], Host]:
    def make(release: str, offset_s: int) -> Host:
        env = zone_folder(tmp_path / release, release, Zone=offset_s)
        return Host(run_oncue, {**env, "ONCUE_URL": valkey.url, "ONCUE_NAMESPACE": namespace})

    return make


@pytest.fixture
def live(valkey: RedisServer, namespace: str, knows: Callable[..., None]) -> Iterator[App]:
    """An app under the server's own clock, on a host with the oldest rules."""
    knows("2090a", 0)
    with opened(valkey, namespace) as store:
        yield app_on(store)


def wait_for_ticks(app: App, number: int) -> int:
    """How many there are, once there are so many more."""
    wanted = len(app.schedules.history("beat")) + number
    eventually(lambda: len(app.schedules.history("beat")) >= wanted, 10 + PERIOD_S * number, "ticks")
    return wanted


@pytest.mark.slow
@pytest.mark.parametrize("offset_s", [1, -1])
@pytest.mark.parametrize("newer_first", [False, True], ids=["older first", "newer first"])
def test_two_hosts_with_different_rules_fire_each_local_time_once(
    live: App, host: Callable[[str, int], Host], newer_first: bool, offset_s: int
) -> None:
    """By the newer rules the clocks of the zone are ahead, or behind, by a second."""
    older, newer = host("2090a", 0), host("2090b", offset_s)
    first, second = (newer, older) if newer_first else (older, newer)
    live.schedules.create("beat", cron=OFTEN, timezone=ZONE, overlap="allow")
    first.begin()
    wait_for_ticks(live, 2)
    second.begin()
    wait_for_ticks(live, 2)
    newer.process.kill()
    wait_for_ticks(live, 2)
    older.process.kill()
    older.begin()
    older.process.wait_for_line(
        f"time zone {ZONE}: the rules of tz data 2090b are in force; this host has 2090a"
    )
    wait_for_ticks(live, 2)

    seconds = [event["planned"] // 1000 for event in live.schedules.history("beat")][::-1]
    shown = [at if at % PERIOD_S == 0 else at + offset_s for at in seconds]
    assert shown == list(range(shown[0], shown[-1] + 1, PERIOD_S)), seconds
    assert {at % PERIOD_S for at in seconds[-6:]} == {-offset_s % PERIOD_S}
    assert live.schedules.get("beat").missed == 0


def test_a_reload_brings_the_tz_data_that_the_host_has_been_given_meanwhile(
    live: App, host: Callable[[str, int], Host], tmp_path: Path, knows: Callable[..., None]
) -> None:
    """Once where the rules in force were its own, and once where they came from another host."""
    half_a_year_on = time.gmtime(time.time() + 180 * DAY_MS / 1000).tm_mon
    live.schedules.create("payroll", cron=f"30 12 15 {half_a_year_on} *", timezone=ZONE)
    before = next_ms(live)
    scheduler = host("2090a", 0)
    scheduler.begin()

    def updated(release: str, hours: int) -> None:
        folder = tmp_path / "2090a"
        (folder / "tzdata.zi").write_text(f"# version {release}\n")
        (folder / "Test" / "Zone").write_bytes(tzif(hours * 3600))
        scheduler.process.child.send_signal(signal.SIGHUP)

    updated("2090b", 1)
    eventually(lambda: next_ms(live) == before - HOUR_MS, what="what was planned is planned anew")
    knows("2090c", 2)
    live.schedules.create("wages", cron="30 12 * * *", timezone=ZONE)
    updated("2090b", 1)
    scheduler.process.wait_for_line("the rules of tz data 2090c are in force")
    updated("2090d", 3)
    eventually(lambda: next_ms(live) == before - 3 * HOUR_MS, what="the newest rules are in force")


@pytest.mark.slow
def test_a_host_without_the_zone_fires_by_the_rules_of_the_store(
    live: App, host: Callable[[str, int], Host], run_oncue: Start, tmp_path: Path
) -> None:
    able = host("2090a", 0)
    bare = Host(run_oncue, {**able.env, **zone_folder(tmp_path / "bare", "2090b")})
    live.schedules.create("beat", cron=OFTEN, timezone=ZONE, overlap="allow")
    able.begin()
    bare.begin().wait_for_line(
        f"time zone {ZONE}: the rules of tz data 2090a are in force; this host has none"
    )
    wait_for_ticks(live, 1)
    able.process.kill()
    wait_for_ticks(live, 2)
    found = live.schedules.get("beat")
    assert (found.state, found.missed) == ("active", 0)
    (listed,) = ended(run_oncue, "cron", "list", "--json", env=bare.env).json
    assert (listed["state"], listed["valid"], listed["reason"]) == ("active", True, None)


def test_a_diff_tells_the_ticks_by_the_rules_that_are_in_force(
    live: App,
    host: Callable[[str, int], Host],
    run_oncue: Start,
    tmp_path: Path,
    knows: Callable[..., None],
) -> None:
    knows("2090b", 1)
    live.schedules.create("wages", cron="30 12 * * *", timezone=ZONE)
    older = host("2090a", 0)
    file = tmp_path / "oncue.yaml"
    file.write_text(f"schedules: {{payroll: {{cron: '30 12 * * *', timezone: {ZONE}}}}}\n")
    (change,) = ended(run_oncue, "cron", "diff", file, "--json", env=older.env).json
    assert change["next_after"].endswith("T12:30:00+01:00")


@pytest.mark.slow
def test_doctor_says_whose_time_zone_data_differ(
    live: App, host: Callable[[str, int], Host], run_oncue: Start, tmp_path: Path
) -> None:
    older, newer = host("2090a", 0), host("2090b", 60)
    live.schedules.create("beat", cron=OFTEN, timezone=ZONE)

    def said(env: dict[str, str]) -> tuple[str, str, str | None]:
        found = {
            entry["name"]: entry for entry in ended(run_oncue, "doctor", "--json", env=env).json["findings"]
        }
        here, in_force = found["time zone data"], found["time zone rules in force"]
        return here["value"].partition(" ")[0], in_force["value"], in_force["advice"]

    assert said(older.env) == ("2090a", "2090a", None)
    assert said(newer.env) == (
        "2090b",
        "2090a",
        f"this host has newer ones of {ZONE}: a scheduler that starts here brings them",
    )
    newer.begin()
    assert said(newer.env) == ("2090b", "2090b", None)
    assert said(older.env) == (
        "2090a",
        "2090b",
        f"this host has older ones of {ZONE}: update its tz data; it goes by the store's",
    )
