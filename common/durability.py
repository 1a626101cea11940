"""Durability: a call that returns only when replicas have what it wrote, or the append-only file is on the disk.

WAIT and WAITAOF speak of what their own connection has written, so the script and the wait go over one connection.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ClusterDownError, MovedError

from oncue.common.errors import BadInput, NotDurable, WrongServer
from oncue.common.scripts import script
from oncue.common.shard import Shard
from oncue.common.store import Store

CONFIRM_S = 2.0
"""How long a write may take to be confirmed; well below the time-out of a command."""


@dataclass(frozen=True, slots=True)
class Durability:
    """What a write waits for: so many replicas, or (0) the local append-only file."""

    replicas: int

    @property
    def what(self) -> str:
        """For people."""
        return f"{self.replicas} replicas" if self.replicas else "the append-only file"


def durability(text: object) -> Durability:
    """ "aof" or "replicas:N"; raises BadInput."""
    if text == "aof":
        return Durability(0)
    kind, _, number = text.partition(":") if isinstance(text, str) else ("", "", "")
    if kind != "replicas" or not (number.isascii() and number.isdigit() and 1 <= int(number) <= 100):
        raise BadInput(
            f'a durability of {text!r:.40} is not understood: give "replicas:1" (or more), or "aof"'
        )
    return Durability(int(number))


def confirmed(store: Store, wanted: Durability) -> Store:
    """The same store for one call of one thread, which raises NotDurable where it is not confirmed in time."""
    same = copy.copy(store)
    shards: list[Shard] = [ConfirmedShard(shard, wanted) for shard in store.shards]
    same.shards = shards
    return same


class ConfirmedShard(Shard):
    """A shard whose scripts go over one connection with the wait for their confirmation."""

    def __init__(self, shard: Shard, wanted: Durability) -> None:
        self.__dict__.update(shard.__dict__)
        self._wanted = wanted
        self._client: Any = None

    def call(self, name: str, keys: Sequence[bytes], args: Sequence[bytes | str | int]) -> Any:
        """One call of a script; raises what redis-py raises, and WrongServer."""
        with self._connected() as client:
            return script(name)(client, keys, args)

    def take(self) -> None:
        """Each call waits for its confirmation before the next."""

    def confirm(self, ids: Sequence[str]) -> None:
        """Waits for the confirmation; raises NotDurable, WrongServer and what redis-py raises."""
        with self._connected() as client:
            # A repeated call may write nothing itself; what stands before this in the log is confirmed with it.
            client.incr(self.keys.seq)
            told = self._wait(client)
        self._client = None
        client.close()
        if told < max(1, self._wanted.replicas):
            which = (
                f"task {ids[0]} is" if len(ids) == 1 else f"{len(ids)} tasks, the first of them {ids[0]}, are"
            )
            raise NotDurable(
                f"{which} written, but not confirmed by {self._wanted.what} within {CONFIRM_S:g} s (by {told}): to be run"
                " all the same, but lost if this server is; ask for the id before repeating the call",
                ids,
            )

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """The connection of the calls since the last confirmation. A fault drops it, since another may lead to another
        server, which knows nothing of those calls."""
        client, self._client = self._client, None
        try:
            if client is None:
                client = self.link.node(self.keys.seq).client()
                self._check(client)
            yield client
        except MovedError as error:
            raise ClusterDownError(f"the shard has moved ({error})") from None
        self._client = client

    def _wait(self, client: Any) -> int:
        ms = int(CONFIRM_S * 1000)
        if self._wanted.replicas:
            return int(client.execute_command("WAIT", self._wanted.replicas, ms))
        return int(client.execute_command("WAITAOF", 1, 0, ms)[0])

    def _check(self, client: Any) -> None:
        if self._wanted.replicas:
            return
        info = client.info()
        if not info.get("aof_enabled"):
            raise WrongServer(
                f"the server at {self.link.address.shown} keeps no append-only file: set appendonly to yes, or ask for"
                " no durability of aof; nothing was written"
            )
        version = str(info.get("redis_version", "0.0"))
        if tuple(int(part) for part in version.split(".")[:2]) < (7, 2):
            raise WrongServer(
                f"the server at {self.link.address.shown} is version {version}: a durability of aof needs 7.2 or later;"
                " nothing was written"
            )
