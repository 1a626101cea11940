"""One primary, one replica and three sentinels that agree on who is who."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from bench.ports import free_port
from tests.support.server_process import ServerProcess
from tests.support.single import RedisServer
from tests.support.waiting import eventually

NAME = "oncue-primary"
_QUORUM = 2
# Sentinels that were kept from their work for two seconds trust no clock and decide nothing for 30 s (TILT).
_PATIENCE_S = 75

_CONFIG = """\
port {port}
bind 127.0.0.1
dir "{directory}"
sentinel monitor {name} 127.0.0.1 {primary} {quorum}
sentinel down-after-milliseconds {name} 1000
sentinel failover-timeout {name} 5000
"""


class Sentinel(ServerProcess):
    """One sentinel; it rewrites its own configuration file, so it starts from a file and not from flags."""

    def __init__(self, directory: Path, primary_port: int) -> None:
        port = free_port()
        super().__init__("valkey", directory, port)
        self._file = directory / "sentinel.conf"
        directory.mkdir(parents=True, exist_ok=True)
        settings = {"port": port, "directory": directory, "primary": primary_port}
        self._file.write_text(_CONFIG.format(name=NAME, quorum=_QUORUM, **settings))

    def _arguments(self) -> list[str]:
        return [str(self._file), "--sentinel"]

    def hasten(self) -> None:
        # Their own periods (INFO every 10 s, hello every 2 s) would make each start take seconds.
        self._set_periods(info=200, publish=100, ping=100)

    def steady(self) -> None:
        # A sentinel turns a promoted replica back when four hello periods bring no word of the promotion: with
        # hasty hellos that is sooner than the leader itself learns of it, and the failover fails.
        self._set_periods(info=200, publish=2000, ping=200)

    def _set_periods(self, *, info: int, publish: int, ping: int) -> None:
        periods = ("INFO-PERIOD", info, "PUBLISH-PERIOD", publish, "PING-PERIOD", ping)
        self.ask("SENTINEL", "DEBUG", *periods)

    def primary_port(self) -> int:
        _host, port = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        return int(port)

    def knows_all(self) -> bool:
        replicas = self.ask("SENTINEL", "REPLICAS", NAME)
        sentinels = self.ask("SENTINEL", "SENTINELS", NAME)
        return len(replicas) == 1 and len(sentinels) == 2


class SentinelSet:
    """`url` names the sentinels; `primary` and `replica` are looked up at each use."""

    shards = 1
    kind = "sentinel"

    def __init__(self, directory: Path, *, aof: bool = False) -> None:
        self._first = RedisServer("valkey", directory / "server0", aof=aof)
        replica_of = {"replicaof": f"127.0.0.1 {self._first.port}"}
        self._second = RedisServer("valkey", directory / "server1", config=replica_of, aof=aof)
        self.sentinels = [Sentinel(directory / f"sentinel{n}", self._first.port) for n in range(3)]

    @property
    def url(self) -> str:
        return "redis+sentinel://" + ",".join(f"127.0.0.1:{s.port}" for s in self.sentinels) + f"/{NAME}"

    @property
    def nodes(self) -> list[RedisServer]:
        return [self._first, self._second]

    @property
    def primary(self) -> RedisServer:
        port = self.sentinels[0].primary_port()
        return next(node for node in self.nodes if node.port == port)

    @property
    def replica(self) -> RedisServer:
        port = self.sentinels[0].primary_port()
        return next(node for node in self.nodes if node.port != port)

    def start(self, timeout_s: float = _PATIENCE_S) -> Self:
        try:
            for node in self.nodes:
                node.start()
            eventually(self._linked, timeout_s, "the replica's link to its primary")
            for sentinel in self.sentinels:
                sentinel.start()
            self._hasten()
            eventually(self._agreed, timeout_s, "sentinels that know each other and the replica")
            self._steady()
        except BaseException:
            self.stop()
            raise
        return self

    def _linked(self) -> bool:
        return bool(self._second.admin.info("replication")["master_link_status"] == "up")

    def _agreed(self) -> bool:
        return all(sentinel.knows_all() for sentinel in self.sentinels)

    def stop(self) -> None:
        for process in (*self.sentinels, *self.nodes):
            process.stop()

    def failover(self, timeout_s: float = _PATIENCE_S) -> RedisServer:
        """Make the replica primary, both alive throughout; returns it when all sentinels name it."""
        old, new = self.primary, self.replica
        eventually(self._failover_begun, timeout_s, "a sentinel that begins the failover")
        eventually(lambda: self._all_name(new), timeout_s, "sentinels that name the new primary")
        # The old primary is turned into a replica after four hello periods of answering as a primary.
        self._hasten()
        eventually(lambda: _role(old) == "slave", timeout_s, "the old primary as replica")
        self._steady()
        return new

    def _hasten(self) -> None:
        for sentinel in self.sentinels:
            sentinel.hasten()

    def _steady(self) -> None:
        for sentinel in self.sentinels:
            sentinel.steady()

    def _failover_begun(self) -> bool:
        try:
            return bool(self.sentinels[0].ask("SENTINEL", "FAILOVER", NAME))
        except redis.ResponseError:
            # NOGOODSLAVE for the moment in which the replica's last report is too old.
            return False

    def _all_name(self, node: RedisServer) -> bool:
        return _role(node) == "master" and all(s.primary_port() == node.port for s in self.sentinels)

    def client(self, timeout_s: float = 10) -> redis.Redis:
        """A plain client of the server that is primary now."""
        return self.primary.client(timeout_s)

    def flush(self) -> None:
        self.primary.flush()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _role(node: RedisServer) -> str:
    return str(node.admin.info("replication")["role"])
