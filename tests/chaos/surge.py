"""How long until all of very many tasks due at once are reservable, and how long the server stalls meanwhile.

    python -m tests.chaos.surge 1000000

starts a server and a scheduler of its own, puts that many tasks into one second (all of them at one instant; then
spread over each millisecond of a second), and prints what a process that sends PING every millisecond has seen.
`bench` has the first of the two beside other products; here both are held to a bound by a test.
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from oncue import NewTask
from oncue.common.clock import host_now_ms, monotonic_s, sleep_s
from tests.support.processes import Process
from tests.support.product import app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

_CHUNK = 100_000
_PAYLOAD = "x" * 80


class TooLate(Exception):
    """The tasks came due before all was ready for them: give more time ahead."""


@dataclass(frozen=True)
class Surge:
    """What was measured, in ms. ``reservable`` counts from the last due instant."""

    tasks: int
    instants: int
    scheduled_in: float
    reservable: float
    longest_stall: float
    stall_at_rest: float


def measure(
    server: RedisServer, directory: Path, namespace: str, tasks: int, instants: int, rate: int = 15_000
) -> Surge:
    """One run on `server`: `tasks` over so many successive milliseconds, promoted by a scheduler process.

    `rate` is how many a second can be scheduled at least. Raises TooLate where it is less.
    """
    env = {"ONCUE_URL": server.url, "ONCUE_NAMESPACE": namespace}
    with opened(server, namespace) as store:
        app = app_on(store)
        shard = store.shards[0]
        due_ms = shard.now_ms() // 1000 * 1000 + 5000 + tasks * 1000 // rate
        began = monotonic_s()
        chance = random.Random(0)
        for first in range(0, tasks, _CHUNK):
            app.schedule_many(
                [
                    NewTask((due_ms + chance.randrange(instants)) / 1000, _PAYLOAD)
                    for _ in range(first, min(first + _CHUNK, tasks))
                ]
            )
        scheduled_in = monotonic_s() - began
        last_ms = due_ms + instants - 1
        with Process(("scheduler",), directory / "scheduler.txt", env) as scheduler:
            scheduler.wait_for_line("at work on", 30)
            # Pages are opened first; when nothing is due any more, nothing else goes on.
            is_calm = lambda: not shard.command("ZCOUNT", shard.keys.timetable, 0, shard.now_ms())
            eventually(is_calm, 60, "opened pages")
            if host_now_ms() >= due_ms - 1000:
                raise TooLate("the tasks were scheduled too late: give more time ahead")
            words = (server.url, str(due_ms - 900), str(due_ms - 50), str(last_ms + 500))
            command = (sys.executable, "-m", "tests.chaos.surge", "--ping")
            with Process(words, directory / "ping.txt", command=command) as pinging:
                ready = "default:ready"
                sleep_s((due_ms - 20 - host_now_ms()) / 1000)
                while int(shard.command("HGET", shard.keys.counts, ready) or 0) < tasks:
                    assert host_now_ms() < last_ms + 60_000, "not all became ready"
                all_ms = host_now_ms()
                found = pinging.wait_for_line(r"at rest (\S+) ms, in the surge (\S+) ms", 30)
    return Surge(tasks, instants, scheduled_in * 1000, all_ms - last_ms, float(found[2]), float(found[1]))


def ping(url: str, from_ms: int, surge_ms: int, until_ms: int) -> None:
    """Send PING every millisecond, and print the longest wait for a reply before and from `surge_ms` on."""
    import socket
    from urllib.parse import urlsplit

    where = urlsplit(url)
    longest = [0.0, 0.0]
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sleep_s((from_ms - host_now_ms()) / 1000)
        while (now := host_now_ms()) < until_ms:
            asked = monotonic_s()
            connection.sendall(b"PING\r\n")
            connection.recv(64)
            took = monotonic_s() - asked
            part = int(now >= surge_ms)
            longest[part] = max(longest[part], took)
            sleep_s(0.001 - took)
    print(f"at rest {longest[0] * 1000:.2f} ms, in the surge {longest[1] * 1000:.2f} ms", flush=True)


def main(tasks: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with RedisServer("valkey", directory / "server") as server:
            for instants in (1, 1000):
                found = measure(server, directory, f"surge{instants}", tasks, instants)
                print(
                    f"{found.tasks} tasks at {found.instants} instants, scheduled in {found.scheduled_in:.0f} ms:"
                    f" all reservable {found.reservable:.0f} ms after the last was due; longest stall of the server"
                    f" {found.longest_stall:.2f} ms (at rest {found.stall_at_rest:.2f} ms)",
                    flush=True,
                )
                server.flush()


if __name__ == "__main__":
    if sys.argv[1] == "--ping":
        ping(sys.argv[2], *(int(word) for word in sys.argv[3:]))
    else:
        main(int(sys.argv[1]))
