"""A single Redis or Valkey server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.ports import free_port
from tests.support.server_process import Kind, ServerProcess

_SETTINGS = {
    "bind": "127.0.0.1",
    "save": "",
    "appendfsync": "everysec",
    "maxmemory-policy": "noeviction",
    "enable-debug-command": "local",
    # The default of 5 s, for more replicas to come, would be most of a failover test's time.
    "repl-diskless-sync-delay": "0",
    # A primary would wait 10 s at its end for a replica that the test has stopped.
    "shutdown-timeout": "0",
}


class RedisServer(ServerProcess):
    """One server on a loopback port or, with `unix`, on a socket in `directory`.

    `config` overrides settings by name, as of the next start; with `aof` every acknowledged write outlives `kill()`.
    """

    shards = 1

    def __init__(
        self,
        kind: Kind,
        directory: Path,
        *,
        port: int | None = None,
        unix: bool = False,
        config: Mapping[str, str] | None = None,
        aof: bool = False,
    ) -> None:
        super().__init__(kind, directory, directory / "s" if unix else port or free_port())
        self.aof = aof
        self.config = dict(config or {})

    def _arguments(self) -> list[str]:
        settings = {
            **_SETTINGS,
            "dir": str(self.directory),
            "port": str(self.port),
            "appendonly": "yes" if self.aof else "no",
            **({"unixsocket": str(self.socket_path)} if self.socket_path else {}),
            **self.config,
        }
        return [word for name, value in settings.items() for word in (f"--{name}", value)]

    @property
    def nodes(self) -> list[RedisServer]:
        return [self]

    def restart(self) -> None:
        """Stop and start again with the same data, also without AOF."""
        if not self.aof:
            self.admin.save()
        self.stop()
        self.start()

    def heal(self) -> None:
        """Undo `stop`, `kill` and `pause`; changed settings stay, so tests change those of servers of their own."""
        if self.running:
            self.resume()
        else:
            self.kill()
            self.start()

    def flush(self) -> None:
        """Remove all keys; cached scripts stay."""
        self.admin.flushall()

    def commandstats(self) -> dict[str, int]:
        """Calls per command in lower case since the server's start or the last `reset_stats`."""
        stats = self.admin.info("commandstats")
        return {name.removeprefix("cmdstat_"): int(entry["calls"]) for name, entry in stats.items()}

    def reset_stats(self) -> None:
        self.admin.config_resetstat()
