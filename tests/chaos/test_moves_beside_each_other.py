"""Several who move, put, take back and remove one schedule at the same time, in every order, some of them killed or asleep.

Each is a thread that stands before each of its commands until it is let go on; who goes on next is drawn. The clock stands
still but for the hours that pass now and then, so all instants are settled by the seed. 150 scenes each by default, or as
many as ONCUE_MOVE_TRIALS says.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import pytest

from oncue import App
from oncue.common.configtypes import ScheduleConfig
from oncue.common.store import Store
from oncue.scheduler.schedules import apply
from oncue.scheduler.standing import Stored, all_by_name
from oncue.scheduler.stranded import take_back
from tests.chaos.actors import Actor, have_them_stand, live
from tests.support.moving import queues_of
from tests.support.product import HOUR_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer

TRIALS = int(os.environ.get("ONCUE_MOVE_TRIALS", "150"))


class Stage(NamedTuple):
    """What all scenes have in common."""

    store: Store
    clock: FixedClock
    app: App
    queues: list[str]
    passes: Passes
    hands: Hands


@pytest.fixture
def stage(valkey: RedisServer, namespace: str) -> Iterator[Stage]:
    clock = FixedClock()
    with opened(valkey, namespace, shards=3, clock=clock) as store:
        queues = queues_of(store)
        yield Stage(store, clock, app_on(store), queues, Passes(store), Hands(store, queues))


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    have_them_stand(monkeypatch)


class Scene:
    """One schedule in three shards, those who change it, and the hours whose tasks have run."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.store, self.clock, self.draw = stage.store, stage.clock, random.Random(seed)
        self.name, self.app, self.queues = f"one-{seed}", stage.app, stage.queues
        self.ran: list[int] = []
        self._stage, self._start_ms = stage, stage.clock.ms
        self.app.schedules.create(
            self.name, cron="0 * * * *", queue=self.queues[0], catch_up="all", overlap="allow"
        )

    def actors(self, whats: Sequence[str]) -> list[Actor]:
        return [Actor(what, self._act(what)) for what in whats]

    def _act(self, what: str) -> Callable[[], object]:
        queue = self.draw.choice(self.queues)
        schedules = self.app.schedules
        acts: dict[str, Callable[[], object]] = {
            "change": partial(schedules.change, self.name, queue=queue),
            "take back": partial(take_back, self.store),
            "remove": partial(schedules.remove, self.name, for_good=True),
            "apply": partial(self.apply, queue),
        }
        return acts[what]

    def apply(self, queue: str) -> object:
        config = ScheduleConfig(self.name, "0 * * * *", "UTC", queue, None, catch_up="all", overlap="allow")
        return apply(self.store, [config], "/etc/oncue.yaml", forced=True)

    def let_go(self, actors: Sequence[Actor]) -> None:
        while left := live(actors):
            self.draw.choice(left).go_on(self.draw)
            if self.draw.random() < 0.07:
                self.pass_ms(self.draw.choice([1, 1000, HOUR_MS // 3]))

    def pass_ms(self, ms: int) -> None:
        self.clock.ms += ms
        self._stage.passes()
        tasks = self._stage.hands.reserve()
        self._stage.hands.complete(*tasks)
        planned = [task.planned_at.timestamp() for task in tasks if task.planned_at]
        self.ran += [int(at * 1000 - self._start_ms) // HOUR_MS for at in planned]

    def standing(self) -> list[Stored]:
        found = [entry for entries in all_by_name(self.store).values() for entry in entries]
        return [entry for entry in found if entry.state != "removed"]

    @property
    def hours(self) -> list[int]:
        """All that have passed."""
        return list(range(1, (self.clock.ms - self._start_ms) // HOUR_MS + 1))

    def end(self) -> None:
        """Nothing is left of it, and the next hour begins."""
        while self.name in all_by_name(self.store):
            self.app.schedules.remove(self.name, for_good=True)
        self.pass_ms(HOUR_MS - self.clock.ms % HOUR_MS)


def settled(scene: Scene, whats: Sequence[str]) -> list[Stored]:
    """What stands when all are done, a scheduler has started, and three hours have passed."""
    actors = scene.actors(whats)
    scene.let_go(actors)
    assert [actor.error for actor in actors if actor.error] == []
    take_back(scene.store)
    if "apply" in whats and any(entry.moved for entry in scene.standing()):
        scene.apply(scene.queues[0])
    for _ in range(3):
        scene.pass_ms(HOUR_MS - scene.clock.ms % HOUR_MS)
    # What a move has left beside one that stands has no ticks, and goes with the next move or file.
    return [entry for entry in scene.standing() if not entry.moved]


def test_of_a_schedule_that_several_move_at_once_one_stands_and_each_tick_runs_once(stage: Stage) -> None:
    for seed in range(TRIALS):
        scene = Scene(stage, seed)
        kinds = scene.draw.choice([("change", "take back"), ("change", "change", "take back", "apply")])
        whats = [scene.draw.choice(kinds) for _ in range(scene.draw.randint(2, 5))]
        standing = settled(scene, whats)
        assert [entry.state for entry in standing] == ["active"], (seed, whats)
        assert sorted(scene.ran) == scene.hours, (seed, whats)
        scene.end()


def test_of_a_schedule_that_is_removed_for_good_while_several_move_it_none_stands(stage: Stage) -> None:
    for seed in range(TRIALS):
        scene = Scene(stage, seed)
        whats = [scene.draw.choice(["change", "take back"]) for _ in range(scene.draw.randint(1, 4))]
        remover, *actors = scene.actors(["remove", *whats])
        for _ in range(scene.draw.randint(0, 60)):
            one_step(scene, actors)
        # Whoever removes is not killed: then it is removed, whatever comes after.
        while not remover.is_done:
            remover.step()
            if scene.draw.random() < 0.5:
                one_step(scene, actors)
        scene.let_go(actors)
        take_back(scene.store)
        assert scene.standing() == [], (seed, whats)
        assert [actor.error for actor in (remover, *actors) if actor.error] == []
        scene.end()


def one_step(scene: Scene, actors: Sequence[Actor]) -> None:
    if left := live(actors):
        scene.draw.choice(left).step()
