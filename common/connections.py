"""Connections for short commands, kept open between them.

redis-py's client takes 40 µs to send one command and read its reply, its bare connection 10: pool, retries and metrics
are in between, and neither is wanted here. Where no routing is needed commands go over connections directly.
"""

import os
import select
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from redis.exceptions import ResponseError


class _Open:
    """A connection, and what tells whether it can be read."""

    __slots__ = ("connection", "poller")

    def __init__(self, connection: Any) -> None:
        # By name: a connection that connects itself at its first command would not ask Sentinel for the address.
        connection.connect()
        self.connection = connection
        self.poller = select.poll()
        self.poller.register(connection._sock, select.POLLIN)

    def has_news(self) -> bool:
        """Whether it has been closed by the server, or holds what nobody asked for."""
        return self.connection._sock is None or bool(self.poller.poll(0))


class Connections:
    """Idle connections to one server, the latest used first; safe to use from many threads, and after a fork."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """``make`` gives a new connection of redis-py; no I/O yet."""
        self._make = make
        self._idle: deque[_Open] = deque()
        self._pid = os.getpid()

    def execute(self, *command: Any) -> Any:
        """The reply to one command; raises what redis-py raises. Never repeats it."""
        taken = self._taken()
        connection = taken.connection
        try:
            connection.send_command(*command)
            reply = connection.read_response()
        except ResponseError:
            self._idle.append(taken)
            raise
        except BaseException:
            # Half a reply may be on its way: nobody must read the rest as an answer of his own.
            connection.disconnect()
            raise
        self._idle.append(taken)
        return reply

    def _taken(self) -> _Open:
        if self._pid != os.getpid():
            # After a fork these belong to the parent, which goes on using them.
            self._idle, self._pid = deque(), os.getpid()
        with suppress(IndexError):
            while True:
                taken = self._idle.pop()
                if not taken.has_news():
                    return taken
                taken.connection.disconnect()
        return _Open(self._make())

    def drop(self) -> None:
        """Closes the idle ones; those in use belong to other threads, which meet a fault by themselves or do not."""
        with suppress(IndexError):
            while True:
                self._idle.pop().connection.disconnect()
