"""Commands of the product that end by themselves, and a service manager that listens to those that do not."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import Process
from tests.support.waiting import eventually

Start = Callable[..., Process]


@dataclass(frozen=True)
class Ended:
    """A command's end: exit code and all that it printed."""

    code: int
    output: str

    @property
    def json(self) -> Any:
        return json.loads(self.output)


def ended(
    start: Start, *words: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Ended:
    """Run one command to its end."""
    process = start(*words, env=dict(env or {}), cwd=cwd)
    code = process.wait()
    return Ended(code, process.output)


class Manager:
    """The service manager's end of sd_notify: a socket in `directory` and the messages that came."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(os.fspath(self.path))
        self._socket.setblocking(False)
        self.lines: list[str] = []

    @property
    def env(self) -> dict[str, str]:
        return {"NOTIFY_SOCKET": str(self.path)}

    def heard(self, start: str) -> str | None:
        """The newest line that begins so."""
        while True:
            try:
                self.lines += self._socket.recv(65536).decode().split("\n")
            except BlockingIOError:
                return next((line for line in reversed(self.lines) if line.startswith(start)), None)

    def wait_for(self, start: str, timeout_s: float = 15) -> str:
        return eventually(
            lambda: self.heard(start), timeout_s, f"{start} from {self.path}; heard {self.lines}"
        )

    def close(self) -> None:
        self._socket.close()
