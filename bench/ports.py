"""Loopback ports for servers, claimed so that tests and benchmarks side by side never get the same one."""

from __future__ import annotations

import random
import socket

# Below 32768, where Linux begins to pick the local ports of outgoing connections: a connection of somebody
# else cannot take the port between our look and the server's bind.
_RANGE = range(20_000, 32_000)
_claims: list[socket.socket] = []


def free_port() -> int:
    """A TCP port on 127.0.0.1 that is free now and that no other caller gets while this process lives."""
    for port in random.SystemRandom().sample(_RANGE, 1000):
        if _claim(port):
            return port
    raise RuntimeError("no free loopback port among 1000 tried")


def _claim(port: int) -> bool:
    # The claim is the UDP port of the same number: it leaves TCP to the server and ends with this process.
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", port))
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True
