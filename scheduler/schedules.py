"""Schedules in the store: what a tick needs to know, and putting the set of a file there."""

import hashlib
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from oncue.common.configtypes import ScheduleConfig
from oncue.common.cron import Cron
from oncue.common.errors import BadInput, CronError
from oncue.common.keys import queue_name
from oncue.common.shard import Shard
from oncue.common.store import Store

HASH_BYTES = 32
"""A stored definition is its hash in so many hexadecimal digits, then JSON."""

_log = logging.getLogger("oncue.schedules")


class Stored(msgspec.Struct, frozen=True):
    """The JSON of a definition. ``source`` names the file that it came from, so that the file can take it back."""

    cron: str
    timezone: str
    queue: str
    data: Any
    priority: int
    source: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition as fired: ``hash`` guards against an edit between look and tick."""

    name: str
    hash: bytes
    stored: Stored
    cron: Cron


def read(name: str, text: bytes) -> Definition:
    """A definition from the store; raises CronError or BadInput in one sentence if nobody can use it."""
    try:
        stored = msgspec.json.decode(text[HASH_BYTES:], type=Stored)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadInput(f"schedule {name}: its stored definition cannot be read ({error})") from None
    if not 0 <= stored.priority <= 9:
        raise BadInput(f"schedule {name}: its priority is {stored.priority}; allowed: 0 to 9")
    queue_name(stored.queue)
    return Definition(name, text[:HASH_BYTES], stored, Cron(stored.cron, stored.timezone, seed=name))


def apply(
    store: Store, schedules: Iterable[ScheduleConfig], source: str, faulty: Collection[str] = ()
) -> list[str]:
    """Puts the schedules of a file into the store, and takes out those that came from it and are gone.

    Those named in ``faulty`` stand in the file but cannot be read now: what the store has of them stays. So does
    everything where the file has no usable schedule at all, which is more often an accident than a wish.

    The same definition again changes nothing, so any number of schedulers may start with the same file at the same
    moment. Returns what changed, a line each. Raises what the store raises.
    """
    wanted = list(schedules)
    changes: list[str] = []
    for shard in store.shards:
        mine = {entry.name: entry for entry in wanted if store.shard(entry.queue) is shard}
        there = store.persist(shard, partial(definitions, shard))
        for entry in mine.values():
            if there.get(entry.name, b"")[:HASH_BYTES] != _hash(entry, source):
                store.persist(shard, partial(_put, shard, entry, source))
                changes.append(f"{'edited' if entry.name in there else 'created'} {entry.name}")
        for name, text in there.items():
            gone = bool(wanted) and name not in mine and name not in faulty
            if gone and _source(text) == source:
                store.persist(shard, partial(_remove, shard, name, text))
                changes.append(f"removed {name}")
    return changes


def definitions(shard: Shard) -> dict[str, bytes]:
    """All stored definitions of a shard, unread."""
    found: dict[bytes, bytes] = shard.command("HGETALL", shard.keys.schedules)
    return {name.decode(errors="backslashreplace"): text for name, text in found.items()}


@dataclass(frozen=True, slots=True)
class Listed:
    """A stored schedule as people see it: its next planned instant in ms, or why it will not fire."""

    name: str
    stored: Stored | None
    next_ms: int | None
    reason: str


def listed(store: Store) -> list[Listed]:
    """All stored schedules by name, faulty ones too. Raises what the store raises."""
    found: list[Listed] = []
    for shard in store.shards:
        texts = store.persist(shard, partial(definitions, shard))
        instants = store.persist(shard, partial(_instants, shard, list(texts)))
        found += [_listed(name, text, instants[name]) for name, text in texts.items()]
    return sorted(found, key=lambda entry: entry.name)


def _instants(shard: Shard, names: list[str]) -> dict[str, int | None]:
    if not names:
        return {}
    scores = shard.command("ZMSCORE", shard.keys.timetable, *(f"t{name}" for name in names))
    return {
        name: None if score is None else int(float(score)) for name, score in zip(names, scores, strict=True)
    }


def _listed(name: str, text: bytes, next_ms: int | None) -> Listed:
    try:
        return Listed(name, read(name, text).stored, next_ms, "")
    except (BadInput, CronError) as error:
        return Listed(name, _stored(text), next_ms, str(error))


def _hash(entry: ScheduleConfig, source: str) -> bytes:
    return hashlib.sha256(f"{entry.definition_hash} {source}".encode()).hexdigest()[:HASH_BYTES].encode()


def _put(shard: Shard, entry: ScheduleConfig, source: str) -> None:
    keys = shard.keys
    stored = Stored(entry.cron, entry.timezone, entry.queue, entry.data, entry.priority, source)
    now = shard.now_ms()
    tick = Cron(entry.cron, entry.timezone, seed=entry.name).after_ms(now)
    waiting = _instants(shard, [entry.name])[entry.name]
    # A tick that came while no scheduler was up is still to be fired, though the file was edited meanwhile.
    if waiting is not None and waiting <= now:
        tick = waiting
    fixed = (keys.timetable, keys.schedules, keys.armed, keys.notify)
    text = msgspec.json.encode(stored)
    shard.call("put_schedule", fixed, [entry.name, _hash(entry, source), text, "" if tick is None else tick])


def _remove(shard: Shard, name: str, text: bytes) -> None:
    keys = shard.keys
    shard.call("remove_schedule", (keys.timetable, keys.schedules), [name, text[:HASH_BYTES]])


def _source(text: bytes) -> str | None:
    stored = _stored(text)
    return None if stored is None else stored.source


def _stored(text: bytes) -> Stored | None:
    try:
        return msgspec.json.decode(text[HASH_BYTES:], type=Stored)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


class Known:
    """The definitions that this scheduler has read; an edit is noticed by the hash when a tick is fired."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._known: dict[str, Definition] = {}
        # A tick that was near when it was disarmed stands in the caller's head until it is due, and is asked for again.
        self._reported: dict[str, bytes] = {}

    def get(self, names: Iterable[str]) -> dict[str, Definition]:
        """The usable ones of ``names``; one that is not is disarmed and logged once."""
        asked = list(names)
        missing = [name for name in asked if name not in self._known]
        if missing:
            self._read(missing)
        return {name: self._known[name] for name in asked if name in self._known}

    def forget(self, name: str) -> None:
        """Reads the definition again next time."""
        self._known.pop(name, None)

    def _read(self, names: list[str]) -> None:
        keys = self._shard.keys
        texts: list[bytes | None] = self._shard.command("HMGET", keys.schedules, *names)
        for name, text in zip(names, texts, strict=True):
            try:
                self._known[name] = read(name, text or b"")
            except (BadInput, CronError) as error:
                self._disarm(name, (text or b"")[:HASH_BYTES])
                if text is not None and self._reported.get(name) != text:
                    self._reported[name] = text
                    _log.error("schedule %s is invalid and will not fire: %s", name, error)

    def _disarm(self, name: str, found: bytes) -> None:
        keys = self._shard.keys
        self._shard.call("disarm", (keys.timetable, keys.schedules), [name, found])
