"""A cluster of primaries, each serving an equal share of the slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

from bench.ports import free_port
from tests.support.single import RedisServer
from tests.support.waiting import eventually

_SLOTS = 16_384


class Cluster:
    """`masters` Valkey servers in cluster mode on loopback."""

    kind = "cluster"

    def __init__(
        self, directory: Path, masters: int = 3, *, config: Mapping[str, str] | None = None, aof: bool = False
    ) -> None:
        self.shards = masters
        self.nodes = [self._node(directory / f"node{n}", config or {}, aof) for n in range(masters)]

    @staticmethod
    def _node(directory: Path, config: Mapping[str, str], aof: bool) -> RedisServer:
        settings = {
            "cluster-enabled": "yes",
            "cluster-port": str(free_port()),
            "cluster-node-timeout": "3000",
            **config,
        }
        return RedisServer("valkey", directory, config=settings, aof=aof)

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self, timeout_s: float = 20) -> Self:
        try:
            for node in self.nodes:
                node.start()
            self._assign()
            eventually(self._settled, timeout_s, "cluster_state:ok on every node")
        except BaseException:
            self.stop()
            raise
        return self

    def _assign(self) -> None:
        first = self.nodes[0]
        for n, node in enumerate(self.nodes):
            # Epochs that differ from the start spare the round in which the nodes would settle them.
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
            bounds = n * _SLOTS // self.shards, (n + 1) * _SLOTS // self.shards - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", *bounds)
            if node is not first:
                bus = first.admin.config_get("cluster-port")["cluster-port"]
                node.ask("CLUSTER", "MEET", "127.0.0.1", first.port, int(bus or 0))

    def _settled(self) -> bool:
        return all(self._sees_all(node) for node in self.nodes)

    def _sees_all(self, node: RedisServer) -> bool:
        info = _fields(node.ask("CLUSTER", "INFO"))
        return (info["cluster_state"], int(info["cluster_known_nodes"])) == ("ok", self.shards)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def heal(self, timeout_s: float = 20) -> None:
        """Undo `stop`, `kill` and `pause` of nodes, and wait until the cluster is whole."""
        for node in self.nodes:
            node.heal()
        eventually(self._settled, timeout_s, "cluster_state:ok on every node")

    def node_of(self, key: str) -> RedisServer:
        """The node that was given the slot of `key`."""
        slot = int(self.nodes[0].ask("CLUSTER", "KEYSLOT", key))
        return next(n for i, n in enumerate(self.nodes) if slot < (i + 1) * _SLOTS // self.shards)

    def client(self, timeout_s: float = 10) -> RedisCluster:
        """A plain client: RESP2, no retries, and a read that ends with an error after `timeout_s`."""
        return RedisCluster(
            startup_nodes=[_cluster_node(node.port) for node in self.nodes],
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=timeout_s,
            socket_connect_timeout=5,
        )

    def flush(self) -> None:
        """Remove all keys of all nodes; cached scripts stay."""
        for node in self.nodes:
            node.flush()

    def commandstats(self) -> dict[str, int]:
        """Calls per command in lower case, summed over the nodes."""
        return dict(sum((Counter(node.commandstats()) for node in self.nodes), Counter[str]()))

    def reset_stats(self) -> None:
        for node in self.nodes:
            node.reset_stats()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _cluster_node(port: int) -> ClusterNode:
    return ClusterNode("127.0.0.1", port)


def _fields(answer: object) -> dict[str, str]:
    # redis-py parses CLUSTER INFO into a dict where it knows the command by one word, and leaves text elsewhere.
    if isinstance(answer, dict):
        return {str(name): str(value) for name, value in answer.items()}
    text = answer.decode() if isinstance(answer, bytes) else str(answer)
    return dict(line.split(":", 1) for line in text.split())
