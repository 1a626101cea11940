"""A server process that speaks the Redis protocol, with the signals that outages are made of."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from oncue.common.embedded import server_binary
from tests.support import children
from tests.support.waiting import eventually

Kind = Literal["valkey", "redis"]


def binary(kind: Kind) -> str | None:
    """Path of the server program, or None where it is not installed."""
    return str(server_binary()) if kind == "valkey" else shutil.which("redis-server")


class ServerProcess(ABC):
    """Base of the test servers: one process listening on a loopback port or a unix socket."""

    def __init__(self, kind: Kind, directory: Path, address: int | Path) -> None:
        self.kind: Kind = kind
        self.directory = directory
        self.port = address if isinstance(address, int) else 0
        self.socket_path = address if isinstance(address, Path) else None
        self._child: subprocess.Popen[bytes] | None = None
        self._admin: redis.Redis | None = None

    @abstractmethod
    def _arguments(self) -> list[str]: ...

    @property
    def url(self) -> str:
        return f"unix://{self.socket_path}" if self.socket_path else f"redis://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def pid(self) -> int:
        assert self._child is not None, "the server does not run"
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self, timeout_s: float = 20) -> Self:
        """Start on the data of the last run, and wait until commands are answered."""
        assert self._child is None, "the server runs already"
        program = binary(self.kind)
        assert program, f"no {self.kind} server is installed"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._child = children.spawn([program, *self._arguments()], self.log, cwd=self.directory)
        try:
            eventually(self._answers, timeout_s, f"an answer of the {self.kind} server at {self.url}")
        except AssertionError as error:
            self.kill()
            raise AssertionError(f"{error}\n{self.log.read_text(errors='replace')[-2000:]}") from None
        return self

    def _answers(self) -> bool:
        if not self.running:
            raise AssertionError(f"the {self.kind} server for {self.url} ended at its start")
        try:
            return bool(self.admin.ping())
        except redis.RedisError:
            return False

    def stop(self) -> None:
        """SIGTERM and wait; a server that does not run is no error."""
        self._end(children.end)

    def kill(self) -> None:
        """SIGKILL, as in a crash; a server that does not run is no error."""
        self._end(children.kill)

    def _end(self, how: Callable[[subprocess.Popen[bytes]], None]) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None
        if self._child is not None:
            how(self._child)
            self._child = None

    def pause(self) -> None:
        """SIGSTOP: connections stay open, nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT, after `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    @property
    def admin(self) -> redis.Redis:
        """The support's own client, kept open so that asking costs no new connection."""
        if self._admin is None:
            # Tests and sentinels kill all clients; the support's own questions may be asked twice without harm.
            self._admin = self.client(retries=2)
        return self._admin

    def ask(self, *words: str | int) -> Any:
        """The answer to one command, as redis-py gives it for commands that it has no method for."""
        return self.admin.execute_command(*words)

    def client(self, timeout_s: float = 10, retries: int = 0) -> redis.Redis:
        """A plain client: RESP2, no retries unless asked for, and a read that ends with an error after `timeout_s`."""
        return redis.Redis.from_url(
            self.url,
            protocol=2,
            retry=Retry(NoBackoff(), retries),
            socket_timeout=timeout_s,
            socket_connect_timeout=5,
        )

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
