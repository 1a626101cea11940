"""Known: the definitions that a scheduler has read; an edit is noticed by the hash when a tick is fired."""

import logging
from collections.abc import Iterable

from oncue.common.errors import BadInput, CronError
from oncue.common.shard import Shard
from oncue.scheduler.definition import HASH_BYTES, Definition, read

_log = logging.getLogger("oncue.schedules")


class Known:
    """What a duty needs to know of schedules whose ticks are near."""

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

    def planned_ms(self, definition: Definition, instant_ms: int) -> int:
        """The planned instant of the tick that stands in the timetable at ``instant_ms``: with jitter an earlier one."""
        if not definition.config.jitter_s:
            return instant_ms
        text = self._shard.command("HGET", self._shard.keys.schedule(definition.name), "planned") or b""
        planned = int(text) if text.isdigit() else instant_ms
        # Edited or fired meanwhile, or nonsense: then the script finds that out, or the instant itself has to do.
        return planned if definition.rule.runs_at(planned) == instant_ms else instant_ms

    def _read(self, names: list[str]) -> None:
        keys = self._shard.keys
        texts: list[bytes | None] = self._shard.command("HMGET", keys.schedules, *names)
        for name, text in zip(names, texts, strict=True):
            try:
                self._known[name] = read(name, text or b"")
            except (BadInput, CronError) as error:
                self._disarm(name, (text or b"")[:HASH_BYTES], str(error))
                if text is not None and self._reported.get(name) != text:
                    self._reported[name] = text
                    _log.error("schedule %s is invalid and will not fire: %s", name, error)

    def _disarm(self, name: str, found: bytes, reason: str) -> None:
        keys = self._shard.keys
        fixed = (keys.timetable, keys.schedules, keys.followers, keys.schedule(name))
        self._shard.call("disarm", fixed, [name, found, reason])
