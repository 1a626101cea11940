"""What `oncue doctor` finds out: facts about the server and this host, and advice where one of them is wrong."""

import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from oncue.common.clock import monotonic_s, sleep_s
from oncue.common.link import OLDEST_SERVER
from oncue.common.shard import Shard
from oncue.common.store import Store

_PINGS = 9
MOST_SKEW_MS = 1000
"""Beyond it a time that this host computes, such as "now + 5 s", is visibly another one on the server."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact; ``advice`` is empty where all is well."""

    name: str
    value: str | int | float | bool
    advice: str = ""

    @property
    def well(self) -> bool:
        return not self.advice


def findings(store: Store) -> list[Finding]:
    """All facts, the server's first, once for each server. Raises StoreUnavailable, and WrongServer for a refused login."""
    found: list[Finding] = []
    for shard in store.shards:
        prefix = f"shard {shard.number} " if len(store.shards) > 1 else ""
        facts = store.link.call(partial(_of_server, shard), store.patience_s, sleep_s)
        found += [Finding(prefix + fact.name, fact.value, fact.advice) for fact in facts]
    return [*found, *_of_host()]


def _of_server(shard: Shard) -> list[Finding]:
    node = shard.link.node(shard.keys.timetable)
    return [*_settings(node.info()), Finding("round trip ms", _round_trip_ms(node)), _skew(shard)]


def _settings(info: Mapping[str, Any]) -> Iterator[Finding]:
    kind = "Valkey" if "valkey_version" in info else "Redis"
    number = str(info.get("valkey_version") or info.get("redis_version", "0.0"))
    old = tuple(int(part) for part in number.split(".")[:2]) < OLDEST_SERVER
    yield Finding("server", f"{kind} {number}", "7.0 or later is needed" if old else "")
    yield Finding("mode", str(info.get("server_mode") or info.get("redis_mode", "unknown")))
    role = str(info.get("role", "unknown"))
    yield Finding(
        "role", role, "a replica refuses writes: give the primary's address" if role == "slave" else ""
    )
    policy = str(info.get("maxmemory_policy", "unknown"))
    drops = policy not in ("noeviction", "unknown")
    yield Finding(
        "maxmemory-policy", policy, "it would drop waiting tasks: set it to noeviction" if drops else ""
    )
    aof = bool(int(info.get("aof_enabled", 0)))
    yield Finding(
        "append-only file",
        "on" if aof else "off",
        "" if aof else "a restart would lose tasks: set appendonly to yes",
    )


def _round_trip_ms(node: Any) -> float:
    times = []
    for _ in range(_PINGS):
        began = monotonic_s()
        node.ping()
        times.append((monotonic_s() - began) * 1000)
    return round(median(times), 3)


def _skew(shard: Shard) -> Finding:
    shard.server_clock.sync()
    skew = shard.server_clock.skew_ms()
    wrong = abs(skew) > MOST_SKEW_MS
    advice = "this host's clock and the server's differ: run a time service on both" if wrong else ""
    return Finding("clock of this host ahead by ms", skew, advice)


def _of_host() -> Iterator[Finding]:
    yield Finding("time zone data", _zone_data())
    for package in ("oncue", "redis", "hiredis"):
        try:
            yield Finding(package, version(package))
        except PackageNotFoundError:
            yield Finding(package, "not installed as a package")


def _zone_data() -> str:
    """The version of what `zoneinfo` reads: the system's files where there are any, else the package tzdata."""
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / "UTC").exists() or (folder / "Europe").exists():
            source = folder / "tzdata.zi"
            if not source.exists():
                return f"unknown ({folder})"
            with source.open() as text:
                return f"{text.readline().removeprefix('# version ').strip()} ({folder})"
    return f"{version('tzdata')} (package tzdata)"
