"""Waiting: one blocking read left open on the server, ended by its reply, by an instant, or by this process itself.

A server ends a blocking command up to 100 ms late (at its default ``hz 10``), so the instant is watched here, on the
socket, while the command stays open: what it brings later is kept by the kernel for the next wait. The server's own
end of the block, after about a minute, is what proves that the connection lives.
"""

import contextlib
import os
import select
import signal
from typing import Any, Final

from redis.exceptions import ConnectionError as LinkDown

from oncue.common.clock import monotonic_s, sleep_s
from oncue.common.link import Link

BLOCK_S = 60.0
"""How long the server holds a blocking read without news."""

GRACE_S = 4.5
"""How much later its answer may come before the connection counts as dead: with the block, 65 s in all."""

_FINE_S = 0.001
"""How long before its end a wait leaves poll(), which counts whole milliseconds and rounds up."""

_SPIN_S = 0.00015
"""By how much a sleep is too long: the wait looks at the clock for this last part."""


class Nudge:
    """Ends a wait of this process from another thread or a signal handler; remembered until the wait comes."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        """The descriptor that is readable while a nudge waits to be taken."""
        return self._read

    def far_end(self) -> int:
        """The descriptor by which another process nudges, with a byte."""
        return self._write

    def send(self) -> None:
        """Ends the current or the next wait; any number of nudges before it count as one."""
        # A full pipe holds nudges that nobody has looked at yet: one more would say nothing new.
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"\0")

    def on_signals(self) -> None:
        """From now on every signal that has a Python handler is a nudge, also one that the kernel gives another thread.

        The handler itself runs in the main thread once that wakes. To be called from the main thread.
        """
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def clear(self) -> None:
        """Takes what was sent so far."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass

    def wait_s(self, timeout_s: float | None, *others: int) -> bool:
        """Waits without a server for a nudge, or for something to read on ``others``; returns whether any came."""
        came = _poll(timeout_s, self.fileno(), *others)
        if self.fileno() in came:
            self.clear()
        return bool(came)

    def close(self) -> None:
        """Gives both descriptors back; nothing may nudge or wait any more."""
        os.close(self._read)
        os.close(self._write)


def _poll(timeout_s: float | None, *files: int) -> set[int]:
    poller = select.poll()
    for number in files:
        poller.register(number, select.POLLIN)
    if timeout_s is None:
        return {number for number, _ in poller.poll()}
    ends = monotonic_s() + timeout_s
    found = poller.poll(max(0, int((timeout_s - _FINE_S) * 1000)))
    if not found:
        sleep_s(min(ends - monotonic_s(), 2 * _FINE_S) - _SPIN_S)
        ends = min(ends, monotonic_s() + _SPIN_S)
        while monotonic_s() < ends:
            pass
        found = poller.poll(0)
    return {number for number, _ in found}


class _Nothing:
    """A wait that ended without a reply."""


NOTHING: Final = _Nothing()


class BlockingRead:
    """A connection of its own for one blocking command at a time."""

    def __init__(self, link: Link, key: bytes, nudge: Nudge) -> None:
        """``key`` says which server of a cluster to ask; no I/O yet."""
        self._link = link
        self._key = key
        self._nudge = nudge
        self._connection: Any = None
        self._sent_at: float | None = None
        self.block_error_s = 0.0
        """By how much the last block without news was longer than asked for, in seconds."""

    @property
    def is_open(self) -> bool:
        """Whether a command is on the server, not answered yet as far as read."""
        return self._sent_at is not None

    def send(self, *command: bytes | str | float) -> None:
        """Sends a blocking command; the one before must have been answered."""
        if self._connection is None:
            self._connection = self._link.connection(self._key)
        self._connection.send_command(*command)
        self._sent_at = monotonic_s()

    def wait(self, until: float | None) -> Any:
        """The command's reply (None after a block without news), or NOTHING at ``until`` or when nudged.

        ``until`` is a monotonic second. Raises redis-py's ConnectionError for a connection that is closed or gives no
        sign of life, and ResponseError for what the server says (UNBLOCKED at a failover, MOVED in a cluster).
        """
        assert self._sent_at is not None, "nothing was sent"
        number = self._connection._sock.fileno()
        dead_at = self._sent_at + BLOCK_S + GRACE_S
        ends = dead_at if until is None else min(until, dead_at)
        came = _poll(max(0.0, ends - monotonic_s()), number, self._nudge.fileno())
        if number in came:
            sent_at, self._sent_at = self._sent_at, None
            reply = self._connection.read_response()
            if reply is None:
                self.block_error_s = monotonic_s() - sent_at - BLOCK_S
            return reply
        if self._nudge.fileno() in came:
            self._nudge.clear()
        elif monotonic_s() >= dead_at:
            self.close()
            raise LinkDown(f"no sign of life for {BLOCK_S + GRACE_S:g} s")
        return NOTHING

    def close(self) -> None:
        """Drops the connection, and with it what the server might still answer."""
        connection, self._connection, self._sent_at = self._connection, None, None
        if connection is not None:
            connection.disconnect()
