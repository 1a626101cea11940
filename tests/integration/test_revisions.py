"""Two hosts, two versions of a file: the store never flaps between them, and a deployment has the last word."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oncue import App
from oncue.common import walltime
from oncue.common.config import load
from oncue.common.configtypes import ScheduleConfig
from oncue.common.store import Store
from oncue.common.zonerules import own_rules
from oncue.scheduler import schedules
from oncue.scheduler.schedules import apply, changes
from oncue.scheduler.standing import infos
from tests.support.fixtures import valkey_store
from tests.support.moving import queues_of
from tests.support.processes import Process
from tests.support.product import HOUR_MS, START_MS, FixedClock, Passes, opened
from tests.support.servers import RedisServer

store = valkey_store(shards=2)

FILE = "/etc/oncue.yaml"


def entry(name: str, cron: str = "0 * * * *", queue: str = "reports") -> ScheduleConfig:
    return ScheduleConfig(name, cron, "UTC", queue, None)


OLD = [entry("one"), entry("gone"), entry("other", queue="mail")]
NEW = [entry("one", "30 * * * *"), entry("other", queue="mail"), entry("fresh")]


def states(store: Store) -> dict[str, str]:
    return {found.name: found.state for found in infos(store)}


def crons(store: Store) -> dict[str, str | None]:
    return {found.name: found.config.cron for found in infos(store) if found.config is not None}


def test_a_scheduler_with_last_months_file_beside_newer_ones_changes_nothing(store: Store) -> None:
    assert sorted(apply(store, OLD, FILE).changes) == ["created gone", "created one", "created other"]
    assert sorted(apply(store, NEW, FILE).changes) == ["created fresh", "edited one", "removed gone"]
    before = infos(store)
    for _ in range(2):
        assert apply(store, OLD, FILE) == ([], True)
        assert apply(store, NEW, FILE) == ([], False)
    assert infos(store) == before
    assert states(store)["gone"] == "removed"


def test_a_deployment_goes_back_to_an_older_file_and_then_the_newer_one_is_old(store: Store) -> None:
    for version in (OLD, NEW):
        apply(store, version, FILE)
    planned = {change.name: change.what for change in changes(store, OLD, FILE)}
    assert planned == {"one": "edited", "gone": "created", "fresh": "removed"}
    assert not apply(store, OLD, FILE, forced=True).is_old
    assert crons(store)["one"] == "0 * * * *"
    assert apply(store, NEW, FILE) == ([], True)
    assert changes(store, OLD, FILE) == []


def test_a_reload_goes_back_to_an_older_file_where_nobody_has_put_another_one_since(
    run_oncue: Callable[..., Process],
    env: dict[str, str],
    valkey: RedisServer,
    namespace: str,
    tmp_path: Path,
) -> None:
    file = tmp_path / "oncue.yaml"

    def write(name: str) -> None:
        file.write_text(f'schedules: {{{name}: {{cron: "0 0 * * *"}}}}\n')

    def start() -> Process:
        process = run_oncue("scheduler", "--config", file, env=env)
        process.wait_for_line("at work on")
        return process

    def reload(process: Process, times: int) -> None:
        process.child.send_signal(signal.SIGHUP)
        process.wait_for_line(rf"(?s)(was read again.*){{{times}}}")

    write("a")
    process = start()
    with opened(valkey, namespace) as store:
        write("b")
        reload(process, 1)
        assert states(store) == {"a": "removed", "b": "active"}
        write("a")
        reload(process, 2)
        assert states(store) == {"a": "active", "b": "removed"}
        assert "older set" not in process.output

        write("b")
        start().wait_for_line("an older set, which has been replaced")
        write("c")
        other = start()
        write("b")
        reload(process, 3)
        process.wait_for_line("an older set, which has been replaced")
        assert states(store) == {"a": "removed", "b": "removed", "c": "active"}
        reload(process, 4)
        assert states(store)["c"] == "active"
        reload(other, 1)
        assert states(store) == {"a": "removed", "b": "active", "c": "removed"}


def test_a_start_that_died_half_way_is_completed_by_the_next_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(store, OLD, FILE)
    with monkeypatch.context() as patch:
        patch.setattr("oncue.scheduler.schedules._put", lambda *args: iter(()))
        apply(store, NEW, FILE)
    assert crons(store)["one"] == "0 * * * *"
    assert sorted(apply(store, NEW, FILE).changes) == ["created fresh", "edited one"]


def test_an_older_start_that_is_overtaken_puts_nothing_over_the_newer_file(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = schedules._put

    def overtaken(*args: Any) -> Any:
        monkeypatch.setattr(schedules, "_put", put)
        apply(store, NEW, FILE)
        return put(*args)

    monkeypatch.setattr(schedules, "_put", overtaken)
    apply(store, OLD, FILE)
    assert crons(store) == {found.name: found.cron for found in NEW}


def test_what_was_changed_by_hand_stays_until_the_file_changes(app: App, store: Store) -> None:
    apply(store, OLD, FILE)
    app.schedules.change("one", cron="15 * * * *")
    assert apply(store, OLD, FILE).changes == []
    assert crons(store)["one"] == "15 * * * *"
    assert "edited one" in apply(store, NEW, FILE).changes


def test_a_host_that_lacks_a_zone_knows_the_file_as_the_same(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "oncue.yaml"
    new = 'schedules:\n  one: {cron: "0 * * * *"}\n  there: {cron: "0 0 * * *", timezone: Europe/Kyiv}\n'
    file.write_text(new.replace("0 0 *", "0 1 *"))
    before = load(str(file), {}, {})
    apply(store, before.schedules.values(), FILE, before.faulty)
    file.write_text(new)
    knows = load(str(file), {}, {})
    with monkeypatch.context() as patch:
        # The name is one of 2022: tz data of before has no such zone.
        patch.setattr(walltime, "own_rules", lambda key: {}[key] if key == "Europe/Kyiv" else own_rules(key))
        patch.setattr(walltime, "_shared", walltime.WallClock)
        lacks = load(str(file), {}, {})
    assert (set(lacks.faulty), set(knows.faulty)) == ({"there"}, set())
    for config in (lacks, knows, lacks, knows):
        assert not apply(store, config.schedules.values(), FILE, config.faulty).is_old
    assert crons(store)["there"] == "0 0 * * *"
    file.write_text(new.replace("0 0 *", "0 2 *"))
    with monkeypatch.context() as patch:
        patch.setattr(walltime, "own_rules", lambda key: {}[key] if key == "Europe/Kyiv" else own_rules(key))
        patch.setattr(walltime, "_shared", walltime.WallClock)
        newer = load(str(file), {}, {})
    # An edit of what it cannot use is a new revision for it, too.
    assert not apply(store, newer.schedules.values(), FILE, newer.faulty).is_old
    assert apply(store, knows.schedules.values(), FILE, knows.faulty).is_old


def test_only_schedules_of_that_file_are_removed_and_pruning_forgets_them(app: App, store: Store) -> None:
    app.schedules.create("by-hand", cron="0 0 * * *")
    apply(store, [entry("theirs")], "/etc/other.yaml")
    apply(store, OLD, FILE)
    apply(store, [entry("one")], FILE)
    assert {name for name, state in states(store).items() if state == "active"} == {
        "by-hand",
        "theirs",
        "one",
    }
    assert sorted(apply(store, [entry("one")], FILE, forced=True, prune=True).changes) == [
        "pruned gone",
        "pruned other",
    ]
    assert set(states(store)) == {"by-hand", "theirs", "one"}


def test_a_pause_survives_new_files_and_restarts(app: App, store: Store, clock: FixedClock) -> None:
    apply(store, OLD, FILE)
    app.schedules.pause("one", by="ada", why="audit")
    apply(store, NEW, FILE)
    clock.ms = START_MS + 5 * HOUR_MS
    Passes(store)()
    found = app.schedules.get("one")
    assert (found.state, found.by, found.fired) == ("paused", "ada", 0)


def test_a_schedule_whose_queue_moves_to_another_shard_goes_on_there_alone(
    app: App, store: Store, clock: FixedClock
) -> None:
    queues = queues_of(store)
    apply(store, [entry("one", queue=queues[0])], FILE)
    assert apply(store, [entry("one", queue=queues[1])], FILE).changes == ["edited one"]
    clock.ms = START_MS + HOUR_MS
    Passes(store)()
    assert {queue: sum(states.values()) for queue, states in store.counts().items()} == {queues[1]: 1}
    assert [found.state for found in app.schedules.list()] == ["active"]


def test_a_scheduler_process_with_an_old_file_says_so_and_leaves_it_aside(
    run_oncue: Callable[..., Process],
    env: dict[str, str],
    valkey: RedisServer,
    namespace: str,
    tmp_path: Path,
) -> None:
    file = tmp_path / "oncue.yaml"
    contents = ['schedules: {a: {cron: "0 0 * * *"}}\n', 'schedules: {b: {cron: "0 0 * * *"}}\n']
    for number, expected in (
        (0, "created a"),
        (1, "created b"),
        (0, "an older set, which has been replaced"),
    ):
        file.write_text(contents[number])
        process = run_oncue("scheduler", "--config", file, env=env)
        process.wait_for_line(expected)
        process.wait_for_line("at work on")
        process.term()
        assert process.wait() == 0
    with opened(valkey, namespace) as store:
        assert states(store) == {"a": "removed", "b": "active"}
