"""One shard of the store: its keys, its clock, and calls of its scripts."""

from collections.abc import Iterable, Sequence
from typing import Any

from redis.exceptions import NoScriptError, ResponseError

from oncue.common.clock import RESYNC_S, Clock, ServerClock
from oncue.common.connections import OpenConnection
from oncue.common.keys import Keys, opens_at, page_of
from oncue.common.link import Link
from oncue.common.scripts import script

Request = tuple[Sequence[bytes], Sequence[bytes | str | int]]
"""Keys and arguments of one call of a script."""

UNDER_WAY = 16
"""How many calls in a row are sent ahead of their answers at most: about so many the server reads at once, and what it has
answered lies on the way until it is read.
"""


class Shard:
    """All keys that may have to change together, on one server; safe to use from many threads."""

    def __init__(self, link: Link, namespace: str, number: int, clock: Clock | None = None) -> None:
        """``clock`` is the server's, unless a test brings its own."""
        self.link = link
        self.number = number
        self.keys = Keys(namespace, number)
        self.server_clock = ServerClock(lambda: link.server_time(self.keys.timetable))
        self.clock: Clock = clock or self.server_clock
        link.at_reset(self.server_clock.forget)
        self.pages: set[int] = set()
        """Pages that held something when this process last heard of them; only ever a hint."""

    def now_ms(self, older_than_s: float = RESYNC_S) -> int:
        """The server's time in ms, for the next call of a script; asks the server when that is longer ago.

        Raises what the connection raises. Who only wants the time reads ``clock``.
        """
        if self.clock is self.server_clock:
            self.server_clock.refresh(older_than_s)
        return self.clock.now_ms()

    def about_ms(self) -> int:
        """The time in ms without asking anybody; never for what decides whether something is due."""
        return self.server_clock.about_ms() if self.clock is self.server_clock else self.clock.now_ms()

    def counts(self) -> dict[bytes, bytes]:
        """The kept counts: ``queue:state`` to number."""
        counts: dict[bytes, bytes] = self.command("HGETALL", self.keys.counts)
        return counts

    def command(self, *args: bytes | str | int) -> Any:
        """One plain command, not repeated; raises what redis-py raises."""
        client: Any = self.link.client
        return client.execute_command(*args)

    def call(self, name: str, keys: Sequence[bytes], args: Sequence[bytes | str | int]) -> Any:
        """One call of a script, not repeated; raises what redis-py raises."""
        return script(name)(self.link, keys, args)

    def call_in_a_row(self, name: str, requests: Iterable[Request]) -> list[Any]:
        """The answers to calls of a script, each sent before those to the ones before it are read; what the server refuses
        has its error there, as an object.

        So the server works on one while the next is put together, and ``requests`` may do that when it is asked for it.
        For calls that need no order among each other. Not repeated; raises what redis-py raises of the way to the server,
        and then any of them may have been done.
        """
        connection = self.take()
        if connection is None:
            return [self._answer(name, request) for request in requests]
        sent: list[Request] = []
        replies: list[Any] = []
        try:
            for request in requests:
                if len(sent) - len(replies) == UNDER_WAY:
                    replies.append(connection.reply())
                connection.send(script(name).command(*request))
                sent.append(request)
            replies += [connection.reply() for _ in sent[len(replies) :]]
        except BaseException:
            # What is still to come on it nobody must read as the answer to something else.
            connection.close()
            raise
        self.link.give_back(connection)
        return [
            self._answer(name, request) if isinstance(reply, NoScriptError) else reply
            for request, reply in zip(sent, replies, strict=True)
        ]

    def _answer(self, name: str, request: Request) -> Any:
        """The answer to one call of a script, an error of the server's as an object; raises the others."""
        try:
            return self.call(name, *request)
        except ResponseError as error:
            return error

    def take(self) -> OpenConnection | None:
        """A connection for calls in a row, or None where they have to go one by one; to be given back to the link.

        Raises what the connection raises.
        """
        return self.link.take()

    def confirm(self, ids: Sequence[str]) -> None:
        """Waits until the calls that have written these tasks are as durable as was asked for; here nothing was."""


class KeyTable:
    """The keys of one call: the fixed ones first, then each group once. Scripts count from 1."""

    def __init__(self, *fixed: bytes) -> None:
        self.keys = list(fixed)
        self._at: dict[tuple[bytes, ...], int] = {}

    def add(self, *group: bytes) -> int:
        """The index, as a script counts, of the first key of a group that stands together."""
        at = self._at.get(group)
        if at is None:
            at = self._at[group] = len(self.keys) + 1
            self.keys += group
        return at


def slot(
    keys: Keys, now_ms: int, due_ms: int, band: int, queue: str, *, alone: bool = False
) -> tuple[bytes, ...]:
    """The keys that placing a task needs, by the same rule as lua/include/place.lua.

    A page ahead of time its page's list; before it is due bucket, ready and wake lists; then ready and wake lists.
    ``alone`` is for tasks that open no bucket: retries, whose due times jitter spreads.
    """
    if due_ms > now_ms and opens_at(page_of(due_ms)) > now_ms:
        return (keys.page(page_of(due_ms)),)
    lists = (keys.ready(queue, band), keys.wake(queue))
    return lists if alone or due_ms <= now_ms else (keys.bucket(due_ms, band, queue), *lists)
