"""A process of its own that sends a PING every millisecond and reports how long the longest answer took.

``python -m bench.stall PORT`` until standard input ends; then one line of JSON. The figure contains what the machine's
scheduler adds: compare it with the figure of a quiet server (bench/burst.py measures both).
"""

import json
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

from bench import processes


def measure(port: int) -> dict[str, float]:
    """The longest answer time in ms until standard input ends."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    longest_s = 0.0
    while not select.select([sys.stdin], [], [], 0)[0]:
        before = time.perf_counter()
        connection.sendall(b"PING\r\n")
        if not connection.recv(64):
            break
        longest_s = max(longest_s, time.perf_counter() - before)
        time.sleep(0.001)
    return {"max_ms": longest_s * 1000}


class Stall:
    """The process, from the measuring side."""

    def __init__(self, port: int, environment: dict[str, str], root: Path, log: Path) -> None:
        command = [sys.executable, "-m", "bench.stall", str(port)]
        self.process = processes.start(
            command, environment, root, log, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        time.sleep(0.5)

    def end(self) -> float:
        """The longest answer time in ms."""
        out, _ = self.process.communicate(timeout=10)
        return float(json.loads(out)["max_ms"])


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
