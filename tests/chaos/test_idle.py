"""What a cluster costs that has nothing to do, as real processes (P20)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from oncue import NewTask
from oncue.common.clock import monotonic_s
from tests.chaos.crew import Crew
from tests.support.servers import Monitor, RedisServer
from tests.support.waiting import eventually, pause

WATCHED_S = 62
"""Longer than a blocking read lasts, so that its end is seen."""

COMMANDS_PER_MINUTE = 12
CPU_SHARE = 0.002
"""Twice the aim: a minute's wakes are few, but the kernel counts some processors' time in steps of 10 ms."""

RSS_BYTES = 45 * 1024 * 1024
STOPPER_BYTES = 12 * 1024 * 1024
"""Of the process that a worker starts with its first task (docs/decisions/0021), most of it the interpreter's own file."""


@pytest.mark.slow
def test_an_idle_cluster_of_processes_costs_next_to_nothing(
    crew: Crew, valkey: RedisServer, record_property: Callable[[str, object], None]
) -> None:
    """Two schedulers, four workers of ten threads, a task that is due in an hour, and 1,000 behind it."""
    # A crew remembers the warm-up task below until after the watch: to forget it costs each scheduler some calls, once.
    members = [crew.scheduler() for _ in range(2)] + [crew.worker() for _ in range(4)]
    for member in members:
        member.wait_until_at_work()
    crew.app.schedule_many([NewTask(crew.now_ms() / 1000 + 3600 + n, 0) for n in range(1001)])
    # One task through all of it: what is imported at the first use is there. Then there are 6 commands per minute, the
    # ends of the blocks, and a look of each scheduler at the time when the lease would have ended.
    crew.app.schedule_task(None, 0)
    crew.wait_for(done=1, delayed=1001)
    eventually(lambda: int(valkey.admin.info("clients")["blocked_clients"]) == 6, 10, "all asleep")
    before = [member.process.cpu_seconds() for member in members]
    began = monotonic_s()
    with Monitor(valkey) as seen:
        pause(WATCHED_S)
    minutes = (monotonic_s() - began) / 60
    asked = Counter(one.command for one in seen.commands if not one.lua)
    shares = [
        (member.process.cpu_seconds() - cpu) / (minutes * 60)
        for member, cpu in zip(members, before, strict=True)
    ]
    sizes = [member.process.rss_bytes() for member in members]
    figures = {
        "commands_per_minute": round(asked.total() / minutes, 1),
        "cpu_percent": [round(100 * share, 3) for share in shares],
        "rss_mib": [round(size / 2**20, 1) for size in sizes],
    }
    print(figures, dict(asked))
    for name, value in figures.items():
        record_property(name, value)
    assert asked.total() / minutes <= COMMANDS_PER_MINUTE, asked
    assert max(shares) < CPU_SHARE
    assert max(sizes) <= RSS_BYTES
    stoppers = [child for member in members for child in member.process.children()]
    assert 1 <= len(stoppers) <= 4
    assert max(child.memory_info().rss for child in stoppers) <= STOPPER_BYTES
