"""Schedules of a file under a running scheduler: good ones run, whatever stands beside them or comes later."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from oncue.common.config import load
from oncue.common.rule import Rule
from oncue.common.store import Store
from oncue.common.timing import Timing
from oncue.scheduler.schedules import apply
from oncue.scheduler.standing import infos
from tests.support.commands import ended
from tests.support.fixtures import live_store
from tests.support.processes import Process
from tests.support.product import DAY_MS, HOUR_MS
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

store = live_store()

Start = Callable[..., Process]
GOOD = 'beat: {cron: "* * * * * *", queue: beats}'
BAD_MONTH = 'bad-month: {cron: "0 0 * 13 *"}'
BAD_ZONE = 'bad-zone: {cron: "0 0 * * *", timezone: Mars/Base}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "oncue.yaml"


def write(file: Path, *schedules: str) -> str:
    file.write_text("schedules:\n" + "".join(f"  {line}\n" for line in schedules))
    return str(file)


def names(store: Store) -> list[str]:
    return [entry.name for entry in infos(store) if entry.state != "removed"]


def put(store: Store, path: str) -> list[str]:
    config = load(path, {}, {})
    return apply(store, config.schedules.values(), path, config.faulty).changes


def beats(store: Store) -> int:
    """How many ticks came: without a worker the first one's task waits, and the others are skipped for it."""
    return sum(entry.fired + entry.skipped for entry in infos(store) if entry.name == "beat")


def test_a_schedule_that_left_the_file_leaves_the_store(store: Store, file: Path) -> None:
    put(store, write(file, GOOD, 'other: {cron: "0 0 * * *"}'))
    assert names(store) == ["beat", "other"]
    assert put(store, write(file, GOOD)) == ["removed other"]
    assert names(store) == ["beat"]


def test_a_schedule_that_is_faulty_now_stays_as_it_was(store: Store, file: Path) -> None:
    put(store, write(file, GOOD, 'bad-month: {cron: "0 0 * 12 *"}'))
    assert put(store, write(file, GOOD, BAD_MONTH)) == []
    assert names(store) == ["bad-month", "beat"]


@pytest.mark.parametrize(
    "content", ["", "timezone: UTC\n", "schedules: {}\n", f"schedules: {{{BAD_MONTH}}}\n"]
)
def test_a_file_without_a_usable_schedule_removes_nothing(store: Store, file: Path, content: str) -> None:
    put(store, write(file, GOOD))
    file.write_text(content)
    assert put(store, str(file)) == []
    assert names(store) == ["beat"]


def test_broken_schedules_of_the_file_stop_no_good_one(
    run_oncue: Start, env: dict[str, str], store: Store, file: Path
) -> None:
    """P12, in the file."""
    write(file, BAD_MONTH, GOOD, BAD_ZONE)
    process = run_oncue("scheduler", "--config", file, env=env)
    process.wait_for_line(r"ERROR .*schedules\.bad-month\.cron: month field: found '13'")
    eventually(lambda: beats(store) >= 2, what="two ticks of the good one")
    for name in ("bad-month", "bad-zone"):
        assert process.output.count(f"schedules.{name}") == 1
    found = {
        entry["name"]: entry
        for entry in ended(run_oncue, "cron", "list", "--json", "--config", file, env=env).json
    }
    assert found["beat"]["valid"]
    assert "month field: found '13'" in found["bad-month"]["reason"]
    assert "Mars/Base" in found["bad-zone"]["reason"]
    assert "invalid: " in ended(run_oncue, "cron", "list", "--config", file, env=env).output
    check = ended(run_oncue, "cron", "check", file)
    assert check.code == 1
    assert "Mars/Base" in check.output


def test_broken_schedules_of_the_store_stop_no_good_one(
    run_oncue: Start, env: dict[str, str], store: Store, valkey: RedisServer, file: Path
) -> None:
    """P12, in the store: put there by hand, or by a version that allowed more."""
    put(store, write(file, GOOD))
    (shard,) = store.shards
    body = '{"cron":"%s","timezone":"%s","queue":"beats","data":null,"priority":5,"source":""}'
    broken = {
        "bad-month": body % ("0 0 * 13 *", "UTC"),
        "bad-zone": body % ("0 0 * * *", "Mars/Base"),
        "torn": "{",
    }
    for name, text in broken.items():
        shard.command("HSET", shard.keys.schedules, name, "0" * 32 + text)
        shard.command("ZADD", shard.keys.timetable, shard.now_ms() + 500, f"t{name}")
    process = run_oncue("scheduler", env=env)
    eventually(lambda: beats(store) >= 2, what="two ticks of the good one")
    for name in broken:
        process.wait_for_line(f"schedule {name} is invalid: no scheduler has fired its tick: ")
        assert process.output.count(f"schedule {name} is invalid") == 1
        assert (
            process.output.count(f"schedule {name} cannot be read here and is left to other schedulers") == 1
        )
    found = {entry["name"]: entry for entry in ended(run_oncue, "cron", "list", "--json", env=env).json}
    assert {name for name, entry in found.items() if not entry["valid"]} == set(broken)
    assert "month field: found '13'" in found["bad-month"]["reason"]


@pytest.mark.parametrize("cron", ["* * * * *", "*/5 * * * *"])
def test_an_asterisk_without_quotes_is_explained_and_changes_nothing_on_reload(
    run_oncue: Start, env: dict[str, str], store: Store, file: Path, cron: str
) -> None:
    """P13."""
    process = run_oncue("scheduler", "--config", write(file, GOOD), env=env)
    process.wait_for_line("created beat")
    process.wait_for_line("at work on")
    good = file.read_text()
    file.write_text(f"schedules:\n  beat:\n    cron: {cron}\n")
    process.child.send_signal(signal.SIGHUP)
    process.wait_for_line(
        rf"ERROR .*{file}:3:\d+: .*quote the cron expression.*; what was in force stays in force"
    )
    before = beats(store)
    eventually(lambda: beats(store) > before, what="a tick of the last good set")
    check = ended(run_oncue, "cron", "check", file)
    assert check.code == 1
    assert f"{file}:3:" in check.output
    assert "quote the cron expression" in check.output
    assert "alias" not in check.output
    assert ended(run_oncue, "scheduler", "--config", file, env=env).code == 2
    file.write_text(good + '  more: {cron: "0 0 * * *"}\n')
    process.child.send_signal(signal.SIGHUP)
    process.wait_for_line("created more")
    process.term()
    assert process.wait() == 0


def test_a_reload_waits_for_a_server_that_is_away(run_oncue: Start, tmp_path: Path, file: Path) -> None:
    directory = tmp_path / "server"
    directory.mkdir()
    with RedisServer("valkey", directory, aof=True) as server:
        process = run_oncue("scheduler", "--config", write(file, GOOD), env={"ONCUE_URL": server.url})
        process.wait_for_line("at work on")
        server.stop()
        write(file, GOOD, 'more: {cron: "0 0 * * *"}')
        process.child.send_signal(signal.SIGHUP)
        process.wait_for_line("reading the file again in")
        server.start()
        process.wait_for_line("created more")


@pytest.mark.parametrize("zone", ["Pacific/Apia", "NZ-13", "no zone at all"])
def test_the_zone_of_a_host_changes_no_tick(
    run_oncue: Start, env: dict[str, str], store: Store, file: Path, zone: str
) -> None:
    write(file, 'wall: {cron: "30 2 * * *", timezone: Europe/Berlin}', 'plain: {cron: "30 2 * * *"}')
    at_home = Rule("wall", Timing(cron="30 2 * * *", timezone="Europe/Berlin"))
    words = ("cron", "preview", "wall", "--config", file, "--from", "2026-03-28T00:00Z", "--json")
    previews = [ended(run_oncue, *words, env=host).json for host in (env, env | {"TZ": zone})]
    assert previews[0] == previews[1]
    process = run_oncue("scheduler", "--config", file, env=env | {"TZ": zone})
    process.wait_for_line("at work on")
    found = {entry.name: entry for entry in infos(store)}
    since = found["wall"].created_ms
    assert since is not None
    assert found["wall"].next_ms == at_home.next_after(since)
    assert (found["plain"].next_ms or 0) % DAY_MS == round(2.5 * HOUR_MS)


def test_a_file_that_is_too_large_or_full_of_aliases_is_refused_quickly_by_every_command(
    run_oncue: Start, env: dict[str, str], file: Path
) -> None:
    nested = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 1001))
    large = "schedules:\n" + "".join(f'  s{n:07}: {{cron: "* * * * *"}}\n' for n in range(160_000))
    assert len(large) > 5_000_000
    for text, sentence in (
        (large, "larger than 1048576 bytes"),
        (nested, "an alias for something that holds"),
    ):
        file.write_text(text)
        for command in (("cron", "check", file), ("scheduler", "--config", file)):
            process = run_oncue(*command, env=env)
            assert process.wait() in (1, 2)
            assert sentence in process.output
