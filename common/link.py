"""Connections to the store, by kind: one client for commands, and connections of their own for blocking reads.

redis-py's defaults differ between its versions (no read time-out at all, or 5 s; no retries, or many), so both are set
here, for each kind. The client never repeats a command by itself: ``Link.call`` does, knowing that scripts may be
repeated and for how long.
"""

import logging
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
)
from redis.retry import Retry
from redis.sentinel import Sentinel

from oncue.common.address import Address
from oncue.common.clock import monotonic_s
from oncue.common.connections import Connections, OpenConnection
from oncue.common.errors import OncueError, StoreUnavailable, WrongServer
from oncue.common.faults import FAULTS, Backoff, is_passing, said

COMMAND_TIMEOUT_S = 5.0
"""Read and connect time-out of commands: no script of oncue takes a hundredth of it."""

OLDEST_SERVER = (7, 0)

_log = logging.getLogger("oncue.link")
_KEEPALIVE = {
    # A peer whose kernel is gone is noticed in 10 + 3 * 3 = 19 s when idle, in 19 s when data is unacknowledged.
    getattr(socket, "TCP_KEEPIDLE", 4): 10,
    getattr(socket, "TCP_KEEPINTVL", 5): 3,
    getattr(socket, "TCP_KEEPCNT", 6): 3,
    getattr(socket, "TCP_USER_TIMEOUT", 18): 19_000,
}
T = TypeVar("T")


class Link:
    """The way to one server, Sentinel group or cluster. No I/O until the first call; safe to use from many threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._client: redis.Redis | RedisCluster | None = None
        self._connections: Connections | None = None
        self._checked: set[bytes] = set()
        self._at_reset: list[Callable[[], None]] = []

    @property
    def client(self) -> redis.Redis | RedisCluster:
        """The client for commands, made at first use (a cluster's is made by asking its nodes)."""
        # Kept in a variable: another thread may reset the link between any two looks at it.
        client = self._client
        if client is None:
            with self._lock:
                client = self._client or self._made()
                # Before the client: who finds one goes by these.
                self._connections = self._connections or self._direct(client)
                self._client = client
        return client

    def _direct(self, client: redis.Redis | RedisCluster) -> Connections | None:
        # A cluster's commands need routing. Under TLS an idle connection may have something to read by rights.
        if isinstance(client, RedisCluster) or self.address.tls:
            return None
        return Connections(partial(_new_connection, client))

    def execute_command(self, *command: Any) -> Any:
        """The reply to one command, as it comes from the server; raises what redis-py raises, never repeats it."""
        client: Any = self._client
        if client is None:
            client = self.client
        if self._connections is None:
            return client.execute_command(*command)
        return self._connections.execute(*command)

    def take(self) -> OpenConnection | None:
        """A connection for commands in a row, or None where each needs routing; raises what redis-py raises."""
        # Made now, if this is the first call.
        _ = self.client
        return None if self._connections is None else self._connections.take()

    def give_back(self, connection: OpenConnection) -> None:
        """Takes back one from ``take`` on which no reply is still to come."""
        if self._connections is None:
            connection.close()
        else:
            self._connections.give_back(connection)

    def _options(self) -> dict[str, Any]:
        address = self.address
        options: dict[str, Any] = {
            "username": address.username,
            "password": address.password,
            "socket_timeout": COMMAND_TIMEOUT_S,
            "socket_connect_timeout": COMMAND_TIMEOUT_S,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            # redis-py 8 refuses the 101st; a program may well have more threads than that.
            "max_connections": 10_000,
        }
        if address.socket_path is None:
            options |= {"socket_keepalive": True, "socket_keepalive_options": _KEEPALIVE}
        if address.tls:
            options |= {"ssl": True, "ssl_ca_certs": address.ca_file}
        return options

    def _made(self) -> redis.Redis | RedisCluster:
        address, options = self.address, self._options()
        if address.socket_path is not None:
            return redis.Redis(unix_socket_path=address.socket_path, db=address.db, **options)
        if address.mode == "cluster":
            # One repetition inside: after MOVED or a lost node it asks for the slots anew.
            options["retry"] = Retry(NoBackoff(), 1)
            nodes = [ClusterNode(host, port) for host, port in address.hosts]
            return RedisCluster(startup_nodes=nodes, **options)
        if address.mode == "sentinel":
            # Sentinels seldom share the servers' password; those that do are reached by the default user.
            asked = {
                k: v for k, v in options.items() if k not in ("username", "password", "ssl", "ssl_ca_certs")
            }
            group = Sentinel(list(address.hosts), sentinel_kwargs=asked, **options)
            return cast(redis.Redis, group.master_for(address.service or "", db=address.db))
        host, port = address.hosts[0]
        return redis.Redis(host=host, port=port, db=address.db, **options)

    def node(self, key: bytes) -> redis.Redis:
        """The client of the one server that holds ``key``; raises what redis-py raises."""
        client = self.client
        if not isinstance(client, RedisCluster):
            return client
        node = client.get_node_from_key(key.decode())
        if node is None:
            raise ClusterDownError(f"no node serves the slot of {key.decode()}")
        return client.get_redis_connection(node)

    def connection(self, key: bytes) -> Any:
        """A connection of its own to the server that holds ``key``, for one blocking read at a time; connected."""
        connection = _new_connection(self.node(key))
        connection.connect()
        return connection

    def server_time(self, key: bytes) -> tuple[int, int]:
        """TIME of the server that holds ``key``: seconds and microseconds."""
        # In a cluster the command names no key, so it is for the node to be asked.
        asked: Any = self.node(key) if isinstance(self.client, RedisCluster) else self
        seconds, micros = asked.execute_command("TIME")
        return int(seconds), int(micros)

    def reset(self) -> None:
        """Drops all connections for commands: after READONLY or a dead link the next ones ask for the primary anew."""
        client = self._client
        if isinstance(client, RedisCluster):
            with self._lock:
                self._client = None
            for node in client.get_nodes():
                if node.redis_connection is not None:
                    _drop_idle(node.redis_connection)
        elif client is not None:
            _drop_idle(client)
        if self._connections is not None:
            self._connections.drop()
        self._checked.clear()
        for forget in self._at_reset:
            forget()

    def at_reset(self, forget: Callable[[], None]) -> None:
        """``forget`` is called at each reset: it drops what was known of a server that another one may have followed."""
        self._at_reset.append(forget)

    def close(self) -> None:
        """Closes the connections for commands."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
        if self._connections is not None:
            self._connections.drop()

    def check(self, key: bytes) -> None:
        """Refuses a server that would lose or refuse work, once per server; raises WrongServer."""
        if key in self._checked:
            return
        info = self.node(key).info()
        version = str(info.get("valkey_version") or info.get("redis_version", "0.0"))
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SERVER:
            raise WrongServer(
                f"the server at {self.address.shown} is version {version}: 7.0 or later is needed"
            )
        # INFO is answered also while the data is still being read, when nothing else is.
        if info.get("loading"):
            raise BusyLoadingError("it is loading its data")
        if info.get("role") == "slave":
            raise ReadOnlyError(
                f"the server at {self.address.shown} is a read-only replica: give the primary's address"
            )
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            raise WrongServer(
                f"the server at {self.address.shown} has maxmemory-policy {policy} and would drop waiting tasks:"
                " set it to noeviction"
            )
        self._checked.add(key)

    def call(
        self,
        action: Callable[[], T],
        patience_s: float,
        pause: Callable[[float], None],
        key: bytes | None = None,
    ) -> T:
        """``action()``, repeated while only passing faults stop it, for ``patience_s``; ``pause`` waits in between.

        ``action`` must be one that may be done twice: a lost reply looks like a lost request. ``key``: where one is
        given, the server that holds it is checked first. Raises StoreUnavailable when patience ends, WrongServer for
        what no waiting mends.
        """
        backoff = None
        ends = monotonic_s() + patience_s
        while True:
            try:
                if key is not None:
                    self.check(key)
                return action()
            except FAULTS as error:
                failure = self.named(error)
                if not is_passing(error) or monotonic_s() >= ends:
                    raise failure from None
                _log.info("%s; trying again", failure)
                self.reset()
            backoff = backoff or Backoff()
            pause(backoff.pause_s())

    def named(self, error: BaseException) -> Exception:
        """What a redis-py error means to a user of oncue, in one sentence without secrets."""
        if isinstance(error, OncueError):
            return error
        where = self.address.shown
        if isinstance(error, AuthenticationError):
            return WrongServer(
                f"the server at {where} refuses the login: check user name and password ({said(error)})"
            )
        if isinstance(error, NoPermissionError):
            return WrongServer(
                f"the server at {where} forbids its user a command that oncue needs ({said(error)})"
            )
        if isinstance(error, ReadOnlyError):
            return StoreUnavailable(
                f"the server at {where} is a read-only replica: give the primary's address"
            )
        if isinstance(error, OutOfMemoryError):
            return StoreUnavailable(f"the server at {where} is out of memory: raise maxmemory")
        if is_passing(error):
            return StoreUnavailable(
                f"the server at {where} cannot be reached or is not ready ({said(error)})"
            )
        return WrongServer(f"the server at {where} answers with an error ({said(error)})")


def _new_connection(client: redis.Redis) -> Any:
    # Not the pool's make_connection: the pool would count it for good, and refuse the hundredth.
    pool = client.connection_pool
    return pool.connection_class(**pool.connection_kwargs)


def _drop_idle(client: redis.Redis) -> None:
    # Only connections that nobody uses: closing one under another thread's read ends in errors of any kind there. Such
    # a thread meets the fault itself, and resets again.
    client.connection_pool.disconnect(inuse_connections=False)
