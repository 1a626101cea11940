"""Fire: a tick of a schedule becomes a task, once, whoever of the schedulers is first."""

import logging
from collections.abc import Iterable, Sequence

from oncue.common import record
from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard
from oncue.common.task import instant
from oncue.scheduler.foreign import is_understood
from oncue.scheduler.schedules import Definition, Known

KINDS = b"t"
_LOOK_BACK_MS = (60_000, 3_600_000, 86_400_000, 32 * 86_400_000, 367 * 86_400_000)
_log = logging.getLogger("oncue.fire")


class Fire:
    """The duty, with the definitions that it has read."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._known = Known(shard)

    def prepare(self, head: Head) -> None:
        """Reads ahead the definitions of ticks that are near, so that at their instant only one call is left."""
        self._known.get(
            member[1:].decode() for member, _ in head if member[:1] == KINDS and is_understood(member)
        )

    def __call__(self, due: Sequence[tuple[bytes, int]], head: Head) -> Head:
        """Fires due ticks, given with their planned instants in ms. The newest head."""
        ticks = {member[1:].decode(): planned for member, planned in due}
        found = self._known.get(ticks)
        for name in ticks.keys() - found.keys():
            head = [entry for entry in head if entry[0] != b"t" + name.encode()]
        for name, definition in found.items():
            head = self._fire(definition, ticks[name])
        return head

    def _fire(self, definition: Definition, planned_ms: int) -> Head:
        shard, stored, keys = self._shard, definition.stored, self._shard.keys
        now = shard.now_ms()
        latest = latest_tick(definition, planned_ms, now)
        following = definition.cron.after_ms(max(latest, now))
        fixed = (
            keys.timetable,
            keys.schedules,
            keys.records,
            keys.runs,
            keys.counts,
            keys.bands,
            keys.seq,
            keys.armed,
            keys.notify,
        )
        lists = (keys.ready(stored.queue, stored.priority), keys.wake(stored.queue))
        args: list[bytes | str | int] = [now, definition.name, planned_ms, definition.hash]
        args += (
            "" if following is None else following,
            tick_id(definition.name, latest),
            _record(definition, latest),
        )
        fired, head = shard.call("fire", [*fixed, *lists], args)
        if not fired:
            self._known.forget(definition.name)
        elif latest != planned_ms:
            _log.warning(
                "schedule %s: ticks from %s on were missed; the latest, %s, runs now",
                definition.name,
                instant(planned_ms).isoformat(),
                instant(latest).isoformat(),
            )
        return head_of(head)


def tick_id(name: str, planned_ms: int) -> str:
    """The id of a tick's task: the same from every scheduler, so that one instant makes one task."""
    return f"{name}@{instant(planned_ms).strftime('%Y-%m-%dT%H:%M:%SZ')}"


def latest_tick(definition: Definition, planned_ms: int, now_ms: int) -> int:
    """The last tick that is due by now, for ``catch_up: latest``; ``planned_ms`` itself unless more were missed.

    Looks back from now in growing steps, so that a month without schedulers costs no walk through all its minutes.
    """
    for back in _LOOK_BACK_MS:
        ticks = list(_due(definition, max(planned_ms, now_ms - back), now_ms))
        if ticks:
            return ticks[-1]
        if now_ms - back <= planned_ms:
            break
    return planned_ms


def _due(definition: Definition, after_ms: int, now_ms: int) -> Iterable[int]:
    tick = definition.cron.after_ms(after_ms)
    while tick is not None and tick <= now_ms:
        yield tick
        tick = definition.cron.after_ms(tick)


def _record(definition: Definition, planned_ms: int) -> bytes:
    stored = definition.stored
    options = {"schedule": definition.name, "planned_ms": planned_ms}
    data = record.encoded(stored.data, 1 << 30)
    return record.pack(planned_ms, stored.priority, stored.queue, data, options=options)
