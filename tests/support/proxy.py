"""A TCP proxy between client and server that fails on order, in the ways in which networks and servers do."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from oncue.common.scripts import script
from tests.support.link import Link, Orders, Request
from tests.support.waiting import eventually

T = TypeVar("T")
# Sent by client libraries when they connect: a test that cuts "the next request" means none of these.
_HANDSHAKE = {b"AUTH", b"CLIENT", b"HELLO", b"PING", b"SELECT"}


def after_handshake(request: Request) -> bool:
    """True for a request that is not part of how a client library begins a connection."""
    return request[0].upper() not in _HANDSHAKE


def command(*names: str) -> Callable[[Request], bool]:
    """A predicate for `cut_reply`: true for the commands of these names."""
    wanted = {name.upper().encode() for name in names}
    return lambda request: request[0].upper() in wanted


def call_of(name: str, *words: bytes) -> Callable[[Request], bool]:
    """A predicate for `cut_reply`: true for the calls of one script that these words are among the arguments of."""
    sha = script(name).sha.encode()
    return lambda request: (
        request[0].upper() == b"EVALSHA" and request[1] == sha and all(word in request for word in words)
    )


class Proxy:
    """Listens on a loopback port and forwards to `upstream`, the url of a single server (TCP or unix socket).

    Each order holds when its call returns.
    """

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._orders = Orders()
        self._links: set[Link] = set()
        self._new_flow = True
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        return self._do(lambda: len(self._links))

    @property
    def cuts(self) -> int:
        """How many replies were cut off so far."""
        return self._do(lambda: self._orders.cuts_done)

    def swallow(self, *, new_too: bool = True) -> None:
        """No byte passes either way and connections stay open; new ones work if `new_too` is False."""
        self._do(lambda: self._hold(new_too))

    def resume(self) -> None:
        """End `swallow`: what was held arrives late."""
        self._do(self._release)

    def reset_all(self) -> int:
        """RST to both sides of all connections; returns how many there were."""
        return self._do(self._reset_links)

    def lead_to(self, upstream: str) -> None:
        """New connections go to that server; the others stay where they are."""
        self._upstream = upstream

    def cut_reply(self, match: Callable[[Request], bool] = after_handshake, times: int = 1) -> None:
        """For the next `times` matching requests: the server carries it out, the client gets RST for a reply.

        `match` sees the words of one request; replies to earlier requests of the same pipeline are lost with it.
        """
        self._do(lambda: self._set(cut=match, cuts_left=times))

    def wait_for_cuts(self, count: int, timeout_s: float = 10) -> None:
        eventually(lambda: self.cuts >= count, timeout_s, f"{count} replies cut")

    def delay(self, ms: float) -> None:
        """Hold each reply for `ms` milliseconds; 0 ends it."""
        self._do(lambda: self._set(delay_s=ms / 1000))

    def loading(self) -> None:
        """Answer as a server that still loads its data, until `loaded`; connections stay as they are."""
        self._do(lambda: self._set(loading=True))

    def loaded(self) -> None:
        self._do(lambda: self._set(loading=False))

    # --- inside the loop's thread ---

    def _set(self, **orders: object) -> None:
        for name, value in orders.items():
            setattr(self._orders, name, value)

    def _hold(self, new_too: bool) -> None:
        self._new_flow = not new_too
        for link in self._links:
            link.flow.clear()

    def _release(self) -> None:
        self._new_flow = True
        for link in self._links:
            link.flow.set()

    def _reset_links(self) -> int:
        for link in self._links:
            link.reset()
        return len(self._links)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(self._orders, reader, writer)
        if not self._new_flow:
            link.flow.clear()
        self._links.add(link)
        try:
            await link.run(self._upstream)
        finally:
            self._links.discard(link)

    # --- from the test's thread ---

    def _do(self, step: Callable[[], T]) -> T:
        async def run() -> T:
            return step()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def start(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, sock=self._listener)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        return self

    def stop(self) -> None:
        """Close the port and all connections."""
        asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _finish(self) -> None:
        self._server.close()
        # Held connections would wait for ever, and asyncio logs a traceback for each that is cancelled instead.
        self._release()
        self._reset_links()
        own = asyncio.current_task()
        await asyncio.gather(
            *(task for task in asyncio.all_tasks() if task is not own), return_exceptions=True
        )
        # One more turn, in which the aborted transports close their sockets.
        await asyncio.sleep(0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
