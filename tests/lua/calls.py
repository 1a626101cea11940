"""Calls of the Lua scripts, each ready to be made, and what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oncue.common.keys import Keys
from oncue.common.scripts import Client, script

Arg = bytes | str | int
Head = list[tuple[bytes, int]]


@dataclass(frozen=True)
class Call:
    """One call, ready to be made, as often as a test wants."""

    client: Client
    name: str
    keys: tuple[bytes, ...]
    args: tuple[Arg, ...]

    def run(self) -> Any:
        return script(self.name)(self.client, self.keys, self.args)

    def given(self, *, keys: Sequence[bytes] | None = None, args: Sequence[Arg] | None = None) -> Call:
        """The same call with other keys or arguments."""
        return replace(
            self,
            keys=self.keys if keys is None else tuple(keys),
            args=self.args if args is None else tuple(args),
        )


def head(flat: Sequence[bytes]) -> Head:
    return [(flat[i], int(flat[i + 1])) for i in range(0, len(flat), 2)]


class Shard:
    """One shard, and a client of its server."""

    def __init__(self, client: Any, namespace: str) -> None:
        self.client = client
        self.keys = Keys(namespace, 0)

    def call(self, name: str, keys: Iterable[bytes], args: Iterable[Arg]) -> Call:
        return Call(self.client, name, tuple(keys), tuple(args))
