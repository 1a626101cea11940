"""Hosts with different tz data, as processes: each local time has one tick, whichever host plans it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oncue import App
from tests.support.commands import ended
from tests.support.processes import Process
from tests.support.product import DAY_MS, HOUR_MS, app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually
from tests.support.zones import ZONE, next_ms, tzif, zone_folder

Start = Callable[..., Process]
PERIOD_S = 3
OFTEN = f"{','.join(map(str, range(0, 60, PERIOD_S)))} 0-59 0-23 * * *"
"""Fixed times, since no field starts with `*`."""


class Host:
    """A host with tz data of its own, and a scheduler that may be killed."""

    def __init__(self, start: Start, env: dict[str, str]) -> None:
        self._start, self.env = start, env

    def begin(self) -> Process:
        self.process = self._start("scheduler", env=self.env)
        self.process.wait_for_line("at work on")
        return self.process


@pytest.fixture
def host(run_oncue: Start, valkey: RedisServer, namespace: str, tmp_path: Path) -> Callable[[str, int], Host]:
    def make(release: str, offset_s: int) -> Host:
        env = zone_folder(tmp_path / release, release, Zone=offset_s)
        return Host(run_oncue, {**env, "ONCUE_URL": valkey.url, "ONCUE_NAMESPACE": namespace})

    return make


@pytest.fixture
def live(valkey: RedisServer, namespace: str, knows: Callable[..., None]) -> Iterator[App]:
    """An app under the server's own clock, on a host with the oldest rules."""
    knows("2090a", 0)
    with opened(valkey, namespace) as store:
        yield app_on(store)


def wait_for_ticks(app: App, number: int) -> int:
    """How many there are, once there are so many more."""
    wanted = len(app.schedules.history("beat")) + number
    eventually(lambda: len(app.schedules.history("beat")) >= wanted, 10 + PERIOD_S * number, "ticks")
    return wanted


@pytest.mark.slow
@pytest.mark.parametrize("offset_s", [1, -1])
@pytest.mark.parametrize("newer_first", [False, True], ids=["older first", "newer first"])
def test_two_hosts_with_different_rules_fire_each_local_time_once(
    live: App, host: Callable[[str, int], Host], newer_first: bool, offset_s: int
) -> None:
    """By the newer rules the clocks of the zone are ahead, or behind, by a second."""
    older, newer = host("2090a", 0), host("2090b", offset_s)
    first, second = (newer, older) if newer_first else (older, newer)
    # All: a start on a busy machine may take longer than from one tick to the next.
    live.schedules.create("beat", cron=OFTEN, timezone=ZONE, overlap="allow", catch_up="all")
    first.begin()
    wait_for_ticks(live, 2)
    second.begin()
    wait_for_ticks(live, 2)
    newer.process.kill()
    wait_for_ticks(live, 2)
    older.process.kill()
    older.begin()
    older.process.wait_for_line(
        f"time zone {ZONE}: the rules of tz data 2090b are in force; this host has 2090a"
    )
    wait_for_ticks(live, 2)

    seconds = [event["planned"] // 1000 for event in live.schedules.history("beat")][::-1]
    shown = [at if at % PERIOD_S == 0 else at + offset_s for at in seconds]
    assert shown == list(range(shown[0], shown[-1] + 1, PERIOD_S)), seconds
    assert {at % PERIOD_S for at in seconds[-6:]} == {-offset_s % PERIOD_S}
    assert live.schedules.get("beat").missed == 0


def test_a_reload_brings_the_tz_data_that_the_host_has_been_given_meanwhile(
    live: App, host: Callable[[str, int], Host], tmp_path: Path, knows: Callable[..., None]
) -> None:
    """Once where the rules in force were its own, and once where they came from another host."""
    half_a_year_on = time.gmtime(time.time() + 180 * DAY_MS / 1000).tm_mon
    live.schedules.create("payroll", cron=f"30 12 15 {half_a_year_on} *", timezone=ZONE)
    before = next_ms(live)
    scheduler = host("2090a", 0)
    scheduler.begin()

    def updated(release: str, hours: int) -> None:
        folder = tmp_path / "2090a"
        (folder / "tzdata.zi").write_text(f"# version {release}\n")
        (folder / "Test" / "Zone").write_bytes(tzif(hours * 3600))
        scheduler.process.child.send_signal(signal.SIGHUP)

    updated("2090b", 1)
    eventually(lambda: next_ms(live) == before - HOUR_MS, what="what was planned is planned anew")
    knows("2090c", 2)
    live.schedules.create("wages", cron="30 12 * * *", timezone=ZONE)
    updated("2090b", 1)
    scheduler.process.wait_for_line("the rules of tz data 2090c are in force")
    updated("2090d", 3)
    eventually(lambda: next_ms(live) == before - 3 * HOUR_MS, what="the newest rules are in force")


@pytest.mark.slow
def test_a_host_without_the_zone_fires_by_the_rules_of_the_store(
    live: App, host: Callable[[str, int], Host], run_oncue: Start, tmp_path: Path
) -> None:
    able = host("2090a", 0)
    bare = Host(run_oncue, {**able.env, **zone_folder(tmp_path / "bare", "2090b")})
    live.schedules.create("beat", cron=OFTEN, timezone=ZONE, overlap="allow", catch_up="all")
    able.begin()
    bare.begin().wait_for_line(
        f"time zone {ZONE}: the rules of tz data 2090a are in force; this host has none"
    )
    wait_for_ticks(live, 1)
    able.process.kill()
    wait_for_ticks(live, 2)
    found = live.schedules.get("beat")
    assert (found.state, found.missed) == ("active", 0)
    (listed,) = ended(run_oncue, "cron", "list", "--json", env=bare.env).json
    assert (listed["state"], listed["valid"], listed["reason"]) == ("active", True, None)


def test_a_diff_tells_the_ticks_by_the_rules_that_are_in_force(
    live: App,
    host: Callable[[str, int], Host],
    run_oncue: Start,
    tmp_path: Path,
    knows: Callable[..., None],
) -> None:
    knows("2090b", 1)
    live.schedules.create("wages", cron="30 12 * * *", timezone=ZONE)
    older = host("2090a", 0)
    file = tmp_path / "oncue.yaml"
    file.write_text(f"schedules: {{payroll: {{cron: '30 12 * * *', timezone: {ZONE}}}}}\n")
    (change,) = ended(run_oncue, "cron", "diff", file, "--json", env=older.env).json
    assert change["next_after"].endswith("T12:30:00+01:00")


@pytest.mark.slow
def test_doctor_says_whose_time_zone_data_differ(
    live: App, host: Callable[[str, int], Host], run_oncue: Start, tmp_path: Path
) -> None:
    older, newer = host("2090a", 0), host("2090b", 60)
    live.schedules.create("beat", cron=OFTEN, timezone=ZONE)

    def said(env: dict[str, str]) -> tuple[str, str, str | None]:
        found = {
            entry["name"]: entry for entry in ended(run_oncue, "doctor", "--json", env=env).json["findings"]
        }
        here, in_force = found["time zone data"], found["time zone rules in force"]
        return here["value"].partition(" ")[0], in_force["value"], in_force["advice"]

    assert said(older.env) == ("2090a", "2090a", None)
    assert said(newer.env) == (
        "2090b",
        "2090a",
        f"this host has newer ones of {ZONE}: a scheduler that starts here brings them",
    )
    newer.begin()
    assert said(newer.env) == ("2090b", "2090b", None)
    assert said(older.env) == (
        "2090a",
        "2090b",
        f"this host has older ones of {ZONE}: update its tz data; it goes by the store's",
    )
