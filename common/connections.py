"""Connections for short commands, kept open between them.

Between redis-py's client and the socket lie pool, retries and metrics, none of them wanted here, and all of them slow
where the processor's caches have gone cold in the wait for the reply (docs/decisions/0016). So redis-py opens the
connection (address, login, TLS, Sentinel), and where no routing is needed commands go over its socket directly.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import hiredis
from redis.exceptions import ConnectionError, InvalidResponse, RedisError
from redis.exceptions import TimeoutError as TimedOut

_READ_BYTES = 65_536


class OpenConnection:
    """An open connection of one thread, closed by the first fault of its socket. Replies come in the order of commands."""

    __slots__ = ("_connection", "_dropped", "_poller", "_reader", "_socket")

    def __init__(self, connection: Any, dropped: threading.Event) -> None:
        """``dropped`` is set once connections of its time are not to be used any more."""
        # By name: a connection that connects itself at its first command would not ask Sentinel for the address.
        connection.connect()
        self._connection = connection
        self._dropped = dropped
        self._socket = connection._sock
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse, replyError=connection._parser.parse_error
        )
        self._poller = select.poll()
        self._poller.register(self._socket, select.POLLIN)

    def send(self, command: tuple[Any, ...]) -> None:
        """Sends a command; raises what redis-py raises."""
        try:
            self._socket.sendall(hiredis.pack_command(command))
        except OSError as error:
            raise self._fault("sending", error) from error
        except BaseException:
            self.close()
            raise

    def reply(self) -> Any:
        """The next reply, an error of the server's as an object; raises what redis-py raises."""
        reader = self._reader
        try:
            while (reply := reader.gets()) is False:
                came = self._socket.recv(_READ_BYTES)
                if not came:
                    raise ConnectionResetError("Connection closed by server.")
                reader.feed(came)
        except OSError as error:
            raise self._fault("waiting for the reply", error) from error
        except BaseException:
            # Half a reply may be on its way: nobody must read the rest as an answer of his own.
            self.close()
            raise
        return reply

    def _fault(self, doing: str, error: OSError) -> RedisError:
        self.close()
        kind = TimedOut if isinstance(error, TimeoutError) else ConnectionError
        return kind(f"Error while {doing}: {error}")

    @property
    def is_dropped(self) -> bool:
        """Whether it may lead to a server that is no primary any more: for the next command there is a better one."""
        return self._dropped.is_set()

    def has_news(self) -> bool:
        """Whether the server has closed it, or it holds what nobody asked for."""
        return bool(self._poller.poll(0))

    def close(self) -> None:
        """Ends it, whatever is still to come."""
        self._connection.disconnect()


def raised(reply: Any) -> Any:
    """A reply; raises it if it is an error."""
    if isinstance(reply, RedisError):
        raise reply
    return reply


class Connections:
    """Idle connections to one server, the latest used first; safe to use from many threads, and after a fork."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """``make`` gives a new connection of redis-py; no I/O yet."""
        self._make = make
        self._idle: deque[OpenConnection] = deque()
        self._dropped = threading.Event()
        self._pid = os.getpid()

    def execute(self, *command: Any) -> Any:
        """The reply to one command; raises what redis-py raises. Never repeats it."""
        connection = self.take()
        connection.send(command)
        reply = connection.reply()
        self.give_back(connection)
        return raised(reply)

    def take(self) -> OpenConnection:
        """An idle connection, or a new one; raises what redis-py raises."""
        if self._pid != os.getpid():
            # After a fork these belong to the parent, which goes on using them.
            self._idle, self._pid = deque(), os.getpid()
        with suppress(IndexError):
            while True:
                taken = self._idle.pop()
                # Dropped between a look and its return, too: it may lead to a former primary, which answers.
                if not (taken.is_dropped or taken.has_news()):
                    return taken
                taken.close()
        return OpenConnection(self._make(), self._dropped)

    def give_back(self, connection: OpenConnection) -> None:
        """Takes back one on which no reply is still to come."""
        if connection.is_dropped:
            connection.close()
        else:
            self._idle.append(connection)

    def drop(self) -> None:
        """Closes the idle ones; those in use belong to other threads, and are closed when they come back."""
        dropped, self._dropped = self._dropped, threading.Event()
        dropped.set()
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
