"""The Lua scripts: read from ``lua/``, put together with their includes, called by name.

A script cache vanishes at every restart and failover, so a call that meets NOSCRIPT sends the whole text once; that
loads it again on whichever node answered, and needs no second round trip.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from redis.exceptions import NoScriptError

_INCLUDE = "-- include: "


class Client(Protocol):
    """What a script needs of a redis-py client, single or cluster."""

    def execute_command(self, *args: Any) -> Any: ...


@cache
def assembled(name: str) -> str:
    """The text of ``lua/<name>.lua`` with each include in its place."""
    lines = files("oncue.lua").joinpath(f"{name}.lua").read_text("utf-8").splitlines()
    return "\n".join(_included(line) for line in lines) + "\n"


def _included(line: str) -> str:
    if not line.startswith(_INCLUDE):
        return line
    text = (
        files("oncue.lua")
        .joinpath("include", f"{line.removeprefix(_INCLUDE).strip()}.lua")
        .read_text("utf-8")
    )
    return text.rstrip("\n")


class Script:
    """One script, ready to be called on any client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = assembled(name)
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def command(self, keys: Sequence[bytes], args: Sequence[bytes | str | int]) -> tuple[Any, ...]:
        """The command that calls it; answered by NoScriptError where the server has not seen its text yet."""
        return ("EVALSHA", self.sha, len(keys), *keys, *args)

    def __call__(self, client: Client, keys: Sequence[bytes], args: Sequence[bytes | str | int]) -> Any:
        try:
            return client.execute_command(*self.command(keys, args))
        except NoScriptError:
            return client.execute_command("EVAL", self.text, len(keys), *keys, *args)


@cache
def script(name: str) -> Script:
    """The script of that name, read once per process."""
    return Script(name)
