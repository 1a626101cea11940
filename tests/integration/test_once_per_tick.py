"""Exactly once per tick, whoever dies, edits, pauses or sets clocks: the history has one entry per planned instant."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from oncue import App
from oncue.common.configtypes import ScheduleConfig
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.schedules import Applied, apply
from tests.support.books import SECOND_MS, Books
from tests.support.product import START_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer

TICKS = 1000
FILE = "/etc/oncue.yaml"


class Stopped(Exception):
    """A scheduler that ended in the middle of its work."""


@dataclass
class Mortal:
    """One scheduler, with a connection of its own; it may stop before any call that it makes, or just after it."""

    store: Store
    chance: random.Random
    passes: Passes = field(init=False)

    def __post_init__(self) -> None:
        self.passes = Passes(self.store)
        for shard in self.store.shards:
            self._make_mortal(shard)

    def _make_mortal(self, shard: Shard) -> None:
        call = shard.call

        def mortal(*args: Any) -> Any:
            if self.chance.random() < 0.03:
                raise Stopped
            answer = call(*args)
            if self.chance.random() < 0.03:
                raise Stopped
            return answer

        shard.call = mortal  # type: ignore[assignment,method-assign]

    def one_pass(self) -> None:
        try:
            self.passes()
        except Stopped:
            self.passes = Passes(self.store)

    def start_with(self, config: ScheduleConfig) -> Applied | None:
        """What a start does with a file."""
        try:
            return apply(self.store, [config], FILE)
        except Stopped:
            return None


def config(revision: int) -> ScheduleConfig:
    return ScheduleConfig("beat", "* * * * * *", "UTC", "beats", {"revision": revision}, overlap="allow")


@pytest.fixture
def crew(valkey: RedisServer, namespace: str, clock: FixedClock) -> Iterator[list[Mortal]]:
    chance = random.Random(7)
    with ExitStack() as stack:
        stores = [stack.enter_context(opened(valkey, namespace, clock=clock)) for _ in range(5)]
        yield [Mortal(store, random.Random(chance.random())) for store in stores]


@pytest.fixture
def own(valkey: RedisServer, namespace: str, clock: FixedClock) -> Iterator[App]:
    with opened(valkey, namespace, clock=clock) as store:
        yield app_on(store)


@dataclass
class Upsets:
    """What happens to the schedule between two passes."""

    crew: list[Mortal]
    own: App
    clock: FixedClock
    chance: random.Random
    revision: int = 0

    def begin(self) -> None:
        assert apply(self.own.store, [config(0)], FILE).changes == ["created beat"]

    def one(self) -> None:
        edit, resume, clock = self.file_edit, self.resume, self.clock_step
        self.chance.choice([edit, edit, self.pause, resume, resume, clock, clock])()

    def file_edit(self) -> None:
        self.revision += 1
        apply(self.own.store, [config(self.revision)], FILE)
        old = self.chance.choice(self.crew).start_with(config(self.chance.randrange(self.revision)))
        assert old is None or old.is_old

    def pause(self) -> None:
        self.own.schedules.pause("beat", by="test")

    def resume(self) -> None:
        if self.own.schedules.get("beat").state == "paused":
            self.own.schedules.resume("beat")

    def clock_step(self) -> None:
        self.clock.pass_ms(self.chance.choice([-self.chance.randrange(5000), self.chance.randrange(8000)]))


def run_all(worker: Hands, runs: Counter[str]) -> None:
    while tasks := worker.reserve():
        runs.update(task.id for task in tasks)
        worker.complete(*tasks)


def test_a_thousand_ticks_under_schedulers_that_stop_edits_pauses_and_clock_steps_each_have_one_entry(
    crew: list[Mortal], own: App, clock: FixedClock, valkey: RedisServer
) -> None:
    chance = random.Random(11)
    books = Books(valkey.client(), own.store.shards[0].keys.history("beat"))
    worker, runs = Hands(own.store, ("beats",)), Counter[str]()
    upsets = Upsets(crew, own, clock, chance)
    upsets.begin()
    step = 0
    with ThreadPoolExecutor(len(crew)) as pool:
        while clock.ms < START_MS + TICKS * SECOND_MS:
            step += 1
            clock.pass_ms(chance.choice([300, 700, 1000, 1000, 2000]))
            if chance.random() < 0.15:
                upsets.one()
            standing = chance.choice([0, 2, 3, 4, 5, 5])
            for done in [pool.submit(member.one_pass) for member in crew[:standing]]:
                done.result()
            if step % 10 == 0:
                books.read()
                run_all(worker, runs)
    upsets.resume()
    Passes(own.store)()
    books.read()
    run_all(worker, runs)

    found, planned, fired = own.schedules.get("beat"), books.planned(), books.fired()
    assert planned == list(range(START_MS + SECOND_MS, planned[-1] + 1, SECOND_MS))
    assert len(planned) >= TICKS - 10
    assert len(planned) == found.fired + found.skipped + found.missed
    assert len(fired) == len(set(fired)) == found.fired
    assert set(runs) == set(fired)
    assert set(runs.values()) == {1}
    assert found.next_ms == planned[-1] + SECOND_MS
    assert upsets.revision > 5
    assert min(found.fired, found.skipped, found.missed) > 20
    print(f"{step} steps, {found.fired} fired, {found.skipped} skipped, {found.missed} missed")
