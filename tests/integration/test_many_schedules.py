"""Ten thousand schedules: what a start, the memory and a tick cost, and that no step looks at all of them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from oncue.common.clock import monotonic_s
from oncue.common.configtypes import ScheduleConfig
from oncue.common.rule import Rule
from oncue.common.scripts import script
from oncue.common.store import Store
from oncue.scheduler.schedules import apply
from oncue.scheduler.standing import infos
from tests.support.fixtures import valkey_store
from tests.support.product import MINUTE_MS, START_MS, FixedClock, Passes
from tests.support.servers import Monitor, RedisServer

store = valkey_store()

MANY = 10_000
SOON_MS = START_MS + MINUTE_MS
# A busy machine is several times slower than a quiet one; what grows with the number of schedules is slower by far.
SLACK = 5


def config(n: int, cron: str = "0 3 * * *") -> ScheduleConfig:
    return ScheduleConfig(f"schedule-{n}", cron, "Europe/Berlin", f"queue-{n % 50}", {"n": n})


def took(call: Callable[[], object]) -> float:
    began = monotonic_s()
    call()
    return monotonic_s() - began


def watched(server: RedisServer, passes: Passes) -> tuple[float, list[str]]:
    """How long a pass took in seconds, and what it sent; no script looks at a whole hash."""
    with Monitor(server) as monitor:
        seconds = took(passes)
    assert not {"HGETALL", "HSCAN", "HKEYS"} & {seen.command for seen in monitor.commands}
    # EVAL follows an EVALSHA of what the server has not seen yet: once for each script.
    return seconds, [seen.command for seen in monitor.commands if not seen.lua and seen.command != "EVAL"]


def used(server: RedisServer) -> int:
    return int(server.admin.info("memory")["used_memory"])


def resident() -> int:
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_ten_thousand_schedules_cost_little_to_load_to_hold_and_to_fire(
    store: Store,
    clock: FixedClock,
    valkey: RedisServer,
    record_property: Callable[[str, object], None],
) -> None:
    schedules = [config(n) for n in range(MANY - 1)] + [config(MANY, "* * * * *")]
    # Else what the first tick sends depends on the tests before: a server that knows no script is sent it in one more call.
    valkey.admin.script_load(script("fire").text)
    empty, before = used(valkey), resident()
    first_s = took(lambda: apply(store, schedules, "file"))
    held = (used(valkey) - empty) / MANY
    again_s = took(lambda: apply(store, schedules, "file"))
    list_s = took(lambda: infos(store))

    passes = Passes(store)
    # The best of some, of what is over so soon that a machine which stands still for a moment shows more than that.
    start_s = min(took(passes), *(took(Passes(store)) for _ in range(2)))
    grown = (resident() - before) / 2**20
    clock.ms = SOON_MS
    tick_s, sent = watched(valkey, passes)
    assert sent == ["EVALSHA", "EVALSHA"], "what is due, and fire: the definition has been read ahead"
    clock.ms += MINUTE_MS
    _, sent = watched(valkey, Passes(store))
    reading = ["HMGET", "HGET", "HMGET"]
    assert sent[:6] == ["EVALSHA", "EVALSHA", *reading, "EVALSHA"], "a scheduler that begins at that instant"
    for _ in range(2):
        clock.ms += MINUTE_MS
        tick_s = min(tick_s, watched(valkey, passes)[0])

    rules = [Rule(schedule.name, schedule.timing) for schedule in schedules]
    next_s = took(lambda: [rule.next_after(START_MS) for rule in rules])
    clock.ms = START_MS + 86_400_000
    all_s = took(passes)
    assert sum(found.fired + found.skipped for found in infos(store)) == MANY + 4
    figures = {
        "first start s": round(first_s, 2),
        "later start s": round(again_s, 2),
        "list s": round(list_s, 2),
        "first pass ms": round(start_s * 1000, 1),
        "one tick ms": round(tick_s * 1000, 2),
        "next tick us each": round(next_s / MANY * 1e6, 1),
        "all ticks of one instant s": round(all_s, 2),
        "bytes in the store each": round(held),
        "MiB in the process": round(grown, 1),
    }
    record_property("figures", figures)
    print(figures)
    assert first_s < 6 * SLACK
    assert again_s < 1 * SLACK
    assert start_s < 0.05 * SLACK
    assert tick_s < 0.02 * SLACK
    assert next_s / MANY < 50e-6 * SLACK
    assert held < 1500
