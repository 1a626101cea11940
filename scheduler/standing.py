"""Standing: how each stored schedule stands, and its history; counts and instants are kept, so a look costs O(1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import msgspec

from oncue.common.configtypes import ScheduleConfig
from oncue.common.errors import BadInput, CronError, NotFound
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.definition import HASH_BYTES, Definition, read, zone_of
from oncue.scheduler.zones import learn

CHUNK = 500
"""How many schedules one round trip reads."""

NOT_ENABLED = "enabled: false"
"""Why a schedule is paused whose definition says so."""

ScheduleState = Literal["active", "paused", "finished", "invalid", "removed"]
Texts = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class ScheduleInfo:
    """How a schedule stands. Instants are in ms since 1970, None where there is none.

    ``config`` and ``source`` (the file that it came from, or "") are None of a definition that this process cannot read;
    then ``reason`` says why. Its state is "invalid" when no scheduler could, either. ``next_ms`` is the next planned
    instant, ``next_run_ms`` when it runs (with jitter later): both are unknown while a run goes on whose end the next tick
    counts from. ``last_ms`` is the planned instant of the last tick that was fired or skipped for another run,
    ``last_at_ms`` when that was done, ``late_ms`` how late.
    """

    name: str
    state: ScheduleState
    reason: str
    config: ScheduleConfig | None
    source: str | None
    next_ms: int | None
    next_run_ms: int | None
    last_ms: int | None
    last_at_ms: int | None
    late_ms: int | None
    last_task: str | None
    fired: int
    skipped: int
    missed: int
    triggered: int
    backfilled: int
    created_ms: int | None
    since_ms: int | None
    changed_at_ms: int | None
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A schedule as it stands in the store, unread. ``text``: hash and definition; ``at_ms``: its tick, if it has one."""

    shard: Shard
    name: str
    text: bytes
    fields: Mapping[str, str]
    at_ms: int | None

    @property
    def hash(self) -> bytes:
        """The hash of the definition."""
        return self.text[:HASH_BYTES]

    @property
    def state(self) -> ScheduleState:
        """The state that is kept; that of a definition that nobody has tried to use yet may be better than the truth."""
        kept = self.fields.get("state")
        return next((state for state in get_args(ScheduleState) if state == kept), "active")

    @property
    def source(self) -> str | None:
        """The file that it came from, "" for none; None if the definition cannot be read."""
        try:
            found = msgspec.json.decode(self.text[HASH_BYTES:], type=dict[str, Any]).get("source", "")
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        return found if isinstance(found, str) else None

    @property
    def moved(self) -> str:
        """The instant of its move to another shard if that is not complete, in ms; else ""."""
        return self.fields.get("moved", "")

    def number(self, field: str) -> int | None:
        """A number of its hash, None for nonsense."""
        text = self.fields.get(field, "")
        return int(text) if text.isascii() and text.isdigit() else None

    def read(self) -> Definition:
        """The definition; raises CronError and BadInput."""
        return read(self.name, self.text)


def all_stored(shard: Shard) -> Iterator[list[Stored]]:
    """All schedules of a shard, in chunks; one that is put or removed meanwhile may be seen or not."""
    cursor, seen = b"0", set[bytes]()
    while True:
        cursor, flat = shard.command("HSCAN", shard.keys.schedules, cursor, "COUNT", CHUNK)
        texts = {flat[at]: flat[at + 1] for at in range(0, len(flat), 2)} if isinstance(flat, list) else flat
        fresh = {
            name.decode(errors="backslashreplace"): text for name, text in texts.items() if name not in seen
        }
        seen.update(texts)
        names = list(fresh)
        for at in range(0, len(names), CHUNK):
            yield _looked_up(shard, {name: fresh[name] for name in names[at : at + CHUNK]})
        if int(cursor) == 0:
            return


def whole(shard: Shard) -> list[Stored]:
    """All schedules of a shard."""
    return [entry for chunk in all_stored(shard) for entry in chunk]


def stored(store: Store, name: str) -> Stored:
    """One schedule; raises NotFound. Of two shards that have had it, the one where it is now."""
    found: list[Stored] = []
    # Again, since one that moves may be missed where it comes from and where it goes.
    for _ in store.shards[:2]:
        for shard in store.shards:
            there = store.persist(shard, partial(find, shard, name))
            store.persist(shard, partial(learn, shard, _zones(there)))
            found += there
        if found:
            break
    if not found:
        raise NotFound(f"there is no schedule {name}")
    return current(found)


def current(entries: Sequence[Stored], home: Shard | None = None) -> Stored:
    """Of a name that several shards have had, the one that counts: neither removed nor left behind by a move.

    Of several such, the one in ``home``.
    """
    return max(
        entries,
        key=lambda entry: (
            entry.state != "removed",
            not entry.moved,
            entry.number("moved") or 0,
            entry.shard is home,
        ),
    )


def all_by_name(store: Store) -> dict[str, list[Stored]]:
    """All schedules of all shards; a name that several have had has several."""
    found: dict[str, list[Stored]] = {}
    for shard in store.shards:
        for entry in store.persist(shard, partial(whole, shard)):
            found.setdefault(entry.name, []).append(entry)
    return found


def info(entry: Stored) -> ScheduleInfo:
    """How a schedule stands, faulty or not."""
    definition, state, reason = None, entry.state, entry.fields.get("reason", "")
    try:
        definition = entry.read()
    except (BadInput, CronError) as error:
        reason = str(error)
    is_off = entry.fields.get("off") == "1"
    return ScheduleInfo(
        name=entry.name,
        state=state,
        reason=reason if state == "invalid" or definition is None else "",
        config=None if definition is None else definition.config,
        source=definition.source if definition else entry.source,
        next_ms=_planned(entry, definition),
        next_run_ms=entry.at_ms,
        last_ms=entry.number("last"),
        last_at_ms=entry.number("last_at"),
        late_ms=entry.number("late"),
        last_task=entry.fields.get("task"),
        fired=entry.number("fired") or 0,
        skipped=entry.number("skipped") or 0,
        missed=entry.number("missed") or 0,
        triggered=entry.number("triggered") or 0,
        backfilled=entry.number("backfilled") or 0,
        created_ms=entry.number("created"),
        since_ms=entry.number("since"),
        changed_at_ms=entry.number("at"),
        by=entry.fields.get("by", ""),
        why=NOT_ENABLED if is_off else entry.fields.get("why", ""),
    )


def infos(store: Store) -> list[ScheduleInfo]:
    """How all schedules stand, by name, faulty and removed ones too. Raises what the store raises."""
    found = [current(entries) for _, entries in sorted(all_by_name(store).items())]
    for shard in store.shards:
        store.persist(shard, partial(learn, shard, _zones(found)))
    return [info(entry) for entry in found]


def _zones(entries: Iterable[Stored]) -> set[str]:
    return {zone for entry in entries if (zone := zone_of(entry.text)) is not None}


def history(store: Store, name: str) -> list[dict[str, Any]]:
    """What became of the last planned instants, the newest decision first; raises NotFound.

    Each entry has ``what`` (fired, skipped, missed, triggered, backfilled), ``planned`` and ``at`` (when it was
    decided) in ms, and as fits ``late`` in ms, ``id`` of the task, ``blocked``, ``reason``; one that stands for several
    planned instants has ``to``, the last of them, and their ``count``.
    """
    entry = stored(store, name)
    key = entry.shard.keys.history(name)
    texts: list[bytes] = store.persist(entry.shard, lambda: entry.shard.command("LRANGE", key, 0, -1))
    return [found for text in texts if (found := _event(text)) is not None]


def _event(text: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _planned(entry: Stored, definition: Definition | None) -> int | None:
    if entry.at_ms is None:
        return None
    if definition is None or not definition.config.jitter_s:
        return entry.at_ms
    planned = entry.number("planned")
    # What follows the end of a run stands in the timetable alone, and what is kept is the tick before.
    is_it = planned is not None and definition.rule.runs_at(planned) == entry.at_ms
    return planned if is_it else entry.at_ms


def find(shard: Shard, name: str) -> list[Stored]:
    """The schedule of that name in one shard, or none."""
    text = shard.command("HGET", shard.keys.schedules, name)
    return [] if text is None else _looked_up(shard, {name: text})


def _looked_up(shard: Shard, texts: Texts) -> list[Stored]:
    if not texts:
        return []
    client: Any = shard.link.client
    pipeline = client.pipeline(transaction=False)
    for name in texts:
        pipeline.hgetall(shard.keys.schedule(name))
    pipeline.execute_command("ZMSCORE", shard.keys.timetable, *(f"t{name}" for name in texts))
    *hashes, scores = pipeline.execute()
    return [
        Stored(shard, name, text, _text(fields), None if score is None else max(0, int(float(score))))
        for (name, text), fields, score in zip(texts.items(), hashes, scores, strict=True)
    ]


def _text(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}
