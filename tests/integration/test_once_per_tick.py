"""Exactly once per tick, whoever dies, edits, pauses or sets clocks: the history has one entry per planned instant."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis

from oncue import App
from oncue.common.configtypes import ScheduleConfig
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.schedules import Applied, apply
from tests.support.product import START_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer

TICKS = 1000
SECOND = 1000


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
            return apply(self.store, [config], "/etc/oncue.yaml")
        except Stopped:
            return None


@dataclass
class Books:
    """What the history said, collected before it was cut."""

    client: redis.Redis
    key: bytes
    seen: dict[bytes, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> None:
        texts: Any = self.client.lrange(self.key, 0, -1)  # pyright: ignore[reportArgumentType]
        assert len(texts) == len(set(texts)), "an entry twice"
        self.seen |= {text: json.loads(text) for text in texts}

    def planned(self) -> list[int]:
        found: list[int] = []
        for event in self.seen.values():
            last = event.get("to", event["planned"])
            instants = range(event["planned"], last + 1, SECOND)
            assert len(instants) == event.get("count", 1)
            found += instants
        return sorted(found)


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


def test_a_thousand_ticks_under_schedulers_that_stop_edits_pauses_and_clock_steps_each_have_one_entry(
    crew: list[Mortal], own: App, clock: FixedClock, valkey: RedisServer
) -> None:
    chance = random.Random(11)
    books = Books(valkey.client(), own.store.shards[0].keys.history("beat"))
    worker, runs = Hands(own.store, ("beats",)), Counter[str]()
    assert apply(own.store, [config(0)], "/etc/oncue.yaml").changes == ["created beat"]
    revision = 0

    def file_edit() -> None:
        nonlocal revision
        revision += 1
        apply(own.store, [config(revision)], "/etc/oncue.yaml")
        old = chance.choice(crew).start_with(config(chance.randrange(revision)))
        assert old is None or old.is_old

    def pause() -> None:
        own.schedules.pause("beat", by="test")

    def resume() -> None:
        if own.schedules.get("beat").state == "paused":
            own.schedules.resume("beat")

    def set_back() -> None:
        clock.pass_ms(-chance.randrange(5000))

    def set_forward() -> None:
        clock.pass_ms(chance.randrange(8000))

    upsets: list[Callable[[], None]] = [file_edit, file_edit, pause, resume, resume, set_back, set_forward]
    with ThreadPoolExecutor(len(crew)) as pool:
        step = 0
        while clock.ms < START_MS + TICKS * SECOND:
            step += 1
            clock.pass_ms(chance.choice([300, 700, 1000, 1000, 2000]))
            if chance.random() < 0.15:
                chance.choice(upsets)()
            standing = chance.choice([0, 2, 3, 4, 5, 5])
            for done in [pool.submit(member.one_pass) for member in crew[:standing]]:
                done.result()
            if step % 10 == 0:
                books.read()
                tasks = worker.reserve()
                runs.update(task.id for task in tasks)
                worker.complete(*tasks)
    resume()
    Passes(own.store)()
    books.read()
    while tasks := worker.reserve():
        runs.update(task.id for task in tasks)
        worker.complete(*tasks)

    found = own.schedules.get("beat")
    planned = books.planned()
    assert planned == list(range(START_MS + SECOND, planned[-1] + 1, SECOND))
    assert len(planned) >= TICKS - 10
    assert len(planned) == found.fired + found.skipped + found.missed
    fired = {event["id"] for event in books.seen.values() if event["what"] == "fired"}
    assert len(fired) == found.fired
    assert set(runs) == fired
    assert set(runs.values()) == {1}
    assert found.next_ms == planned[-1] + SECOND
    assert revision > 5
    assert min(found.fired, found.skipped, found.missed) > 20
    print(f"{step} steps, {found.fired} fired, {found.skipped} skipped, {found.missed} missed")
