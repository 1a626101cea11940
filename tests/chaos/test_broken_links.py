"""Connections that are cut and servers that are away or still loading, under real processes (P02, P03, P16)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise

import pytest
import redis

from oncue import NewTask
from oncue.common.clock import host_now_ms, monotonic_s
from tests.chaos.crew import Crew, dice
from tests.chaos.moments import SECOND, ticks, wait_until
from tests.support.commands import Manager
from tests.support.processes import Process
from tests.support.proxy import Proxy, command
from tests.support.servers import RedisServer
from tests.support.standstill import Standstill
from tests.support.waiting import eventually, pause

LOADING_S = 60
LONGEST_PAUSE_MS = 800


@pytest.fixture
def proxy(valkey: RedisServer) -> Iterator[Proxy]:
    with Proxy(valkey.url) as found:
        yield found


@pytest.mark.slow
def test_a_worker_whose_server_went_away_takes_work_again_without_a_restart(
    own_crew: Crew, own: RedisServer, manager: Manager, stood: Standstill
) -> None:
    """P02: five times all connections are killed, then the server is away for 4 s; a task runs all the time."""
    own_crew.scheduler().wait_until_at_work()
    worker = own_crew.worker(**manager.env)
    long = own_crew.app.schedule_task(None, 9)
    own_crew.wait_for_runs(1, 30)
    for _ in range(5):
        own.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        pause(0.5)
    own.stop()
    gone_at = monotonic_s()
    manager.wait_for("STATUS=degraded")
    pause(4 - (monotonic_s() - gone_at))
    own.start()
    back_ms = host_now_ms()
    ids = own_crew.app.schedule_many([NewTask(None, 0) for _ in range(20)])
    # The one beside the 20 is still running, or not.
    eventually(lambda: own_crew.counts().get("done", 0) >= 20, 20, "20 tasks done")
    done_ms = host_now_ms()
    took_ms = done_ms - back_ms - stood.ms(back_ms, done_ms)
    assert took_ms < 3 * SECOND
    own_crew.wait_for(15, done=21)
    runs = own_crew.runs()
    assert sorted(run.id for run in runs) == sorted([long, *ids])
    assert {run.pid for run in runs} == {worker.process.pid}
    assert worker.process.running
    print(f"20 tasks done {took_ms} ms after the server was back")


@pytest.mark.slow
def test_every_tick_comes_once_however_often_a_schedulers_connections_are_reset(
    crew: Crew, proxy: Proxy
) -> None:
    """P03: 20 resets of one of two schedulers in 20 s, every other one in place of the reply to a script."""
    chance = dice(3)
    # So that a machine that stands still for some seconds leaves out no tick by rights.
    config = crew.schedules(", catch_up: all, overlap: allow", beat="* * * * * *")
    crew.worker().wait_until_at_work()
    schedulers = [crew.scheduler("--config", config, "--url", url) for url in (crew.url, proxy.url)]
    for scheduler in schedulers:
        scheduler.wait_until_at_work()
    began = host_now_ms()
    for n in range(20):
        wait_until(began + n * SECOND + chance.uniform(0, 900))
        if n % 2:
            proxy.cut_reply(command("EVALSHA"))
            # An order that comes before the last one was carried out takes its place.
            proxy.wait_for_cuts(n // 2 + 1)
        else:
            proxy.reset_all()
    wait_until(began + 21 * SECOND)
    for scheduler in schedulers:
        scheduler.kill()
    eventually(lambda: set(crew.counts()) == {"done"}, what="all ticks done")
    runs = crew.runs()
    fired = ticks(runs)
    assert fired == list(range(fired[0], fired[-1] + 1, SECOND)), "a tick is missing"
    assert len(fired) >= 20
    assert min(run.late_ms for run in runs) >= 0


@pytest.mark.slow
def test_roles_wait_for_a_server_that_is_still_loading_its_data(
    own_crew: Crew, own: RedisServer, manager: Manager, stood: Standstill
) -> None:
    """P16: at their start and after a crash of the server; at work within a second after it has loaded."""
    own_crew.app.schedule_task(None, 0)
    make_slow_to_load(own)
    own.kill()
    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(own.start, LOADING_S)
        eventually(lambda: is_loading(own), 10, "a server that loads")
        scheduler, worker = own_crew.scheduler(), own_crew.worker(**manager.env)
        roles = [scheduler.process, worker.process]
        said = manager.wait_for("STATUS=waiting for the server", 30)
        assert "loading its data" in said
        wait_for_waits(roles, 5)
        assert manager.heard("READY=1") is None
        end_loading(own)
        loaded.result(30)
        assert_begins_within_a_second(own_crew, 1, stood)
        manager.wait_for("READY=1")

        own.kill()
        loaded = pool.submit(own.start, LOADING_S)
        manager.wait_for("STATUS=degraded", 30)
        wait_for_waits(roles, max(len(waits(role)) for role in roles) + 2)
        end_loading(own)
        loaded.result(30)
        own_crew.app.schedule_task(None, 0)
        assert_begins_within_a_second(own_crew, 2, stood)
    for role in roles:
        assert_went_on(role)


def make_slow_to_load(server: RedisServer) -> None:
    """Give it keys that each take a millisecond of its next start: a minute in all, unless that is ended."""
    server.ask("DEBUG", "POPULATE", LOADING_S * 1000, "weight")
    server.ask("BGREWRITEAOF")
    eventually(lambda: not server.admin.info("persistence")["aof_rewrite_in_progress"], 10, "the rewrite")
    server.config |= {"key-load-delay": "1000", "loading-process-events-interval-bytes": "1024"}


def end_loading(server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "key-load-delay", "0")


def is_loading(server: RedisServer) -> bool:
    try:
        with server.client() as client:
            return bool(client.info("persistence")["loading"])
    except redis.RedisError:
        return False


def test_a_server_that_turns_to_loading_in_the_middle_is_waited_for(
    crew: Crew, proxy: Proxy, manager: Manager, stood: Standstill
) -> None:
    """P16: without a broken connection, as a replica does that copies its primary anew."""
    scheduler = crew.scheduler("--url", proxy.url)
    worker = crew.worker("--url", proxy.url, **manager.env)
    roles = [scheduler.process, worker.process]
    for member in (scheduler, worker):
        member.wait_until_at_work()
    proxy.loading()
    # One that is ready, and one that is to be promoted meanwhile.
    crew.app.schedule_task(None, 0)
    crew.app.schedule_task((crew.now_ms() + 200) / 1000, 0)
    wait_for_waits(roles, 5)
    manager.wait_for("STATUS=degraded")
    assert crew.runs() == []
    proxy.loaded()
    assert_begins_within_a_second(crew, 2, stood)
    manager.wait_for("STATUS=at work")
    for role in roles:
        assert_went_on(role)


def wait_for_waits(roles: list[Process], number: int) -> None:
    eventually(lambda: all(len(waits(role)) >= number for role in roles), 30, "steps of back-off")


def waits(role: Process) -> list[int]:
    """The pauses that a role has announced, in ms."""
    return [int(found) for found in re.findall(r"(?:LOADING|loading).*trying again in (\d+) ms", role.output)]


def assert_begins_within_a_second(crew: Crew, runs: int, stood: Standstill) -> None:
    began_ms = host_now_ms()
    took = crew.wait_for_runs(runs, 30)[-1].began_ms - began_ms
    print(f"work began {took} ms after loading ended")
    # A second on a quiet machine, of which the longest pause takes up to 0.8 s: only a longer one reaches two.
    assert took < 2 * SECOND + stood.ms(began_ms, began_ms + took)
    crew.wait_for(done=runs)


def assert_went_on(role: Process) -> None:
    """No traceback, and one line for each step: never two in less time than the first of them said it would wait."""
    assert role.running
    assert "Traceback" not in role.output
    assert max(waits(role)) <= LONGEST_PAUSE_MS
    said = re.findall(r"^(\S+ \S+) WARNING .* trying again in (\d+) ms$", role.output, re.MULTILINE)
    for (at, pause_ms), (then, _) in pairwise(said):
        apart = (datetime.fromisoformat(then) - datetime.fromisoformat(at)).total_seconds()
        assert apart * 1000 >= int(pause_ms) - 2, said
