"""Schedules of a file: what putting it would change in the store, and putting it there."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from oncue.common.configtypes import ScheduleConfig
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.definition import HASH_BYTES, Definition, defined, hash_of
from oncue.scheduler.move import forget_left
from oncue.scheduler.put import bring, put
from oncue.scheduler.schedule_calls import (
    CHANGED_MEANWHILE,
    CREATED,
    EDITED,
    OUTDATED,
    SAME,
    Origin,
    claim_revision,
    remove_schedule,
)
from oncue.scheduler.standing import Stored, all_by_name, current, find, whole
from oncue.scheduler.zones import learn

CHUNK = 100
"""How many schedules one call puts."""

_WORDS = {CREATED: "created", EDITED: "edited"}
_ROUNDS = 5
"""How often the file is put again where others change the same schedules at that moment."""


@dataclass(frozen=True, slots=True)
class Change:
    """What putting a file changes about one schedule; ``before`` and ``after`` are None where there is none.

    "left" is what a move to another shard has left behind.
    """

    name: str
    what: Literal["created", "edited", "removed", "left"]
    before: Stored | None
    after: ScheduleConfig | None


class Applied(NamedTuple):
    """What was changed, a line each; ``is_old``: nothing was, since the file has had a newer revision."""

    changes: list[str]
    is_old: bool


def revision_of(schedules: Iterable[ScheduleConfig], faulty: Mapping[str, str]) -> str:
    """A hash of what a file says of schedules, whatever else it says, the same in every process of every host.

    So it must not matter which of them a host finds faulty: another version of the tz data may lack a zone. ``faulty``
    has the hash of how each of those is written.
    """
    said = {entry.name: entry.written or entry.definition_hash for entry in schedules}
    said |= faulty
    text = "\n".join(f"{name} {said[name]}" for name in sorted(said))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_BYTES]


def changes(
    store: Store, schedules: Iterable[ScheduleConfig], source: str, faulty: Collection[str] = ()
) -> list[Change]:
    """What ``apply`` with ``forced`` would change, by name; writes nothing.

    Afterwards this process plans by the rules of time zones that are in force.
    """
    wanted = {entry.name: entry for entry in schedules}
    if not wanted:
        return []
    for shard in store.shards:
        store.persist(shard, partial(learn, shard, {entry.timezone for entry in wanted.values()}))
    found = _changes(store, wanted, source, faulty, dict.fromkeys(store.shards, True))
    return [change for change in found if change.what != "left"]


def apply(
    store: Store,
    schedules: Iterable[ScheduleConfig],
    source: str,
    faulty: Mapping[str, str] = {},
    *,
    forced: bool = False,
    prune: bool = False,
    emptied: bool = False,
    successor_of: str = "",
) -> Applied:
    """Puts the schedules of a file into the store, and takes out those that came from it and are gone.

    Without ``forced``, as schedulers do at their start, a revision that was here and has been replaced since changes
    nothing; one that is in force completes what is missing, and leaves alone what was changed by hand since. Nor does
    it count that this revision was here if ``successor_of``, one that the caller has put himself, is still in force. With
    ``prune``, what came from this file and is gone goes for good, history and all.

    Those named in ``faulty`` (see ``revision_of``) stand in the file but cannot be read now: what the store has of them
    stays. So does everything where the file has no usable schedule at all, which is more often an accident than a wish:
    unless it was ``emptied`` on purpose. The same definition again changes nothing, so any number of schedulers may start
    with the same file at the same moment. Raises what the store raises.
    """
    wanted = {entry.name: entry for entry in schedules}
    if not wanted and not emptied:
        return Applied([], False)
    origin = Origin(source, revision_of(wanted.values(), faulty))
    claims = _claimed(store, origin, "*" if forced else successor_of)
    rights = {shard: forced or claimed > 0 for shard, claimed in claims.items() if claimed >= 0}
    lines: list[str] = []
    for _ in range(_ROUNDS):
        todo = _changes(store, wanted, source, faulty, rights)
        answers: dict[str, int] = {}
        for shard in rights:
            answers |= _put(
                store, shard, [change for change in todo if _home(store, change) is shard], origin
            )
        overtaken = {name for name, answer in answers.items() if answer not in (CREATED, EDITED, SAME)}
        lines += [f"{_WORDS[answer]} {name}" for name, answer in answers.items() if answer in _WORDS]
        # What stands elsewhere goes only when this one stands: it may be what this one was a moment ago.
        lines += _removed(store, [change for change in todo if change.name not in overtaken], origin)
        created = [name for name, answer in answers.items() if answer == CREATED]
        if OUTDATED in answers.values() or not (overtaken or _stands_twice(store, created)):
            break
    for shard in rights if prune else ():
        lines += _pruned(store, shard, wanted.keys() | set(faulty), origin)
    return Applied(lines, len(rights) < len(store.shards))


def _claimed(store: Store, origin: Origin, replaces: str) -> dict[Shard, int]:
    """What each shard says of the revision: see ``claim_revision``."""
    claims: dict[Shard, int] = {}
    order: int | None = None
    for shard in store.shards:
        claim = partial(claim_revision, shard, origin, order, replaces)
        claims[shard], order = store.persist(shard, claim)
    return claims


def _changes(
    store: Store,
    wanted: Mapping[str, ScheduleConfig],
    source: str,
    faulty: Collection[str],
    rights: Mapping[Shard, bool],
) -> list[Change]:
    """What is to be done in the shards of ``rights``, by name; True for those where whatever is there may be replaced."""
    found: list[Change] = []
    standing = all_by_name(store)
    for name, entries in standing.items():
        after = wanted.get(name)
        if after is None:
            found += [Change(name, "removed", entry, None) for entry in entries if entry.shard in rights
                      and name not in faulty and entry.state != "removed" and entry.source == source]  # fmt: skip
        elif (home := store.shard(after.queue)) in rights:
            found += _replaced(entries, after, home, source, forced=rights[home])
    for name in wanted.keys() - standing.keys():
        if store.shard(wanted[name].queue) in rights:
            found.append(Change(name, "created", None, wanted[name]))
    return sorted(found, key=lambda change: change.name)


def _replaced(
    entries: Sequence[Stored], after: ScheduleConfig, home: Shard, source: str, *, forced: bool
) -> Iterator[Change]:
    """What a wanted schedule does to those of its name: edited where it is, or moved; any other one goes."""
    here = current(entries, home)
    if here.state == "removed":
        yield Change(after.name, "created", here, after)
        return
    others = [entry for entry in entries if entry is not here and entry.state != "removed"]
    if (
        not forced
        and here.source == source
        and any(not (one.moved or one.source == source) for one in others)
    ):
        # What was changed by hand stays until the file changes: this one was put before that could be seen.
        yield Change(after.name, "removed", here, None)
        return
    if here.shard is home:
        yield from _edit(here, after, source, forced=forced)
    elif forced or here.source == source:
        yield Change(after.name, "edited", here, after)
    for entry in others:
        if forced or entry.source == source:
            yield Change(after.name, "left" if entry.moved else "removed", entry, None)


def _stands_twice(store: Store, created: Sequence[str]) -> bool:
    """Whether one of them stands in another shard as well: it was on its way there when this looked, or made meanwhile."""
    shards = store.shards if len(store.shards) > 1 else []
    found: dict[str, set[Shard]] = {}
    # Back again, since what moves the other way leaves its old shard when it stands in one that was looked at.
    for shard in (*shards, *reversed(shards)):
        for at in range(0, len(created), CHUNK):
            names = created[at : at + CHUNK]
            texts = store.persist(shard, partial(shard.command, "HMGET", shard.keys.schedules, *names))
            for name in (name for name, text in zip(names, texts, strict=True) if text is not None):
                found.setdefault(name, set()).add(shard)
    several = [(name, there) for name, there in found.items() if len(there) > 1]
    return any(len(_standing(store, name, there)) > 1 for name, there in several)


def _standing(store: Store, name: str, shards: Iterable[Shard]) -> list[Stored]:
    found = [entry for shard in shards for entry in store.persist(shard, partial(find, shard, name))]
    return [entry for entry in found if entry.state != "removed"]


def _home(store: Store, change: Change) -> Shard | None:
    """The shard that a change puts a definition into."""
    return None if change.after is None else store.shard(change.after.queue)


def _edit(entry: Stored, after: ScheduleConfig, source: str, *, forced: bool) -> Iterator[Change]:
    same = entry.hash == hash_of(after, source)
    # A tick that is lost, by whatever foreign hand, comes back with the next file.
    is_broken = entry.state == "invalid" or _lacks_tick(entry, after)
    if is_broken if same else forced or entry.source == source:
        yield Change(entry.name, "edited", entry, after)


def _lacks_tick(entry: Stored, after: ScheduleConfig) -> bool:
    return entry.state == "active" and entry.at_ms is None and after.enabled


def _put(store: Store, shard: Shard, todo: Sequence[Change], origin: Origin) -> dict[str, int]:
    """What ``put`` answers by name: where something else is there by now than was seen, nothing is put."""
    answers: dict[str, int] = {}
    wanted: list[tuple[Definition, bytes]] = []
    for change in todo:
        if change.after is None:
            continue
        replaces = _replaceable(store, change, shard, origin)
        if replaces is None:
            answers[change.name] = CHANGED_MEANWHILE
        else:
            wanted.append((defined(change.after, origin.file), replaces))
    for at in range(0, len(wanted), CHUNK):
        definitions = [definition for definition, _ in wanted[at : at + CHUNK]]
        names = [definition.name for definition in definitions]
        hashes = {definition.name: replaces for definition, replaces in wanted[at : at + CHUNK]}
        answers |= zip(names, put(store, shard, definitions, hashes, origin), strict=True)
    return answers


def _replaceable(store: Store, change: Change, shard: Shard, origin: Origin) -> bytes | None:
    """The hash of what a change replaces in its shard, b"" for nothing; None where it is not to be had there."""
    before = change.before
    if before is None or before.state == "removed":
        return b""
    if before.shard is shard:
        return before.hash
    found = _standing(store, change.name, [shard]) if bring(store, before, shard, b"", origin) else []
    return found[0].hash if found else None


def _removed(store: Store, todo: Iterable[Change], origin: Origin) -> Iterator[str]:
    for change in todo:
        entry = change.before
        if change.what == "left" and entry is not None:
            forget_left(store, entry.name)
        elif change.what == "removed" and entry is not None:
            call = partial(remove_schedule, entry.shard, entry.name, entry.hash, origin)
            if store.persist(entry.shard, call):
                yield f"removed {entry.name}"


def _pruned(store: Store, shard: Shard, names: Collection[str], origin: Origin) -> Iterator[str]:
    for entry in store.persist(shard, partial(whole, shard)):
        if entry.state == "removed" and entry.source == origin.file and entry.name not in names:
            known = entry.hash
            if store.persist(
                shard, partial(remove_schedule, shard, entry.name, known, origin, for_good=True)
            ):
                yield f"pruned {entry.name}"
