"""Waiting on a real server: what came early is remembered, an instant is met to the millisecond, a dead link is noticed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from statistics import quantiles

import pytest
import redis
from redis.exceptions import ConnectionError as LinkDown

from oncue.common import address, wait
from oncue.common.clock import monotonic_s
from oncue.common.link import Link
from oncue.common.wait import NOTHING, BlockingRead, Nudge
from tests.support.product import Place
from tests.support.proxy import Proxy
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

KEY = b"{wait}:list"


class Waiter:
    """A blocking read on one list, and what ends it."""

    def __init__(self, place: Place) -> None:
        self.link = Link(address.parse(place.url))
        self.nudge = Nudge()
        self.read = BlockingRead(self.link, KEY, self.nudge)

    def send(self, block_s: float = 20) -> None:
        self.read.send("BLPOP", KEY, block_s)

    def close(self) -> None:
        self.read.close()
        self.link.close()
        self.nudge.close()


@pytest.fixture
def waiter(valkey: RedisServer) -> Iterator[Waiter]:
    waiter = Waiter(valkey)
    yield waiter
    waiter.close()


def blocked(valkey: RedisServer) -> bool:
    """Whether a client waits on the server."""
    return int(valkey.admin.info("clients")["blocked_clients"]) > 0


def test_a_nudge_before_the_wait_ends_it_once(waiter: Waiter) -> None:
    for _ in range(3):
        waiter.nudge.send()
    waiter.send()
    began = monotonic_s()
    assert waiter.read.wait(began + 20) is NOTHING
    assert monotonic_s() - began < 10
    assert waiter.read.wait(began + 0.05) is NOTHING  # all three counted as one
    assert monotonic_s() >= began + 0.05


def test_any_number_of_nudges_fits(waiter: Waiter) -> None:
    for _ in range(100_000):
        waiter.nudge.send()
    assert waiter.nudge.wait_s(5) is True
    assert waiter.nudge.wait_s(0) is False


def test_news_before_the_wait_is_remembered(waiter: Waiter, valkey: RedisServer) -> None:
    waiter.send()
    eventually(lambda: blocked(valkey))
    valkey.admin.rpush(KEY, "x")
    assert waiter.read.wait(monotonic_s() + 5) == [KEY, b"x"]
    assert not waiter.read.is_open


def test_a_wait_that_ended_at_an_instant_leaves_its_command_open_for_the_next(
    waiter: Waiter, valkey: RedisServer
) -> None:
    waiter.send()
    assert waiter.read.wait(monotonic_s() + 0.01) is NOTHING
    assert waiter.read.is_open
    valkey.admin.rpush(KEY, "later")
    assert waiter.read.wait(monotonic_s() + 5) == [KEY, b"later"]


def test_a_wait_ends_at_its_instant_never_before_and_a_moment_after(waiter: Waiter) -> None:
    waiter.send()
    late_ms = []
    for n in range(40):
        until = monotonic_s() + 0.01 + n / 10_000
        assert waiter.read.wait(until) is NOTHING
        late_ms.append((monotonic_s() - until) * 1000)
    assert min(late_ms) >= 0
    # The best of them, and a quarter of them, because the machine may be busy; a server's own end comes some 50 ms late.
    assert min(late_ms) < 1
    assert quantiles(late_ms)[0] < 25


def test_an_instant_in_the_past_still_takes_news_that_is_there(waiter: Waiter, valkey: RedisServer) -> None:
    valkey.admin.rpush(KEY, "there")
    waiter.send()
    eventually(lambda: valkey.admin.llen(KEY) == 0)
    assert waiter.read.wait(monotonic_s() - 1) == [KEY, b"there"]


def test_a_block_without_news_says_so_and_proves_the_link(waiter: Waiter) -> None:
    waiter.send(0.05)
    assert waiter.read.wait(None) is None
    assert not waiter.read.is_open


def test_a_silent_link_is_given_up_after_block_and_grace(
    valkey: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Time enough to cut the link off before the server's own end of the block comes.
    monkeypatch.setattr(wait, "BLOCK_S", 2)
    monkeypatch.setattr(wait, "GRACE_S", 0.2)
    with Proxy(valkey.url) as proxy:
        waiter = Waiter(proxy)
        waiter.send(2)
        eventually(lambda: blocked(valkey))
        began = monotonic_s()
        proxy.swallow()
        with pytest.raises(LinkDown, match="no sign of life for 2.2 s"):
            waiter.read.wait(None)
        # And not of the minute that is usual.
        assert monotonic_s() - began < 10
        assert not waiter.read.is_open
        proxy.resume()
        waiter.send(0.05)
        assert waiter.read.wait(None) is None
        waiter.close()


def test_the_proof_of_life_is_due_within_65_seconds() -> None:
    assert wait.BLOCK_S + wait.GRACE_S <= 65


def test_a_link_that_is_cut_or_a_client_that_is_unblocked_ends_the_wait(
    waiter: Waiter, valkey: RedisServer
) -> None:
    for how, error in (("KILL", LinkDown), ("UNBLOCK", redis.ResponseError)):
        waiter.send()
        eventually(lambda: blocked(valkey))
        client = next(c for c in valkey.admin.client_list() if "b" in c["flags"])
        words = ("ID", client["id"]) if how == "KILL" else (client["id"], "ERROR")
        killer = threading.Timer(0.02, valkey.ask, ["CLIENT", how, *words])
        killer.start()
        with pytest.raises(error):
            waiter.read.wait(monotonic_s() + 5)
        killer.join()
        waiter.read.close()
