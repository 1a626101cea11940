"""A schedule that one scheduler can read and another cannot: it is the first one's, and nobody's only without that."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from oncue import App, BadInput
from oncue.common.store import Store
from oncue.scheduler import definition
from oncue.scheduler.definition import HASH_BYTES, read
from oncue.scheduler.fire import Fire
from oncue.scheduler.known import Known
from oncue.scheduler.loop import Loop
from oncue.scheduler.standing import find, whole
from oncue.scheduler.unread import PATIENCE_MS, Unread
from tests.support.commands import ended
from tests.support.fixtures import live_store
from tests.support.newer import make_newer, put_off
from tests.support.processes import Process
from tests.support.product import HOUR_MS, START_MS, FixedClock, Hands, app_on, opened
from tests.support.proxy import Proxy
from tests.support.servers import RedisServer
from tests.support.waiting import eventually, pause

store = live_store()

Start = Callable[..., Process]
NEWER = """
from oncue.scheduler import definition
definition._KEYS |= {"moon"}
"""
"""An oncue that knows a setting which those of today do not."""


@pytest.fixture
def older(run_oncue: Start, env: dict[str, str]) -> Callable[[], Process]:
    def start() -> Process:
        process = run_oncue("scheduler", env=env)
        process.wait_for_line("at work on")
        return process

    return start


@pytest.fixture
def newer(run_oncue: Start, env: dict[str, str], tmp_path: Path) -> Callable[[], Process]:
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "sitecustomize.py").write_text(NEWER)
    root = Path(__file__).parents[2]
    newer_env = {**env, "PYTHONPATH": f"{tmp_path / 'newer'}:{root}"}

    def start() -> Process:
        process = run_oncue("scheduler", env=newer_env)
        process.wait_for_line("at work on")
        return process

    return start


def put_newer(app: App) -> None:
    """A schedule of a newer oncue, with a tick every second."""
    app.schedules.create("beat", cron="* * * * * *", overlap="allow")
    make_newer(app.store.shards[0], "beat")


def decided(app: App) -> list[int]:
    """The planned instants in the history, rising; one for each."""
    found: list[int] = []
    for event in app.schedules.history("beat"):
        found += range(event["planned"], event.get("to", event["planned"]) + 1, 1000)
    return sorted(found)


def wait_for_ticks(app: App, number: int) -> None:
    wanted = len(decided(app)) + number
    eventually(lambda: len(decided(app)) >= wanted, 10, "ticks")


def test_a_definition_with_a_key_that_is_unknown_is_refused_not_half_obeyed(app: App) -> None:
    put_newer(app)
    (shard,) = app.store.shards
    with pytest.raises(
        BadInput, match="schedule beat: its key 'moon' is unknown here: a newer oncue wrote it"
    ):
        read("beat", shard.command("HGET", shard.keys.schedules, "beat"))
    found = app.schedules.get("beat")
    assert (found.state, found.config) == ("active", None)
    assert "moon" in found.reason


def test_a_scheduler_forgets_schedules_that_are_gone(
    valkey: RedisServer, namespace: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncue.scheduler.known.MOST", 5)
    with opened(valkey, namespace, clock=clock) as store:
        come_and_go(app_on(store), clock)


def come_and_go(app: App, clock: FixedClock) -> None:
    (shard,) = app.store.shards
    known = Known(shard)
    left = Unread(shard, known, patience_ms=0)
    app.schedules.create("stays", cron="0 3 * * *")
    for n in range(30):
        app.schedules.create(f"goes-{n}", cron="0 3 * * *")
        app.schedules.create(f"broken-{n}", cron="0 3 * * *")
        (entry,) = find(shard, f"broken-{n}")
        shard.command("HSET", shard.keys.schedules, f"broken-{n}", b"0" * HASH_BYTES + b"nonsense")
        assert known.get([f"goes-{n}", f"broken-{n}", "stays"]).keys() == {f"goes-{n}", "stays"}
        assert entry.at_ms is not None
        clock.ms = entry.at_ms
        left({f"broken-{n}": entry.at_ms}, [])
        assert f"broken-{n}" in left._reported
        for name in (f"goes-{n}", f"broken-{n}"):
            app.schedules.remove(name)
    known.get(["stays"])
    for remembered in (known._known, known._unreadable, left._reported):
        assert len(remembered) == 5


@pytest.mark.slow
def test_what_one_scheduler_cannot_read_another_fires_on_time_and_nobody_else_stops_it(
    app: App,
    older: Callable[[], Process],
    newer: Callable[[], Process],
    run_oncue: Start,
    env: dict[str, str],
) -> None:
    put_newer(app)
    able, unable = newer(), older()
    wait_for_ticks(app, 6)
    lines = re.findall(r"ERROR .*", unable.output)
    assert len(lines) == 1, lines
    assert "schedule beat cannot be read here and is left to other schedulers: " in lines[0]
    assert "its key 'moon' is unknown here" in lines[0]
    late = [event["late"] for event in app.schedules.history("beat") if "late" in event]
    assert sorted(late)[len(late) // 2] < 100
    (listed,) = ended(run_oncue, "cron", "list", "--json", env=env).json
    assert (listed["state"], listed["valid"]) == ("active", True)
    assert "'moon'" in listed["reason"]

    able.kill()
    unable.wait_for_line("schedule beat is invalid: no scheduler has fired its tick: .*'moon'")
    assert app.schedules.get("beat").state == "invalid"
    doctor = ended(run_oncue, "doctor", "--json", env=env).json
    finding = next(entry for entry in doctor["findings"] if entry["name"] == "invalid schedules")
    assert (finding["value"], finding["ok"]) == ("beat", False)

    before = len(decided(app))
    newer()
    wait_for_ticks(app, 4)
    assert app.schedules.get("beat").state == "active"
    assert app.schedules.get("beat").reason.endswith("a newer oncue wrote it")
    planned = decided(app)
    assert planned == list(range(planned[0], planned[-1] + 1, 1000))
    assert len(planned) > before
    assert unable.output.count(" ERROR ") == 2


def test_what_can_be_read_again_while_it_is_left_to_others_runs_here(
    valkey: RedisServer, namespace: str, clock: FixedClock
) -> None:
    with opened(valkey, namespace, clock=clock) as store:
        app, shard, loop = app_on(store), store.shards[0], Loop(store.shards[0])
        app.schedules.create("beat", cron="0 * * * *", overlap="allow")
        good = shard.command("HGET", shard.keys.schedules, "beat")
        make_newer(shard, "beat")
        loop.pass_once()
        clock.pass_ms(HOUR_MS)
        seen_at = loop.pass_once()
        assert seen_at is not None
        assert seen_at == clock.ms + PATIENCE_MS
        shard.command("HSET", shard.keys.schedules, "beat", good)
        clock.ms = seen_at
        loop.pass_once()
        assert app.schedules.get("beat").fired == 1


def put_many_newer(store: Store, number: int) -> None:
    app, (shard,) = app_on(store), store.shards
    for n in range(number):
        app.schedules.create(f"beat-{n:03}", cron="0 * * * *", overlap="allow", catch_up="skip")
        make_newer(shard, f"beat-{n:03}")


@pytest.mark.parametrize(("number", "most_ms"), [(400, 1000), (1000, 1300)])
def test_a_task_behind_many_ticks_that_nobody_can_read_waits_a_second_or_little_more(
    valkey: RedisServer, namespace: str, clock: FixedClock, number: int, most_ms: int
) -> None:
    with opened(valkey, namespace, clock=clock) as store:
        put_many_newer(store, number)
        loop, instant_ms = Loop(store.shards[0]), START_MS + HOUR_MS
        task = app_on(store).schedule_task((instant_ms + 1) / 1000, 1)
        loop.pass_once()
        clock.ms = instant_ms - 100
        loop.survey()
        loop.pass_once()
        clock.ms = instant_ms + 1
        while not Hands(store, ("default",)).reserve():
            clock.ms = loop.pass_once() or 0
            assert clock.ms - instant_ms < most_ms, app_on(store).get(task)


def test_one_who_can_read_many_ticks_has_the_time_to_fire_them_all(
    valkey: RedisServer, namespace: str, clock: FixedClock
) -> None:
    with opened(valkey, namespace, clock=clock) as store:
        put_many_newer(store, 130)
        (shard,), names = store.shards, [f"beat-{n:03}" for n in range(130)]
        unable, able = Loop(shard), Fire(shard)
        unable.pass_once()
        clock.ms = START_MS + HOUR_MS
        due = [(f"t{name}".encode(), clock.ms) for name in names]
        for at in range(0, len(due), 13):
            clock.ms = unable.pass_once() or 0
            with pytest.MonkeyPatch.context() as newer:
                newer.setattr("oncue.scheduler.definition._KEYS", definition._KEYS | {"moon"})
                able(due[at : at + 13], [])
        unable.pass_once()
        found = [entry.fields for entry in whole(shard)]
        assert [(fields["state"], fields["fired"]) for fields in found] == [("active", "1")] * 130


@pytest.mark.slow
def test_a_scheduler_that_had_lost_its_connection_takes_back_what_others_have_put_off(
    app: App, valkey: RedisServer, run_oncue: Start, env: dict[str, str]
) -> None:
    app.schedules.create("new-year", cron="0 0 1 1 *", catch_up="all")
    app.schedules.create("beat", cron="* * * * * *", overlap="allow")
    proxy = Proxy(valkey.url).start()
    try:
        process = run_oncue("scheduler", env={**env, "ONCUE_URL": proxy.url})
        wait_for_ticks(app, 2)
        put_off(app.store.shards[0], "new-year")
        assert app.schedules.get("new-year").state == "invalid"
        assert proxy.reset_all() > 0
        eventually(lambda: app.schedules.get("new-year").state == "active", 10, "it to be taken back")
        process.kill()
    finally:
        proxy.stop()


@pytest.mark.slow
def test_a_scheduler_does_not_spin_on_what_it_cannot_read(
    app: App, older: Callable[[], Process], valkey: RedisServer
) -> None:
    put_newer(app)
    unable = older()
    unable.wait_for_line("schedule beat is invalid")
    client = valkey.client()
    before, cpu_s = client.info("commandstats"), unable.cpu_seconds()
    task = app.schedule_task(app.store.now_ms("default") / 1000 + 1, 1)
    pause(2)
    eventually(lambda: app.get(task).state == "ready", what="its promotion")
    assert unable.cpu_seconds() - cpu_s < 0.2
    calls = [
        sum(entry["calls"] for name, entry in stats.items() if "evalsha" in name)
        for stats in (before, client.info("commandstats"))
    ]
    # The task, its promotion, its guard, and looks before each.
    assert calls[1] - calls[0] <= 10
