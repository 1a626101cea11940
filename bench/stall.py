"""A process of its own that sends a PING every millisecond and reports how long the longest answer took.

``python -m bench.stall PORT`` until standard input ends; then one line of JSON. The figure contains what the machine's
scheduler adds: compare it with the figure of a quiet server, which ``Stall`` measures first.
"""

import json
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench import processes


def measure(port: int) -> dict[str, float]:
    """Longest and 99.9th percentile of the answer times in ms, until standard input ends."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times: list[float] = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        before = time.perf_counter()
        connection.sendall(b"PING\r\n")
        if not connection.recv(64):
            break
        times.append(time.perf_counter() - before)
        time.sleep(0.001)
    times.sort()
    return {"max_ms": times[-1] * 1000, "p999_ms": times[int(len(times) * 0.999)] * 1000, "pings": len(times)}


class Stall:
    """The process, from the measuring side."""

    def __init__(self, port: int, environment: dict[str, str], root: Path, log: Path) -> None:
        command = [sys.executable, "-m", "bench.stall", str(port)]
        self._process = processes.start(
            command, environment, root, log, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        time.sleep(0.5)

    def end(self) -> dict[str, Any]:
        """What it has measured."""
        out, _ = self._process.communicate(timeout=10)
        found: dict[str, Any] = json.loads(out)
        return found

    def kill(self) -> None:
        """Ends it without a result."""
        processes.kill(self._process)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
