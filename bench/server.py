"""The server under test: a redis-server of this machine (or the embedded Valkey), on loopback, in a directory of its own."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import redis

from bench import processes
from bench.traces import wait


def program() -> str:
    """BENCH_SERVER, or redis-server, or the server that oncue brings."""
    named = os.environ.get("BENCH_SERVER") or shutil.which("redis-server")
    if named:
        return named
    from oncue.common.embedded import server_binary

    return str(server_binary())


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One server process. Without AOF it writes nothing to disk."""

    def __init__(self, directory: Path, aof: bool = False) -> None:
        self._directory = directory
        self._aof = aof
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(port=self.port, decode_responses=True, protocol=2)

    def start(self) -> None:
        """Returns when it answers."""
        settings = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self._directory,
            "save": "",
            "appendonly": "yes" if self._aof else "no",
            "appendfsync": "everysec",
        }
        words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        # A LANG that the machine does not have ends a Valkey at its start.
        environment = {**os.environ, "LC_ALL": "C"}
        log = self._directory / "server.log"
        self._process = processes.start([program(), *words], environment, self._directory, log)
        if not wait(self._answers, 30, 0.002):
            raise RuntimeError(f"the server did not come up: {log.read_text()[-500:]}")

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None, "not started"
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Ends it; what it holds is of no use any more."""
        self.client.close()
        if self._process is not None:
            processes.kill(self._process)

    def cpu_s(self) -> float:
        """CPU seconds of the server so far."""
        assert self._process is not None, "not started"
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system

    def info(self, section: str) -> dict[str, Any]:
        """INFO."""
        answer: dict[str, Any] = self.client.info(section)  # pyright: ignore[reportAssignmentType]
        return answer

    def commands(self) -> dict[str, int]:
        """How often each command was called, those inside scripts included; INFO and TIME of the harness are not there."""
        stats = self.info("commandstats")
        return {
            name.removeprefix("cmdstat_"): int(value["calls"])
            for name, value in stats.items()
            if name not in ("cmdstat_info", "cmdstat_config|resetstat")
        }

    def round_trips(self) -> int:
        """Commands that clients have sent, INFO of the harness included; those inside scripts do not count."""
        return int(self.info("stats")["total_commands_processed"])

    def used_bytes(self) -> int:
        """Memory in use, after the server has had a moment to free what it frees in the background."""
        time.sleep(0.3)
        return int(self.info("memory")["used_memory"])

    def version(self) -> str:
        """Name and version."""
        info = self.info("server")
        name = "Valkey" if info.get("server_name") == "valkey" else "Redis"
        return f"{name} {info.get('valkey_version', info['redis_version'])}"
