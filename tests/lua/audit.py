"""An audit of one shard: every task is in exactly one place, every count tells what is there, nothing points nowhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.lua.scripts import Lua

CONSTANT = {b"seq", b"served", b"counts", b"bands", b"armed", b"notify"}
"""Keys whose size depends on the queues and settings alone, not on the tasks there ever were."""

_STATES = ("delayed", "ready", "leased", "dead", "blocked")


@dataclass
class _Found:
    lua: Lua
    records: dict[bytes, bytes] = field(default_factory=dict)
    runs: dict[bytes, bytes] = field(default_factory=dict)
    places: dict[bytes, list[str]] = field(default_factory=lambda: defaultdict(list))
    stale: Counter[bytes] = field(default_factory=Counter)
    misplaced: Counter[str] = field(default_factory=Counter)

    def is_live(self, entry: bytes) -> bool:
        record, run = self.records.get(entry[:-4]), self.runs.get(entry[:-4])
        return record is not None and record[1:5] == entry[-4:] and (run is None or run[:1] == b"w")

    def count(self, entries: list[bytes], state: str, name: bytes) -> None:
        for entry in entries:
            if self.is_live(entry):
                self.places[entry[:-4]].append(state)
            else:
                self.stale[name] += 1


def audit(lua: Lua, now: int = 0) -> dict[str, dict[str, int]]:
    """Fails if anything does not add up; returns the number of tasks by queue and state, counted from the lists.

    Beside a bucket that is due at `now` and not yet promoted, cancelled ready tasks of the same instant may have been
    counted as cancelled in the bucket (lua/include/sweep_list.lua); otherwise delayed and ready are exact as well.
    """
    client, keys = lua.client, lua.keys
    found = _Found(lua, client.hgetall(keys.records), client.hgetall(keys.runs))
    timetable, names = lua.timetable(), lua.names()
    _audit_pages(found, timetable, names, now)
    _audit_ready(found, timetable, names)
    _audit_timetable(found, timetable)
    _audit_blocked(found)
    dead = set(client.zrange(keys.dead, 0, -1))
    sizes = [len(found.records[task_id]) + len(client.hget(keys.errors, task_id) or b"") for task_id in dead]
    assert int(client.get(keys.dead_bytes) or 0) == sum(sizes)
    assert client.exists(keys.dead_bytes) == bool(dead)
    for task_id in dead:
        assert found.runs[task_id][:1] == b"x"
        found.places[task_id].append("dead")

    places = {task_id: found.places.get(task_id, []) for task_id in found.records}
    assert {task_id: where for task_id, where in places.items() if len(where) != 1} == {}
    assert set(found.places) <= set(found.records)
    _audit_marks(found)
    _audit_claims(found)
    return _audit_counts(found, places)


def _audit_pages(found: _Found, timetable: dict[bytes, int], names: set[bytes], now: int) -> None:
    client, keys = found.lua.client, found.lua.keys
    pages = {b"p" + name[5:] for name in names if name.startswith(b"page:")}
    assert pages == {member for member in timetable if member[:1] == b"p"}
    for member in pages:
        found.count(client.lrange(keys.page(int(member[1:])), 0, -1), "delayed", member)
    buckets = {b"=" + name[7:] for name in names if name.startswith(b"bucket:")}
    open_buckets = {member for member in timetable if member[:1] == b"="}
    assert open_buckets <= buckets
    for member in open_buckets:
        found.count(client.lrange(keys.segment(member), 0, -1), "delayed", member)
    kept = {name: int(number) for name, number in client.hgetall(keys.stale).items()}
    for name in set(kept) & open_buckets:
        if timetable[name] <= now and kept[name] > found.stale[name]:
            found.misplaced[name.split(b":")[2].decode()] += kept[name] - found.stale[name]
            kept[name] = found.stale[name]
    assert {name: number for name, number in kept.items() if number} == dict(+found.stale)


def _audit_ready(found: _Found, timetable: dict[bytes, int], names: set[bytes]) -> None:
    client, keys = found.lua.client, found.lua.keys
    bands = {queue.decode(): int(mask) for queue, mask in client.hgetall(keys.bands).items()}
    references: Counter[bytes] = Counter()
    for name in names:
        if name.startswith(b"ready:"):
            queue, _, band = name[6:].decode().rpartition(":")
            assert bands[queue] >> int(band) & 1, f"{name!r} is marked nowhere"
            entries = client.lrange(keys.ready(queue, int(band)), 0, -1)
            references.update(entry for entry in entries if entry[:1] == b"=")
            found.count([entry for entry in entries if entry[:1] != b"="], "ready", b"")
    segments = {b"=" + name[7:] for name in names if name.startswith(b"bucket:")} - set(timetable)
    assert dict(references) == dict.fromkeys(segments, 1)
    for reference in segments:
        found.count(client.lrange(keys.segment(reference), 0, -1), "ready", b"")


def _audit_timetable(found: _Found, timetable: dict[bytes, int]) -> None:
    for member, instant in timetable.items():
        if member[:1] == b"+":
            task_id = member.partition(b":")[2] if b":" not in member[1:5] else member[5:].partition(b":")[2]
            assert found.is_live(task_id + member[1:5])
            found.places[task_id].append("delayed")
            run = found.runs.get(task_id)
            due = run[13:19] if run else found.records[task_id][5:11]
            assert int.from_bytes(due, "big") == instant
        elif member[:1] == b"l":
            task_id = member.partition(b":")[2]
            assert found.runs[task_id][:1] in (b"l", b"L")
            found.places[task_id].append("leased")


def _audit_blocked(found: _Found) -> None:
    """Each blocked task follows one that has not ended, and is found under its id; each line's end under its name."""
    client, keys = found.lua.client, found.lua.keys
    fields = client.hgetall(keys.followers)
    last = {name: before for name, before in fields.items() if name[:1] == b"="}
    followers = {before: text for before, text in fields.items() if before not in last}
    waiting = {text[6:]: before for before, text in followers.items() if text[6:7] == b"+"}
    for task_id, run in found.runs.items():
        if run[:1] == b"b":
            found.places[task_id].append("blocked")
            record = found.records[task_id]
            member = b"+" + record[1:5] + b"%d" % record[11] + record[13 : 13 + record[12]] + b":" + task_id
            assert waiting.pop(member) == run[21:]
    assert waiting == {}
    ends = {before: text[7:] for before, text in followers.items() if text[6:7] in (b"t", b"e")}
    assert sorted((before, name[1:]) for name, before in last.items()) == sorted(ends.items())
    for before in followers:
        assert before in found.records
        assert found.runs.get(before, b"w")[:1] != b"x"


def _audit_marks(found: _Found) -> None:
    """Runs without a record are marks of finished tasks, each to be forgotten; errors belong to tasks."""
    client, keys = found.lua.client, found.lua.keys
    marks = {task_id: run for task_id, run in found.runs.items() if task_id not in found.records}
    assert {run[:1] for run in marks.values()} <= {b"d", b"c", b"e", b"p"}
    holding = client.zrange(keys.holding, 0, -1, withscores=True)
    remembered = set(client.lrange(keys.finished, 0, -1))
    remembered |= {int(instant).to_bytes(6, "big") + task_id for task_id, instant in holding}
    assert {run[13:19] + task_id for task_id, run in marks.items()} <= remembered
    assert bool(remembered) == (b"f" in found.lua.timetable())
    assert set(client.hkeys(keys.errors)) <= set(found.records)


def _audit_claims(found: _Found) -> None:
    """A claim names a task that was made for its key, and is there or is remembered: it goes with it."""
    known = found.runs | found.records
    for field_of, claim in found.lua.client.hgetall(found.lua.keys.claims).items():
        assert field_of in known.get(claim[6:], b""), f"{claim[6:]!r} is claimed for {field_of!r}"


def _audit_counts(found: _Found, places: dict[bytes, list[str]]) -> dict[str, dict[str, int]]:
    actual: dict[str, dict[str, int]] = {}
    for task_id, (state,) in places.items():
        record = found.records[task_id]
        queue = record[13 : 13 + record[12]].decode()
        by_state = actual.setdefault(queue, {})
        by_state[state] = by_state.get(state, 0) + 1
    kept: dict[str, dict[str, int]] = {}
    for name, number in found.lua.client.hgetall(found.lua.keys.counts).items():
        queue, _, state = name.decode().rpartition(":")
        if state in _STATES and int(number):
            kept.setdefault(queue, {})[state] = int(number)
    for queue, number in found.misplaced.items():
        by_state = kept.setdefault(queue, {})
        for state, change in (("delayed", number), ("ready", -number)):
            by_state[state] = by_state.get(state, 0) + change
    nonzero = {
        queue: {state: number for state, number in by_state.items() if number}
        for queue, by_state in kept.items()
    }
    assert {queue: by_state for queue, by_state in nonzero.items() if by_state} == actual
    return actual


def leftovers(lua: Lua) -> set[bytes]:
    """Keys that stay when all work is finished and forgotten, and must not."""
    return lua.names() - CONSTANT
