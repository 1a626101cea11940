"""The test proxy fails in exactly the ordered way, so that a failing test speaks of the product."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.proxy import Proxy, command
from tests.support.servers import RedisServer


@pytest.fixture
def proxy(valkey: RedisServer) -> Iterator[Proxy]:
    with Proxy(valkey.url) as proxy:
        yield proxy


def _client(proxy: Proxy, timeout_s: float = 5) -> redis.Redis:
    return redis.Redis.from_url(
        proxy.url, protocol=2, retry=Retry(NoBackoff(), 0), socket_timeout=timeout_s, socket_connect_timeout=2
    )


def test_bytes_pass_unchanged_also_large_and_pipelined(proxy: Proxy) -> None:
    client = _client(proxy)
    large = bytes(range(256)) * 20_000
    client.set("large", large)
    assert client.get("large") == large
    pipeline = client.pipeline(transaction=False)
    for n in range(1000):
        pipeline.set(f"k{n}", f"*{n}\r\n$")
    assert all(pipeline.execute())
    assert client.get("k7") == b"*7\r\n$"


def test_a_cut_reply_means_done_at_the_server_and_lost_on_the_way(proxy: Proxy, valkey: RedisServer) -> None:
    client = _client(proxy)
    proxy.cut_reply(times=3)
    for _ in range(3):
        with pytest.raises(redis.ConnectionError):
            client.incr("n")
    assert client.incr("n") == 4
    assert (proxy.cuts, valkey.client().get("n")) == (3, b"4")


def test_only_matching_requests_are_cut_and_a_pipeline_is_carried_out_as_a_whole(proxy: Proxy) -> None:
    client = _client(proxy)
    proxy.cut_reply(command("incrby"))
    client.set("other", 1)
    pipeline = client.pipeline(transaction=False)
    pipeline.set("a", 1)
    pipeline.incr("n")
    pipeline.set("b", 2)
    with pytest.raises(redis.ConnectionError):
        pipeline.execute()
    assert client.mget("a", "n", "b") == [b"1", b"1", b"2"]


def test_the_reply_of_a_blocking_command_is_cut_when_it_comes(proxy: Proxy, valkey: RedisServer) -> None:
    proxy.cut_reply(command("blpop"))
    threading.Timer(0.1, lambda: valkey.client().rpush("list", "a", "b")).start()
    with pytest.raises(redis.ConnectionError):
        _client(proxy).blpop(["list"], 5)
    assert valkey.client().lrange("list", 0, -1) == [b"b"]


def test_swallowed_connections_stay_open_and_dead_while_new_ones_may_work(proxy: Proxy) -> None:
    client = _client(proxy, timeout_s=1)
    client.ping()
    proxy.swallow(new_too=False)
    with pytest.raises(redis.TimeoutError):
        client.ping()
    assert proxy.connections == 1
    assert _client(proxy).ping()


def test_while_all_is_swallowed_a_new_connection_gets_no_answer_until_resumed(proxy: Proxy) -> None:
    proxy.swallow()
    with pytest.raises(redis.TimeoutError):
        _client(proxy, timeout_s=0.2).ping()
    proxy.resume()
    assert _client(proxy).ping()


def test_a_reset_ends_every_connection_at_once(proxy: Proxy, valkey: RedisServer) -> None:
    client = _client(proxy, timeout_s=20)
    client.ping()
    threading.Timer(0.1, proxy.reset_all).start()
    begun = time.monotonic()
    with pytest.raises(redis.ConnectionError):
        client.blpop(["nothing"], 10)
    assert time.monotonic() - begun < 5
    assert client.ping()


def test_a_loading_server_refuses_until_it_is_loaded(proxy: Proxy) -> None:
    client = _client(proxy)
    proxy.loading()
    with pytest.raises(redis.BusyLoadingError):
        client.ping()
    proxy.loaded()
    assert client.ping()


def test_replies_are_late_by_the_ordered_time(proxy: Proxy) -> None:
    client = _client(proxy)
    client.ping()
    proxy.delay(80)
    begun = time.monotonic()
    client.ping()
    assert time.monotonic() - begun >= 0.08


def test_a_server_that_is_down_is_a_connection_that_ends(tmp_path: Path) -> None:
    with RedisServer("valkey", tmp_path, unix=True) as server, Proxy(server.url) as proxy:
        client = _client(proxy)
        client.ping()
        server.kill()
        with pytest.raises(redis.ConnectionError):
            client.ping()
        server.start()
        assert client.ping()
