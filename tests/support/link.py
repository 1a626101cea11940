"""One connection through the test proxy: bytes both ways, and what a test has ordered to happen to them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import hiredis

Request = list[bytes]
_CHUNK = 65_536
_LOADING = b"-LOADING Redis is loading the dataset in memory\r\n"
# What a server answers also while it loads; it refuses everything else.
_WHILE_LOADING = {b"AUTH", b"CLIENT", b"COMMAND", b"CONFIG", b"HELLO", b"INFO", b"SELECT"}


@dataclass
class Orders:
    """What the test wants now; shared by all connections of a proxy, used in the thread of its loop only."""

    cut: Callable[[Request], bool] = field(default=lambda _request: False)
    cuts_left: int = 0
    cuts_done: int = 0
    loading: bool = False
    delay_s: float = 0

    def take_cut(self, request: Request) -> bool:
        wanted = self.cuts_left > 0 and self.cut(request)
        self.cuts_left -= wanted
        return wanted


class Link:
    """Client and server side of one connection; while `flow` is cleared no byte passes, either way."""

    def __init__(self, orders: Orders, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.flow = asyncio.Event()
        self.flow.set()
        self._orders = orders
        self._from_client, self._to_client = reader, writer
        self._sides = [writer]
        self._asked = 0
        # The number of the first request whose reply must not go back, counted from 1.
        self._cut_at: int | None = None

    async def run(self, upstream: str) -> None:
        """Serve until one side ends, then end the other."""
        try:
            from_server, to_server = await _connect(upstream)
        except OSError:
            self.reset()
            return
        self._sides.append(to_server)
        pumps = [
            asyncio.create_task(pump) for pump in (self._requests(to_server), self._replies(from_server))
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for side in self._sides:
                side.close()

    def reset(self) -> None:
        """RST to both sides, now."""
        for side in self._sides:
            _reset(side)

    async def _requests(self, to_server: asyncio.StreamWriter) -> None:
        pending = bytearray()
        while chunk := await self._passed(self._from_client):
            pending += chunk
            for raw, request in _split_off(pending):
                self._request(raw, request, to_server)
            await to_server.drain()
            await self._to_client.drain()

    def _request(self, raw: bytes, request: Request, to_server: asyncio.StreamWriter) -> None:
        if self._orders.loading and request[0].upper() not in _WHILE_LOADING:
            self._to_client.write(_LOADING)
            return
        self._asked += 1
        if self._cut_at is None and self._orders.take_cut(request):
            self._cut_at = self._asked
        to_server.write(raw)

    async def _replies(self, from_server: asyncio.StreamReader) -> None:
        parser, answered = hiredis.Reader(notEnoughData=_Nothing), 0
        while chunk := await self._passed(from_server):
            parser.feed(chunk)
            answered += sum(1 for _ in iter(parser.gets, _Nothing))
            if self._cut_at is None:
                await self._reply(chunk)
            elif answered >= self._cut_at:
                # Only now is it certain that the server has carried the request out.
                self._orders.cuts_done += 1
                _reset(self._to_client)
                return

    async def _reply(self, chunk: bytes) -> None:
        if self._orders.delay_s:
            await asyncio.sleep(self._orders.delay_s)
        self._to_client.write(chunk)
        await self._to_client.drain()

    async def _passed(self, source: asyncio.StreamReader) -> bytes:
        # The end of a connection is held back like its bytes: a dead path tells neither side of the other's end.
        try:
            chunk = await source.read(_CHUNK)
        except OSError:
            chunk = b""
        await self.flow.wait()
        return chunk


class _Nothing:
    """Says that no whole reply is there yet; None is a reply."""


def _split_off(pending: bytearray) -> list[tuple[bytes, Request]]:
    """Take the whole requests off the front of `pending`, each as its bytes and its words."""
    found = []
    with contextlib.suppress(_Incomplete):
        while pending:
            request, end = _parse(pending)
            found.append((bytes(pending[:end]), request))
            del pending[:end]
    return found


class _Incomplete(Exception):
    pass


def _parse(data: bytearray) -> tuple[Request, int]:
    count, at = _number(data, 0, b"*")
    words = []
    for _ in range(count):
        length, at = _number(data, at, b"$")
        if len(data) < at + length + 2:
            raise _Incomplete
        words.append(bytes(data[at : at + length]))
        at += length + 2
    return words, at


def _number(data: bytearray, at: int, sign: bytes) -> tuple[int, int]:
    end = data.find(b"\r\n", at)
    if end < 0:
        raise _Incomplete
    assert data[at : at + 1] == sign, f"not a request: {bytes(data[at : at + 40])!r}"
    return int(data[at + 1 : end]), end + 2


async def _connect(upstream: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = urlsplit(upstream)
    if url.scheme == "unix":
        return await asyncio.open_unix_connection(url.path)
    return await asyncio.open_connection(url.hostname, url.port)


def _reset(side: asyncio.StreamWriter) -> None:
    # A close with a linger time of zero sends RST and not FIN; a unix socket knows no such difference.
    with contextlib.suppress(OSError):
        side.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    side.transport.abort()
