"""Writing new tasks: in chunks, each sent before the answer to the one before it is read.

So the server works on one while the next is put together, and neither side sleeps until the other has done. A chunk may
be sent twice, as any call of a script: ids are made before the first is sent, and a task that is there stays as it is.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from redis.exceptions import NoScriptError, RedisError

from oncue.common import record
from oncue.common.clock import monotonic_s
from oncue.common.connections import OpenConnection, raised
from oncue.common.keys import page_of
from oncue.common.scripts import script
from oncue.common.shard import KeyTable, Shard, slot

CHUNK = 500
"""How many tasks one call carries: beyond some hundreds a call gets no cheaper, and the server is busy for longer."""

UNDER_WAY = 2
"""How many chunks are under way at most: one that the server works on, and one that lies there for it."""


class Placed(NamedTuple):
    """A new task, ready to be written."""

    id: str
    record: bytes
    due_ms: int
    band: int
    queue: str


class Writing:
    """New tasks of one shard on their way; for one thread, and to be closed in the end."""

    def __init__(self, shard: Shard, tasks: Sequence[Placed], now_ms: int) -> None:
        """``now_ms`` is the server's time."""
        ordered = _by_page(tasks, now_ms) if len(tasks) > CHUNK else tasks
        self._shard = shard
        self._chunks = [ordered[at : at + CHUNK] for at in range(0, len(ordered), CHUNK)]
        self._done = 0
        self._sent = 0
        self._sent_at_s: dict[int, float] = {}
        self._connection: OpenConnection | None = None

    @property
    def next(self) -> Sequence[Placed]:
        """The tasks whose answers come next; none when all are written."""
        return self._chunks[self._done] if self._done < len(self._chunks) else ()

    @property
    def waited_s(self) -> float:
        """How long ago the next tasks were sent for the first time, while the answers to others were waited for."""
        sent_at_s = self._sent_at_s.get(self._done)
        return 0.0 if sent_at_s is None else monotonic_s() - sent_at_s

    def answers(self) -> list[int]:
        """What the script answers for each of the next tasks; to be called again after a fault, raised as redis-py does."""
        if self._connection is not None and self._connection.is_dropped:
            # Another thread has met a fault. This one may lead to a former primary, which nobody else speaks to.
            self._give_up(self._connection)
        connection = self._connection = self._connection or self._shard.take()
        answers = written(self._shard, self.next) if connection is None else self._in_turn(connection)
        self._done += 1
        self._sent = max(self._sent, self._done)
        return answers

    def _in_turn(self, connection: OpenConnection) -> list[int]:
        try:
            for tasks in self._chunks[self._sent : self._done + UNDER_WAY]:
                self._sent_at_s.setdefault(self._sent, monotonic_s())
                connection.send(script("schedule").command(*_request(self._shard, tasks)))
                self._sent += 1
            reply = connection.reply()
            if isinstance(reply, RedisError):
                # Those behind it have mostly met the same. What has not is written before anybody hears of the error.
                for _ in range(self._done + 1, self._sent):
                    connection.reply()
                self._sent = self._done + 1
            if isinstance(reply, NoScriptError):
                return written(self._shard, self.next)
            answers: list[int] = raised(reply)
            return answers
        except BaseException:
            self._give_up(connection)
            raise

    def _give_up(self, connection: OpenConnection) -> None:
        # What is still to come on it nobody must read as the answer to something else.
        self._connection, self._sent = None, self._done
        connection.close()

    def close(self) -> None:
        """Gives the connection back once what is under way is answered, so that nothing is written after the call."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(RedisError):
                for _ in range(self._done, self._sent):
                    connection.reply()
                self._shard.link.give_back(connection)


def written(shard: Shard, tasks: Sequence[Placed]) -> list[int]:
    """What the script answers for each of the tasks, in one call; raises what redis-py raises."""
    answers: list[int] = shard.call("schedule", *_request(shard, tasks))
    shard.confirm([task.id for task in tasks])
    return answers


def _request(shard: Shard, tasks: Sequence[Placed]) -> tuple[list[bytes], list[bytes | str | int]]:
    """Keys and arguments of the script."""
    keys = shard.keys
    now = shard.now_ms()
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.bands, keys.seq, keys.armed)
    table = KeyTable(*first, keys.notify, keys.claims)
    args: list[bytes | str | int] = [now]
    for task in tasks:
        at = table.add(*slot(keys, now, task.due_ms, task.band, task.queue))
        args += (task.id, task.record, at)
    results = [keys.result(task.id) for task in tasks if record.has_nonce(task.record)]
    return [*table.keys, *results], args


def _by_page(tasks: Sequence[Placed], now_ms: int) -> Sequence[Placed]:
    """Tasks of a page together, since they share its key and its command. What is due, and each page, keeps its order."""
    if len({task.id for task in tasks}) < len(tasks):
        # Of an id that is given twice the first one counts.
        return tasks
    due = page_of(now_ms)
    return sorted(tasks, key=lambda task: max(due, page_of(task.due_ms)))
