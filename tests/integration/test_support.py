"""The servers of the tests keep their promises, so that a failing test speaks of the product."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from tests.support.servers import Cluster, Monitor, RedisServer, SentinelSet, Server
from tests.support.waiting import eventually, pause


def test_each_kind_of_server_starts_empty_and_takes_writes(server: Server, namespace: str) -> None:
    assert sum(node.client().dbsize() for node in server.nodes) == 0
    client = server.client()
    for n in range(20):
        client.set(f"{namespace}{n}", n)
    assert sum(node.client().dbsize() for node in server.nodes) == 20
    assert server.commandstats()["set"] >= 20


def test_every_node_of_a_cluster_serves_its_share(cluster: Cluster) -> None:
    client = cluster.client()
    for n in range(300):
        client.set(f"k{n}", n)
    assert all(node.client().dbsize() > 50 for node in cluster.nodes)
    assert cluster.node_of("k1").client().get("k1") == b"1"


def test_a_server_is_whole_again_after_any_outage(server: Server) -> None:
    for outage in (RedisServer.kill, RedisServer.stop, RedisServer.pause):
        outage(server.nodes[0])
        server.heal()
        assert server.client().set("k", "v")


def test_a_monitor_has_every_command_up_to_its_end_and_tells_scripts_apart(server: Server) -> None:
    client = server.client()
    with Monitor(server) as monitor:
        for n in range(500):
            client.set("{a}k", f'v"{n}\\\n\x00é')
        client.eval("return redis.call('get', KEYS[1])", 1, "{a}k")
    sets = [seen for seen in monitor.commands if seen.command == "SET"]
    assert [seen.args for seen in sets] == [("{a}k", f'v"{n}\\\n\x00é') for n in range(500)]
    assert [(s.args, s.lua) for s in monitor.commands if s.command == "GET"] == [(("{a}k",), True)]
    assert not any(seen.command == "ECHO" for seen in monitor.commands)


def test_a_monitor_of_a_busy_server_ends_quietly(valkey: RedisServer) -> None:
    # A fault of the monitor's thread would fail this test.
    ended = threading.Event()

    def write() -> None:
        client = valkey.client()
        while not ended.is_set():
            client.set("k", "v")

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        try:
            for _ in range(100):
                with Monitor(valkey):
                    pass
        finally:
            ended.set()
        writer.result()


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_a_killed_server_with_aof_keeps_what_it_acknowledged(tmp_path: Path, unix: bool) -> None:
    with RedisServer("valkey", tmp_path, aof=True, unix=unix) as server:
        server.client().set("k", "v")
        server.kill()
        assert server.start().client().get("k") == b"v"
        server.restart()
        assert server.client().get("k") == b"v"


def test_a_restart_keeps_the_data_also_without_aof(tmp_path: Path) -> None:
    with RedisServer("valkey", tmp_path) as server:
        server.client().set("k", "v")
        server.restart()
        assert server.client().get("k") == b"v"


def test_a_paused_server_holds_its_connections_and_answers_later(tmp_path: Path) -> None:
    with RedisServer("valkey", tmp_path) as server:
        client = server.client(timeout_s=1)
        client.ping()
        server.pause()
        with pytest.raises(redis.TimeoutError):
            client.ping()
        server.resume()
        assert server.client().ping()


def test_a_failover_swaps_primary_and_replica_and_keeps_the_data(tmp_path: Path) -> None:
    with SentinelSet(tmp_path) as servers:
        old = servers.primary
        servers.client().set("k", "v")
        assert servers.client().wait(1, 5000) == 1
        new = servers.failover()
        assert new is servers.primary is not old
        assert servers.client().get("k") == b"v"
        with pytest.raises(redis.ReadOnlyError):
            old.client().set("k", "w")


def test_waiting_looks_once_more_when_its_time_is_over_however_long_a_look_took() -> None:
    def look() -> bool:
        looks.append(time.monotonic())
        pause(0.1)
        return len(looks) == 2

    looks: list[float] = []
    assert eventually(look, 0.05)


def test_waiting_gives_the_answer_or_says_what_was_missing() -> None:
    answers = iter([0, "", "here"])
    assert eventually(lambda: next(answers)) == "here"
    begun = time.monotonic()
    with pytest.raises(AssertionError, match=r"the moon: not within 0\.05 s"):
        eventually(lambda: None, 0.05, "the moon")
    assert time.monotonic() - begun < 5
