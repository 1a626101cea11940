"""Schedules of a newer oncue, as they stand in the store."""

from __future__ import annotations

from typing import Any

import msgspec

from oncue.common.shard import Shard
from oncue.scheduler.definition import HASH_BYTES
from oncue.scheduler.standing import find


def make_newer(shard: Shard, name: str) -> None:
    """Stored as a newer oncue would have done it, with a key that is unknown here."""
    text: bytes = shard.command("HGET", shard.keys.schedules, name)
    entries: dict[str, Any] = msgspec.json.decode(text[HASH_BYTES:])
    body = msgspec.json.encode(entries | {"moon": "full"})
    shard.command("HSET", shard.keys.schedules, name, b"0" * HASH_BYTES + body)


def put_off(shard: Shard, name: str) -> None:
    """As a scheduler does that cannot read it, after it has seen nobody fire it at its instant."""
    (entry,) = find(shard, name)
    keys, at_ms = shard.keys, entry.at_ms or 0
    fixed = (keys.timetable, keys.schedules, keys.armed, keys.schedule(name))
    done, _ = shard.call("put_off", fixed, (at_ms, name, at_ms, entry.hash, "it is of a newer oncue"))
    assert done
