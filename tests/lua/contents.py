"""What is there: the keys of a shard, as the tests of the scripts compare them."""

from __future__ import annotations

import json
from typing import Any

from tests.lua.task_calls import TaskCalls


class Contents(TaskCalls):
    """A shard that can be looked into."""

    def schedule_state(self, name: str) -> dict[str, str]:
        """How a schedule stands."""
        found = self.client.hgetall(self.keys.schedule(name))
        return {field.decode(): value.decode() for field, value in found.items()}

    def history(self, name: str) -> list[dict[str, Any]]:
        """What became of a schedule's planned instants, the oldest first."""
        return [json.loads(entry) for entry in self.client.lrange(self.keys.history(name), 0, -1)][::-1]

    def timetable(self) -> dict[bytes, int]:
        found = self.client.zrange(self.keys.timetable, 0, -1, withscores=True)
        return {member: int(score) for member, score in found}

    def counts(self, queue: str = "q") -> dict[str, int]:
        """The counts of a queue that are not zero."""
        found = self.client.hgetall(self.keys.counts)
        return {
            field.decode().partition(":")[2]: int(number)
            for field, number in found.items()
            if field.startswith(queue.encode() + b":") and int(number)
        }

    def states(self, now: int, *ids: str) -> list[str]:
        return [found[0].decode() if found else "unknown" for found in self.locate(now, *ids).run()]

    def length(self, key: bytes) -> int:
        return int(self.client.llen(key))

    def names(self) -> set[bytes]:
        """All keys of the shard, without their prefix."""
        start = len(self.keys.prefix)
        return {key[start:] for key in self.client.scan_iter(match=self.keys.prefix + b"*", count=1000)}

    def notified(self) -> list[int]:
        """The instants on the notify list, oldest first."""
        return [int(fields[b"due"]) for _, fields in self.client.xrange(self.keys.notify)]
