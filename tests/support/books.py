"""What a schedule's history said, collected before it was cut: the account of each planned instant."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import redis

SECOND_MS = 1000


@dataclass
class Books:
    """The history of a schedule with a tick every second. ``read`` often: the store keeps the last hundred entries."""

    client: redis.Redis
    key: bytes
    seen: dict[bytes, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> None:
        texts: Any = self.client.lrange(self.key, 0, -1)  # pyright: ignore[reportArgumentType]
        assert len(texts) == len(set(texts)), "an entry twice"
        self.seen |= {text: json.loads(text) for text in texts}

    def planned(self) -> list[int]:
        """All planned instants that have an entry, as often as they have one, rising."""
        found: list[int] = []
        for event in self.seen.values():
            last = event.get("to", event["planned"])
            instants = range(event["planned"], last + 1, SECOND_MS)
            assert len(instants) == event.get("count", 1)
            found += instants
        return sorted(found)

    def fired(self) -> list[str]:
        """The ids of the tasks that ticks made."""
        return [event["id"] for event in self.seen.values() if event["what"] == "fired"]
