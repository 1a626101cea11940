"""A store under a clock of the test's own, and how large it is."""

from __future__ import annotations

from collections.abc import Callable

from oncue import App
from oncue.common.store import Store
from tests.support.product import FixedClock, Hands, Passes, app_on
from tests.support.servers import RedisServer

KEEP_MS = 25_000
SLACK_BYTES = 200_000
"""What the allocator and the clients' buffers may move by: ten bytes a round."""


class Bench:
    """A store under a clock of the test's own, and how large it is."""

    def __init__(self, server: RedisServer, store: Store, clock: FixedClock) -> None:
        self.server, self.store, self.clock = server, store, clock
        self.app: App = app_on(store)
        self.passes = Passes(store)
        self.hands = Hands(store, ["default"])

    def rounds(self, name: Callable[[int], str], offset_ms: int, number: int) -> None:
        """Schedule and cancel, one task after the other."""
        for n in range(number):
            task_id = name(n)
            due = (self.clock.ms + offset_ms) / 1000
            self.app.schedule_task(due, "x" * 100, id=task_id)
            assert self.app.cancel(task_id)

    def settle(self) -> None:
        """Let the memory of all finished tasks run out and be swept."""
        self.clock.pass_ms(self.store.keep_finished_ms + 10_000)
        before = -1
        while (left := self.memories()) != before:
            before = left
            self.passes()
        assert left == 0

    def memories(self) -> int:
        return int(self.server.ask("LLEN", self.store.shards[0].keys.finished.decode()))

    def used(self) -> int:
        # The server's own notes of slow commands, of which a busy machine makes some hundred KB, are none of ours.
        self.server.ask("SLOWLOG", "RESET")
        return int(self.server.admin.info("memory")["used_memory"])

    def keys(self) -> dict[str, int]:
        """The number of members of each key; the kept counts, which stay for good, and the capped notify list left out."""
        sizes = {}
        for key in self.server.ask("KEYS", "*"):
            name, kind = key.decode().partition("}:")[2], self.server.ask("TYPE", key.decode()).decode()
            count = {"hash": "HLEN", "list": "LLEN", "zset": "ZCARD", "string": "STRLEN", "stream": "EXISTS"}[
                kind
            ]
            sizes[name] = 1 if kind == "string" else int(self.server.ask(count, key.decode()))
        return {name: size for name, size in sizes.items() if name not in ("counts", "notify")}
