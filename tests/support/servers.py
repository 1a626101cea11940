"""The servers of the tests, under one name."""

from __future__ import annotations

from typing import Protocol

import redis
from redis.cluster import RedisCluster

from tests.support.cluster import Cluster
from tests.support.monitor import Monitor, Seen
from tests.support.sentinel import SentinelSet
from tests.support.server_process import Kind, binary
from tests.support.single import RedisServer

__all__ = ["Cluster", "Kind", "Monitor", "RedisServer", "Seen", "SentinelSet", "Server", "binary"]


class Server(Protocol):
    """What the contract tests ask of a server of any kind."""

    @property
    def kind(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def shards(self) -> int: ...
    @property
    def nodes(self) -> list[RedisServer]: ...

    def client(self, timeout_s: float = 10) -> redis.Redis | RedisCluster: ...
    def flush(self) -> None: ...
    def heal(self) -> None: ...
    def commandstats(self) -> dict[str, int]: ...
    def reset_stats(self) -> None: ...
