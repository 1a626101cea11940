"""The server under test: a redis-server of this machine (or the embedded Valkey), on loopback, in a directory of its own."""

import os
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import redis

from bench import processes
from bench.ports import free_port
from bench.traces import wait
from oncue.common.embedded import server_binary
from oncue.common.link import OLDEST_SERVER

_ANSWER_S = 30.0
"""What the server may take at most for an answer to the harness: no peer's script blocks it for as long."""


@cache
def program() -> str:
    """BENCH_SERVER, or a redis-server that oncue takes, or the server that oncue brings."""
    if named := os.environ.get("BENCH_SERVER"):
        return named
    found = shutil.which("redis-server")
    if found and not _is_old(found):
        return found
    return str(server_binary())


def _is_old(path: str) -> bool:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    version = re.search(r"v=(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) >= OLDEST_SERVER:
        return False
    print(f"{path} is too old for oncue ({version[0]}): its embedded server instead", file=sys.stderr)
    return True


class Server:
    """One server process. Without AOF it writes nothing to disk."""

    def __init__(self, directory: Path, aof: bool = False) -> None:
        self._directory = directory
        self._aof = aof
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(port=self.port, decode_responses=True, protocol=2, socket_timeout=_ANSWER_S)

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
        process = self._process = processes.start([program(), *words], environment, self._directory, log)
        wait(lambda: self._answers(process.pid) or processes.has_ended(process), _ANSWER_S, 0.002)
        if processes.has_ended(process) or not self._answers(process.pid):
            raise RuntimeError(f"the server did not come up: {log.read_text()[-500:]}")

    def _answers(self, pid: int) -> bool:
        """Whether it is the process ``pid`` that answers: another server at the port would be measured in its place."""
        try:
            return bool(self.client.ping()) and self.info("server")["process_id"] == pid
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None, "not started"
        processes.kill(self._process)

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
        """How often each command was called, those inside scripts included; INFO, the harness's own, is left out."""
        stats = self.info("commandstats")
        return {
            name.removeprefix("cmdstat_"): int(value["calls"])
            for name, value in stats.items()
            if name != "cmdstat_info"
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
