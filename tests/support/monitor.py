"""What a server was really asked: the lines of MONITOR, parsed, complete up to the moment of asking."""

from __future__ import annotations

import re
import socket
import threading
import uuid
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from tests.support.single import RedisServer

_LINE = re.compile(rb"\+(\d+\.\d+) \[\d+ (\S+)\] (.*)")
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)")
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


@dataclass(frozen=True)
class Seen:
    """One command as the server ran it: name in capitals, arguments as text, whether a script called it, by which connection."""

    command: str
    args: tuple[str, ...]
    lua: bool
    at: float
    client: str = ""


class Watchable(Protocol):
    @property
    def nodes(self) -> list[RedisServer]: ...


class Monitor:
    """`with Monitor(server) as seen: ...`; afterwards `seen.commands` holds everything run until the end."""

    def __init__(self, server: Watchable) -> None:
        self._streams = [_Stream(node) for node in server.nodes]

    @property
    def commands(self) -> list[Seen]:
        """All commands so far, in the order of each node, the nodes one after the other."""
        return [seen for stream in self._streams for seen in stream.commands()]

    def sync(self) -> list[Seen]:
        """Wait until everything that the servers have run by now is in, and return `commands`."""
        for stream in self._streams:
            stream.sync()
        return self.commands

    def __enter__(self) -> Self:
        for stream in self._streams:
            stream.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.sync()
        finally:
            for stream in self._streams:
                stream.close()


class _Stream:
    def __init__(self, node: RedisServer) -> None:
        self._node = node
        self._seen: list[Seen] = []
        self._change = threading.Condition()
        self._markers: set[str] = set()
        self._own = f"monitor-{uuid.uuid4().hex}"
        self._closing = threading.Event()

    def open(self) -> None:
        self._socket = _connect(self._node)
        self._socket.sendall(b"MONITOR\r\n")
        self._lines = self._socket.makefile("rb")
        assert self._lines.readline() == b"+OK\r\n"
        self._thread = threading.Thread(target=self._collect, name="monitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        # Only a shutdown ends a read that another thread is in; close alone would leave it there.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._lines.close()
        self._socket.close()

    def commands(self) -> list[Seen]:
        with self._change:
            return [seen for seen in self._seen if not self._is_marker(seen)]

    def sync(self) -> None:
        marker = f"{self._own}-{uuid.uuid4().hex}"
        self._node.admin.echo(marker)
        with self._change:
            assert self._change.wait_for(lambda: marker in self._markers, 20), "MONITOR fell silent"

    def _is_marker(self, seen: Seen) -> bool:
        return seen.command == "ECHO" and seen.args[0].startswith(self._own)

    def _collect(self) -> None:
        try:
            self._read_lines()
        except ConnectionResetError:
            # What a server writes after the shutdown is answered with a reset, which this thread may read first.
            if not self._closing.is_set():
                raise

    def _read_lines(self) -> None:
        for line in self._lines:
            if (seen := parse(line)) is not None:
                with self._change:
                    self._seen.append(seen)
                    if self._is_marker(seen):
                        self._markers.add(seen.args[0])
                        self._change.notify_all()


def parse(line: bytes) -> Seen | None:
    """One line of MONITOR's output; None for a line of another form."""
    if not (match := _LINE.match(line)):
        return None
    at, source, words = match.groups()
    command, *args = (_text(word) for word in _WORD.findall(words))
    return Seen(command.upper(), tuple(args), source == b"lua", float(at), source.decode())


def _text(word: bytes) -> str:
    return _ESCAPE.sub(_unescape, word).decode(errors="surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes.fromhex(code[1:].decode()) if len(code) == 3 else _LETTERS.get(code, code)


def _connect(node: RedisServer) -> socket.socket:
    if node.socket_path is None:
        connection = socket.create_connection(("127.0.0.1", node.port), 10)
        # A server that is asked nothing says nothing, for as long as it likes.
        connection.settimeout(None)
        return connection
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(node.socket_path))
    return connection
