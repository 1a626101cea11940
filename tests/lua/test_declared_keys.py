"""Every key that a script touches is among its KEYS, as the server sees it: an undeclared key reads as empty while a
slot migrates, and what reads as empty is lost."""

from __future__ import annotations

import pytest

from oncue.common.scripts import script
from tests.lua.audit import audit
from tests.lua.scripts import Lua
from tests.lua.valid import VALID
from tests.lua.walk import walk
from tests.support.servers import Monitor, RedisServer, Seen, Server

ONE_KEY = {
    *(
        "DEL",
        "UNLINK",
        "EXISTS",
        "GET",
        "SET",
        "INCR",
        "INCRBY",
        "DECRBY",
        "HGET",
        "HMGET",
        "HSET",
        "HSETNX",
        "HDEL",
    ),
    *(
        "HEXISTS",
        "HINCRBY",
        "HGETALL",
        "HSCAN",
        "HSTRLEN",
        "LLEN",
        "LINDEX",
        "LRANGE",
        "LPOP",
        "LPUSH",
        "RPOP",
        "RPUSH",
        "RPUSHX",
        "LTRIM",
        "ZADD",
    ),
    *(
        "ZREM",
        "ZREMRANGEBYRANK",
        "HLEN",
        "ZSCORE",
        "ZCOUNT",
        "ZCARD",
        "ZRANGE",
        "ZRANGEBYSCORE",
        "XADD",
        "XREVRANGE",
    ),
}
SEVERAL_KEYS = {"DEL", "UNLINK", "EXISTS"}


def keys_of(seen: Seen) -> list[str]:
    """The keys that a command names; fails for a command that nobody has thought of here."""
    assert seen.command in ONE_KEY, f"say in this test which arguments of {seen.command} are keys"
    return list(seen.args) if seen.command in SEVERAL_KEYS else [seen.args[0]]


def undeclared(commands: list[Seen]) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Undeclared keys with the command that touched them, and how often each script was run, by hash."""
    found, runs = [], dict[str, int]()
    declared: set[str] = set()
    for seen in commands:
        if seen.lua:
            found += [(seen.command, key) for key in keys_of(seen) if key not in declared]
        elif seen.command in ("EVAL", "EVALSHA"):
            number = int(seen.args[1])
            declared = set(seen.args[2 : 2 + number])
            runs[seen.args[0]] = runs.get(seen.args[0], 0) + 1
        else:
            declared = set()
    return found, runs


def test_no_script_touches_a_key_that_was_not_declared(lua: Lua, server: Server) -> None:
    lua.schedule(0).run()
    with Monitor(server) as monitor:
        walk(lua)
    assert any(seen.lua for seen in monitor.commands)
    found, runs = undeclared(monitor.commands)
    assert found == []
    known = {name for name in VALID if {script(name).sha, script(name).text} & set(runs)}
    assert sorted(set(VALID) - known) == []
    audit(lua)


def test_all_keys_of_a_call_share_one_hash_tag(lua: Lua, server: Server) -> None:
    with Monitor(server) as monitor:
        walk(lua)
    tag = lua.keys.prefix.decode().partition(":")[0] + ":0}"
    calls = [seen for seen in monitor.commands if seen.command in ("EVAL", "EVALSHA")]
    assert len(calls) > 50
    assert {key[: len(tag)] for seen in calls for key in seen.args[2 : 2 + int(seen.args[1])]} == {tag}


@pytest.mark.parametrize("command", ["GET", "DEL"])
def test_the_check_sees_an_undeclared_key(valkey: RedisServer, command: str) -> None:
    with Monitor(valkey) as monitor:
        valkey.client().eval(f'return redis.call("{command}", KEYS[1] .. "x")', 1, "key")
    assert undeclared(monitor.commands)[0] == [(command, "keyx")]
