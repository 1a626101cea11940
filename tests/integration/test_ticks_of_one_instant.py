"""Many ticks of one instant: their calls are under way together, and each is decided about once, whatever befalls them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as LinkDown
from redis.exceptions import ResponseError

from oncue import App
from oncue.common.configtypes import ScheduleConfig
from oncue.common.connections import OpenConnection
from oncue.common.scripts import script
from oncue.common.shard import UNDER_WAY, Shard
from oncue.common.store import Store
from oncue.scheduler.catch_up import Plan, plan
from oncue.scheduler.known import Known
from oncue.scheduler.schedules import apply
from tests.support.link import Request
from tests.support.product import HOUR_MS, START_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.proxy import Proxy, call_of
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

MANY = 150
"""More than one look at the timetable shows."""


@pytest.fixture
def proxy(valkey: RedisServer) -> Iterator[Proxy]:
    with Proxy(valkey.url) as proxy:
        yield proxy


@pytest.fixture
def direct(valkey: RedisServer, namespace: str, clock: FixedClock) -> Iterator[Store]:
    with opened(valkey, namespace, clock=clock) as store:
        yield store


@pytest.fixture
def app(direct: Store, clock: FixedClock) -> App:
    """Hourly schedules, the first tick of each of which is due."""
    direct.link.node(b"x").script_load(script("fire").text)
    names = [name(n) for n in range(MANY)]
    apply(direct, [ScheduleConfig(one, "0 * * * *", "UTC", "default", None) for one in names], "file")
    clock.ms = START_MS + HOUR_MS
    return app_on(direct)


@pytest.fixture
def passes(app: App, proxy: Proxy, namespace: str, clock: FixedClock) -> Iterator[Passes]:
    """A scheduler whose connections a test can break."""
    with opened(proxy, namespace, clock=clock) as store:
        yield Passes(store)


def name(n: int) -> str:
    return f"n{n:03}"


def firing(n: int) -> Callable[[Request], bool]:
    """A predicate for `cut_reply`: true for the call that fires the tick of one schedule."""
    return call_of("fire", name(n).encode())


def is_each_fired_once(app: App) -> bool:
    shard = app.store.shards[0]
    decided = [shard.command("LLEN", shard.keys.history(name(n))) for n in range(MANY)]
    tasks = Hands(app.store, ["default"]).reserve(2 * MANY)
    return decided == [1] * MANY and len({task.id for task in tasks}) == len(tasks) == MANY


def test_ticks_of_one_look_are_sent_ahead_of_their_answers_but_not_all_of_them(
    app: App, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[int] = []
    send, reply, sha = OpenConnection.send, OpenConnection.reply, script("fire").sha

    def sent(connection: OpenConnection, command: tuple[object, ...]) -> None:
        if sha in command:
            under_way.append(1 + (under_way[-1] if under_way else 0))
        send(connection, command)

    def replied(connection: OpenConnection) -> object:
        if under_way and under_way[-1]:
            under_way.append(under_way[-1] - 1)
        return reply(connection)

    monkeypatch.setattr(OpenConnection, "send", sent)
    monkeypatch.setattr(OpenConnection, "reply", replied)
    passes()
    assert (max(under_way), under_way[-1]) == (UNDER_WAY, 0)
    assert is_each_fired_once(app)


def test_the_planned_instants_of_ticks_with_jitter_are_read_together(
    app: App, direct: Store, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.ms = START_MS
    for n in range(10):
        app.schedules.change(name(n), jitter_s=600)
    clock.ms = START_MS + HOUR_MS + 600_000
    alone: list[bytes | str | int] = []
    command = Shard.command

    def counted(shard: Shard, *args: bytes | str | int) -> Any:
        alone.append(args[0])
        return command(shard, *args)

    monkeypatch.setattr(Shard, "command", counted)
    Passes(direct)()
    assert "HGET" not in alone
    assert is_each_fired_once(app)


@pytest.mark.parametrize("lost", [0, 20, 63, 64, MANY - 1])
def test_a_reply_that_is_lost_among_others_has_each_tick_fired_once(
    app: App, passes: Passes, proxy: Proxy, lost: int
) -> None:
    proxy.cut_reply(firing(lost))
    with pytest.raises(LinkDown):
        passes()
    assert proxy.cuts == 1
    passes()
    assert is_each_fired_once(app)


def test_a_server_that_forgets_the_script_between_two_ticks_gets_it_again(
    app: App, passes: Passes, proxy: Proxy, valkey: RedisServer
) -> None:
    forgotten: list[Request] = []

    def forget(request: Request) -> bool:
        if firing(20)(request) and not forgotten:
            forgotten.append(request)
            valkey.client().script_flush()
        return False

    proxy.cut_reply(forget)
    passes()
    assert forgotten
    assert is_each_fired_once(app)


def test_a_server_that_knows_no_script_is_sent_the_text_once(
    app: App, direct: Store, valkey: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    valkey.client().script_flush()
    sent: list[object] = []
    send = OpenConnection.send

    def noted(connection: OpenConnection, command: tuple[object, ...]) -> None:
        sent.extend(command[:2])
        send(connection, command)

    monkeypatch.setattr(OpenConnection, "send", noted)
    Passes(direct)()
    assert sent.count(script("fire").text) == 1
    assert is_each_fired_once(app)


def test_ticks_that_are_not_as_they_were_read_are_fired_as_they_are_and_the_others_with_them(
    app: App, direct: Store, clock: FixedClock
) -> None:
    passes = Passes(direct)
    for n in range(10, 20):
        app.schedules.change(name(n), overlap="replace")
    passes()
    Hands(direct, ["default"]).reserve(10)
    clock.ms += HOUR_MS - 1
    # Seen before, so that what becomes of them now is news to this scheduler.
    passes()
    for n in range(20):
        app.schedules.change(name(n), priority=7)
    app.schedules.remove(name(20))
    clock.ms += 1
    shard = direct.shards[0]
    shard.command("HDEL", shard.keys.schedule(name(30)), "rules")
    passes()
    infos = {info.name: info for info in app.schedules.list()}
    last = {one: info.last_ms for one, info in infos.items()}
    assert last == dict.fromkeys(infos, START_MS + 2 * HOUR_MS) | {name(20): START_MS + HOUR_MS}
    for n in (0, 9):
        assert (infos[name(n)].fired, infos[name(n)].skipped) == (1, 1)
    for n in (10, 19):
        assert infos[name(n)].fired == 2


def test_ticks_that_another_scheduler_has_fired_meanwhile_are_left(
    app: App, direct: Store, clock: FixedClock
) -> None:
    clock.ms -= 1
    late = Passes(direct)
    late()
    clock.ms += 1
    Passes(direct)()
    late.loops[0].pass_once()
    assert is_each_fired_once(app)


def test_an_error_in_the_middle_is_raised_and_no_answer_is_taken_for_another_s(
    app: App, direct: Store, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    shard, passes = direct.shards[0], Passes(direct)
    history = shard.keys.history(name(20))
    shard.command("SET", history, "no list")
    # So that each of them has something to tell.
    clock.ms += HOUR_MS
    with pytest.raises(ResponseError):
        passes()
    assert [app.schedules.get(name(n)).fired for n in (19, 21, 63)] == [1, 1, 1]
    told = {record.getMessage().split()[1] for record in caplog.records if record.name == "oncue.fire"}
    assert told == {f"{name(n)}:" for n in range(64) if n != 20}
    shard.command("DEL", history)
    passes()
    assert all(info.fired == 1 for info in app.schedules.list())


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of schedules in whose planning this oncue has a fault."""
    names: set[str] = set()

    def decide(config: ScheduleConfig, *rest: Any) -> Plan:
        if config.name in names:
            raise RuntimeError("a fault")
        return plan(config, *rest)

    monkeypatch.setattr("oncue.scheduler.fire.plan", decide)
    return names


def test_a_schedule_that_cannot_be_planned_keeps_no_other_waiting_and_is_told_of_once(
    app: App, direct: Store, clock: FixedClock, faulty: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    # More than one look shows, and first in the timetable.
    bad = [name(n) for n in range(70)]
    faulty |= set(bad)
    passes, instant_ms = Passes(direct), clock.ms
    while clock.ms < instant_ms + 2000:
        clock.ms = passes() or 0
    infos = app.schedules.list()
    assert [info.name for info in infos if info.fired != 1] == bad
    assert {info.state for info in infos if info.name in faulty} == {"invalid"}
    assert "cannot be planned (RuntimeError('a fault'))" in app.schedules.get(bad[0]).reason
    told = [one for one in caplog.records if f"schedule {bad[0]} " in one.message]
    assert [("left to other" in one.message, one.exc_info is not None) for one in told] == [
        (True, True),
        (False, False),
    ]

    # It is not planned again as it stands, only when it has been edited.
    faulty.clear()
    clock.ms += HOUR_MS
    passes()
    assert app.schedules.get(bad[0]).fired == 0
    app.schedules.change(bad[0], cron="30 * * * *")
    clock.ms += HOUR_MS
    passes()
    assert app.schedules.get(bad[0]).fired == 1


def test_what_one_scheduler_cannot_plan_another_fires_on_time(
    app: App, direct: Store, clock: FixedClock, faulty: set[str]
) -> None:
    passes = Passes(direct)
    faulty.add(name(20))
    for _ in range(4):
        passes()
    assert [info.name for info in app.schedules.list() if info.fired != 1] == [name(20)]
    faulty.clear()
    Passes(direct)()
    assert is_each_fired_once(app)
    passes()
    assert app.schedules.get(name(20)).state == "active"


@pytest.mark.parametrize("fault", [ResponseError("refused"), AssertionError("a fault")])
def test_a_fault_in_what_has_to_be_done_before_a_tick_keeps_no_other_from_being_fired(
    app: App, direct: Store, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    passes, call = Passes(direct), Shard.call
    for n in (10, 20, 30):
        app.schedules.change(name(n), overlap="replace")
    passes()
    clock.ms += HOUR_MS

    def faulty(shard: Shard, script: str, keys: Any, args: Any) -> Any:
        if script == "cancel" and app.schedules.get(name(10)).last_task in args:
            raise fault
        return call(shard, script, keys, args)

    monkeypatch.setattr(Shard, "call", faulty)
    for _ in range(4):
        with pytest.raises(type(fault)):
            passes()
    assert [info.name for info in app.schedules.list() if info.last_ms != clock.ms] == [name(10)]


def test_a_tick_with_jitter_keeps_its_planned_instant_though_that_could_not_be_read_just_before(
    tmp_path: Path, namespace: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisServer("valkey", tmp_path) as server, opened(server, namespace, clock=clock) as store:
        app, passes = app_on(store), Passes(store)
        apply(store, [ScheduleConfig(name(0), "0 * * * *", "UTC", "default", None, jitter_s=600)], "file")
        info = app.schedules.get(name(0))
        passes()
        clock.ms = info.next_run_ms or 0
        planned = Known.planned

        def while_busy(known: Known, definitions: Any) -> Any:
            server.admin.config_set("busy-reply-threshold", 1)
            thread = threading.Thread(target=spin, args=(server,))
            thread.start()
            eventually(lambda: is_busy(server), what="a script that goes on")
            try:
                return planned(known, definitions)
            finally:
                server.admin.script_kill()
                thread.join()

        monkeypatch.setattr(Known, "planned", while_busy)
        with pytest.raises(ResponseError, match="BUSY"):
            passes()
        monkeypatch.undo()
        passes()
        assert [event["planned"] for event in app.schedules.history(name(0))] == [info.next_ms]


def spin(server: RedisServer) -> None:
    with suppress(ResponseError):
        server.client().eval("while true do end", 0)


def is_busy(server: RedisServer) -> bool:
    try:
        server.admin.ping()
    except ResponseError:
        return True
    return False
