"""What `oncue doctor` finds out: facts about the server and this host, and advice where one of them is wrong."""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

from oncue.cli.finding import Finding
from oncue.cli.zonefindings import zone_findings
from oncue.common.clock import monotonic_s, sleep_s
from oncue.common.link import OLDEST_SERVER
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.standing import Stored, current, whole

_PINGS = 9
MOST_SKEW_MS = 1000
"""Beyond it a time that this host computes, such as "now + 5 s", is visibly another one on the server."""


def findings(store: Store) -> list[Finding]:
    """All facts, the server's first, once for each server. Raises StoreUnavailable, and WrongServer for a refused login."""
    found: list[Finding] = []
    for shard in store.shards:
        prefix = f"shard {shard.number} " if len(store.shards) > 1 else ""
        facts = store.link.call(partial(_of_server, shard), store.patience_s, sleep_s)
        found += [Finding(prefix + fact.name, fact.value, fact.advice) for fact in facts]
    return [*found, _of_schedules(store), *zone_findings(store), *_of_host()]


def _of_schedules(store: Store) -> Finding:
    found: dict[str, list[Stored]] = {}
    for shard in store.shards:
        for entry in store.link.call(partial(whole, shard), store.patience_s, sleep_s):
            found.setdefault(entry.name, []).append(entry)
    unread = sorted(name for name, entries in found.items() if current(entries).state == "invalid")
    advice = "no scheduler could read them when they were due: `oncue cron list` says why" if unread else ""
    return Finding("invalid schedules", ", ".join(unread) or "none", advice)


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
    for package in ("oncue", "redis", "hiredis"):
        try:
            yield Finding(package, version(package))
        except PackageNotFoundError:
            yield Finding(package, "not installed as a package")
