"""Unread: due ticks of schedules that this process cannot read: left to the others, and out of the way if nobody can."""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard
from oncue.scheduler.definition import HASH_BYTES
from oncue.scheduler.known import Known, Unreadable, drop_oldest

PATIENCE_MS = 500
"""How long the others have: they wake at the same instant, and fire it within a few ms."""

_LESS = 10
"""By what the patience is divided with ticks that come to light just after others that nobody has fired."""

_log = logging.getLogger("oncue.schedules")


class _Held(NamedTuple):
    """A tick's instant in the timetable, and until when this process looks away from it."""

    at_ms: int
    until_ms: int

    def is_shown_at(self, ms: int) -> bool:
        """Whether a due tick is this one: in the timetable it stands at its instant, in the head that was seen later."""
        return ms in (self.at_ms, self.until_ms)


class Unread:
    """The ticks that this process leaves alone."""

    def __init__(self, shard: Shard, known: Known, patience_ms: int = PATIENCE_MS) -> None:
        self._shard, self._known, self._patience_ms = shard, known, patience_ms
        self._held: dict[bytes, _Held] = {}
        self._hurry_until_ms = 0
        self._reported: dict[str, Unreadable] = {}

    def __call__(self, ticks: Mapping[str, int], head: Head) -> Head:
        """The head as this process sees it: these ticks, given with their instants in it, come later there."""
        now = self._shard.clock.now_ms()
        for name, at_ms in ticks.items():
            self._hold(name, at_ms, now)
        # In the order of the timetable, in which others fire: if any of these has been fired, the first has.
        for at_ms, name in sorted((self._held[b"t" + name.encode()].at_ms, name) for name in ticks):
            if self._held[b"t" + name.encode()].until_ms <= now:
                head = self._put_off(name, at_ms, now)
        return self._seen(head)

    def _hold(self, name: str, at_ms: int, now_ms: int) -> None:
        member = b"t" + name.encode()
        held = self._held.get(member)
        if held is None or not held.is_shown_at(at_ms):
            patience_ms = self._patience_ms // (_LESS if now_ms <= self._hurry_until_ms else 1)
            self._held[member] = _Held(at_ms, max(at_ms, now_ms) + patience_ms)

    def released(self, name: str, at_ms: int) -> int:
        """The true instant of a tick that is seen at this one, and can be read now: it is looked at again."""
        held = self._held.pop(b"t" + name.encode(), None)
        return held.at_ms if held is not None and at_ms == held.until_ms else at_ms

    def _seen(self, head: Head) -> Head:
        if not self._held:
            return head
        there = {member for member, _ in head}
        self._held = {member: held for member, held in self._held.items() if member in there}
        seen = [(member, self._seen_at(member, at_ms)) for member, at_ms in head]
        return sorted(seen, key=lambda entry: entry[1])

    def _seen_at(self, member: bytes, at_ms: int) -> int:
        held = self._held.get(member)
        return held.until_ms if held is not None and at_ms == held.at_ms else at_ms

    def _put_off(self, name: str, at_ms: int, now_ms: int) -> Head:
        found, keys = self._known.unreadable(name), self._shard.keys
        fixed = (keys.timetable, keys.schedules, keys.armed, keys.schedule(name))
        args = (self._shard.now_ms(), name, at_ms, (found.text or b"")[:HASH_BYTES], found.reason)
        done, head = self._shard.call("put_off", fixed, args)
        del self._held[b"t" + name.encode()]
        if not done:
            self._give_time(now_ms)
        elif found.text is not None:
            self._hurry_until_ms = now_ms + self._patience_ms
            self._report(name, found)
        return head_of(head)

    def _give_time(self, now_ms: int) -> None:
        """Somebody is firing these ticks, one after the other: with many of them that takes longer than the patience."""
        self._hurry_until_ms = 0
        until_ms = now_ms + self._patience_ms
        self._held = {member: _Held(held.at_ms, until_ms) for member, held in self._held.items()}

    def _report(self, name: str, found: Unreadable) -> None:
        if self._reported.get(name) != found:
            self._reported.pop(name, None)
            self._reported[name] = found
            drop_oldest(self._reported)
            _log.error("schedule %s is invalid: no scheduler has fired its tick: %s", name, found.reason)
