"""Zones: which rules of time zones are in force: for all processes the same, of the newest release that any of them has.

Hosts are updated one after the other, and tz data of two releases may put the same local time at two instants. So the
rules are part of the store, like the definitions that they are for.
"""

import logging
from collections.abc import Collection

from oncue.common.errors import CronError
from oncue.common.shard import Shard
from oncue.common.walltime import adopt, wall_clock
from oncue.common.zonerules import DIGEST_BYTES, ZoneRules

REPLACED = 2
MARK = "!"
"""With it begins the field that is there while ticks are planned anew."""

_log = logging.getLogger("oncue.zones")


def claim(shard: Shard, names: Collection[str]) -> set[str]:
    """This process and the store have the same rules of these zones afterwards.

    The marks of those zones where this replaced older rules, for whoever plans anew to take away. A zone that nobody
    knows stays unknown. Raises what the connection raises.
    """
    asked = sorted(names)
    if not asked:
        return set()
    digests: list[bytes | None] = shard.command("HMGET", shard.keys.zones, *asked)
    differing = [
        name
        for name, stored in zip(asked, digests, strict=True)
        if stored is None or _brings_news(known(name), stored)
    ]
    if not differing:
        return set()
    brought = {name: known(name) for name in differing}
    args: list[bytes | str | int] = []
    for name, rules in brought.items():
        args += (name, *((rules.digest, rules.version, rules.data) if rules else ("", "", "")))
    answers = shard.call("claim_zones", [shard.keys.zones], args)
    for name, answer in zip(differing, answers, strict=True):
        if isinstance(answer, list):
            digest, version, data = answer
            if not _adopt(name, digest, ZoneRules(version.decode(errors="replace"), data)):
                shard.command("HDEL", shard.keys.zones, name, f"={name}")
    return {
        f"{MARK}{name} {rules.digest.decode()}"
        for (name, rules), answer in zip(brought.items(), answers, strict=True)
        if rules and answer == REPLACED
    }


def zone_of_mark(mark: str) -> str:
    """The zone whose ticks have to be planned anew."""
    return mark.removeprefix(MARK).partition(" ")[0]


def _brings_news(mine: ZoneRules | None, stored: bytes) -> bool:
    """Whether the store has other rules than these, or the same by the name of an older release."""
    if mine is None or mine.digest != stored[:DIGEST_BYTES]:
        return True
    return mine.version.encode() > stored[DIGEST_BYTES + 1 :]


def learn(shard: Shard, names: Collection[str]) -> None:
    """Takes over the rules of these zones that are in force, unless this process has newer ones; for those who only look.

    Writes nothing, and asks for no rules that are known. Raises what the connection raises.
    """
    asked = sorted(names)
    if not asked:
        return
    found: list[bytes | None] = shard.command("HMGET", shard.keys.zones, *asked)
    older = [name for name, about in zip(asked, found, strict=True) if about and _is_behind(name, about)]
    for name in older:
        about, data = shard.command("HMGET", shard.keys.zones, name, f"={name}")
        if about and data:
            version = about[DIGEST_BYTES + 1 :].decode(errors="replace")
            _adopt(name, about[:DIGEST_BYTES], ZoneRules(version, data))


def _is_behind(name: str, about: bytes) -> bool:
    mine = known(name)
    if mine is None:
        return True
    return mine.digest != about[:DIGEST_BYTES] and mine.version.encode() <= about[DIGEST_BYTES + 1 :]


def known(name: str) -> ZoneRules | None:
    """What this process knows of a zone, from its host or from a store."""
    try:
        return wall_clock(name).rules
    except CronError:
        return None


def _adopt(name: str, digest: bytes, rules: ZoneRules) -> bool:
    """False for what cannot be used."""
    mine = known(name)
    try:
        if rules.digest != digest:
            raise ValueError("they are not those that were put there")
        adopt(name, rules)
    except (ValueError, OSError) as error:
        _log.error("the rules of the time zone %s in the store cannot be used: %s", name, error)
        return False
    own = f"this host has {mine.version or 'an unknown release'}" if mine else "this host has none"
    _log.info(
        "time zone %s: the rules of tz data %s are in force; %s", name, rules.version or "(unknown)", own
    )
    return True
