"""Known: the definitions that a scheduler has read; an edit is noticed by the hash when a tick is fired."""

import logging
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple, cast

from oncue.common.errors import BadInput, CronError
from oncue.common.shard import Shard
from oncue.scheduler.definition import Definition, read, zone_of
from oncue.scheduler.replan import replan, settle

MOST = 10_000
"""So many definitions are remembered: of one that is removed nobody hears, and one that is forgotten is read again."""

_log = logging.getLogger("oncue.schedules")


class Known:
    """What a duty needs to know of schedules whose ticks are near."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._known: dict[str, Definition] = {}
        self._unreadable: dict[str, Unreadable] = {}

    def __contains__(self, name: str) -> bool:
        """Whether this one can be used, as far as is known."""
        return name in self._known

    def look_ahead(self, names: Iterable[str]) -> None:
        """Reads those of ``names`` that have not been read yet."""
        new = [name for name in names if name not in self._known and name not in self._unreadable]
        if new:
            self._read(new)

    def get(self, names: Iterable[str]) -> dict[str, Definition]:
        """The readable ones of ``names``; of the others ``unreadable`` has the reason."""
        asked = list(names)
        for name in asked:
            if name in self._known:
                # Asked for now: not among those that are forgotten first.
                self._known[name] = self._known.pop(name)
        missing = [name for name in asked if name not in self._known]
        if missing:
            self._read(missing)
        return {name: self._known[name] for name in asked if name in self._known}

    def unreadable(self, name: str) -> "Unreadable":
        """What was found of one that ``get`` has left out."""
        return self._unreadable[name]

    def forget(self, name: str) -> None:
        """Reads the definition again next time."""
        self._known.pop(name, None)

    def give_up(self, definition: Definition, error: Exception) -> None:
        """Counts one as unreadable here for as long as it is planned by the same settings and rules: that failed."""
        self._known.pop(definition.name, None)
        reason = f"schedule {definition.name}: its ticks cannot be planned ({error!r:.200})"
        self._leave(definition.name, Unreadable(definition.hash, reason, definition.planned_by), error)

    def forget_all(self) -> None:
        """Reads all definitions again, and takes back what others have put off meanwhile."""
        self._known.clear()

    def planned(self, definitions: Iterable[Definition]) -> dict[str, bytes | Exception | None]:
        """For ``planned_ms`` what stands in the store, by name, of those whose ticks have jitter.

        What the server refuses has its error there, as an object.
        """
        names = [definition.name for definition in definitions if definition.config.jitter_s]
        if not names:
            return {}
        client = cast("Any", self._shard.link.client)
        pipeline = client.pipeline(transaction=False)
        for name in names:
            pipeline.hget(self._shard.keys.schedule(name), "planned")
        return dict(zip(names, pipeline.execute(raise_on_error=False), strict=True))

    def _read(self, names: list[str]) -> None:
        texts, states = self._look_up(names)
        settle(self._shard, {zone for text in texts if (zone := zone_of(text or b"")) is not None})
        for name, text in zip(names, texts, strict=True):
            try:
                definition = read(name, text or b"")
            except (BadInput, CronError) as error:
                self._leave(name, Unreadable(text, str(error)))
                continue
            left = self._unreadable.pop(name, None)
            if left is not None and left.planned_by == definition.planned_by:
                self._unreadable[name] = left
            else:
                self._known[name] = definition
        drop_oldest(self._known)
        drop_oldest(self._unreadable)
        put_off = [
            name
            for name, state in zip(names, states, strict=True)
            if state == b"invalid" and name in self._known
        ]
        replan(self._shard, put_off)

    def _leave(self, name: str, found: "Unreadable", error: Exception | None = None) -> None:
        if found.text is not None and self._unreadable.get(name) != found:
            _log.error(
                "schedule %s cannot be read here and is left to other schedulers: %s",
                name,
                found.reason,
                exc_info=error,
            )
        self._unreadable.pop(name, None)
        self._unreadable[name] = found

    def _look_up(self, names: list[str]) -> tuple[list[bytes | None], list[bytes | None]]:
        keys, client = self._shard.keys, cast("Any", self._shard.link.client)
        pipeline = client.pipeline(transaction=False)
        pipeline.hmget(keys.schedules, names)
        for name in names:
            pipeline.hget(keys.schedule(name), "state")
        texts, *states = pipeline.execute()
        return texts, states


def planned_ms(definition: Definition, instant_ms: int, text: bytes) -> int:
    """The planned instant of the tick that stands in the timetable at ``instant_ms``: with jitter an earlier one.

    ``text`` is what ``Known.planned`` has found, b"" for nothing.
    """
    planned = int(text) if text.isdigit() else instant_ms
    # Edited or fired meanwhile, or nonsense: then the script finds that out, or the instant itself has to do.
    return planned if definition.rule.runs_at(planned) == instant_ms else instant_ms


def drop_oldest(known: dict[str, Any]) -> None:
    """Forgets what stands first, down to ``MOST`` entries."""
    for name in list(islice(known, max(0, len(known) - MOST))):
        del known[name]


class Unreadable(NamedTuple):
    """A definition as it stands in the store, None where there is none, and why this process cannot use it.

    ``planned_by``: by what that failed, where it can be read, but not planned. Of such a one ``text`` is the hash alone.
    """

    text: bytes | None
    reason: str
    planned_by: tuple[bytes, bytes] | None = None
