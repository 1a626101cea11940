"""Schedulers that fire one schedule while others edit, pause, trigger, backfill and cancel, in drawn orders, some killed.

Each is a thread that stands before each of its commands until it is let go on, at once or hours later; workers finish,
fail and lose what they run. 200 scenes by default, or as many as ONCUE_TICK_SCENES says.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pytest

from oncue import App, Task
from oncue.common.configtypes import ScheduleConfig
from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.schedules import apply
from tests.chaos.actors import Actor, have_them_stand, live
from tests.support.product import HOUR_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer

SCENES = int(os.environ.get("ONCUE_TICK_SCENES", "200"))
QUEUE, FILE = "default", "/etc/oncue.yaml"
MOST_AT_ONCE = 5
PAUSES_MS = (1, 20_000, HOUR_MS // 6, HOUR_MS // 3, HOUR_MS, 3 * HOUR_MS)
STARTED = ("delayed", "ready", "leased")


class Stage(NamedTuple):
    """What all scenes have in common."""

    store: Store
    clock: FixedClock
    app: App
    hands: Hands
    schedulers: list[Passes]


@pytest.fixture
def stage(valkey: RedisServer, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    clock = FixedClock()
    have_them_stand(monkeypatch)
    with opened(valkey, namespace, clock=clock) as store:
        schedulers = [Passes(store) for _ in range(3)]
        yield Stage(store, clock, app_on(store), Hands(store, [QUEUE]), schedulers)


class Scene:
    """One schedule, those who have to do with it, and how often each of its tasks was done."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage, self.draw, self.name = stage, random.Random(seed), f"one-{seed}"
        self.start_ms = stage.clock.ms
        self.done: Counter[str] = Counter()
        self.running: list[Task] = []
        self.busy: dict[int, Actor] = {}
        self.settings = self._settings()
        stage.app.schedules.create(self.name, **self.settings)

    def _settings(self) -> dict[str, Any]:
        draw = self.draw
        settings: dict[str, Any] = {"catch_up": draw.choice(["latest", "skip"])}
        settings["overlap"] = draw.choice(["skip", "queue", "allow", "replace"])
        if draw.random() < 0.25:
            return settings | {"every_s": 1800, "from_end": True}
        if draw.random() < 0.4:
            settings["jitter_s"] = 1200
        return settings | {"cron": "0 * * * *", "catch_up": draw.choice(["latest", "skip", "all"])}

    @property
    def may_overlap(self) -> bool:
        return self.settings["overlap"] == "allow" and not self.counts_from_end

    @property
    def counts_from_end(self) -> bool:
        return "from_end" in self.settings

    def play(self) -> list[Actor]:
        """Everybody who came, all of them at their end."""
        actors: list[Actor] = []
        for _ in range(self.draw.randint(10, 60)):
            what = self.draw.choices(["come", "go on", "work", "pass"], [7, 8, 3, 2])[0]
            if what == "come" and len(live(actors)) < MOST_AT_ONCE:
                actors.append(self.actor())
            elif what == "work":
                self.work()
            elif what == "pass":
                self.stage.clock.ms += self.draw.choice(PAUSES_MS)
            elif left := live(actors):
                self.draw.choice(left).go_on(self.draw)
        while left := live(actors):
            self.draw.choice(left).go_on(self.draw)
        return actors

    def actor(self) -> Actor:
        schedules, draw = self.stage.app.schedules, self.draw
        since, until = sorted(draw.uniform(self.start_ms - HOUR_MS, self.stage.clock.ms) for _ in range(2))
        acts: dict[str, Callable[[], object]] = {
            "change": partial(schedules.change, self.name, **self.changed()),
            "apply": partial(self.apply, draw.randrange(3), forced=draw.random() < 0.5),
            "pause": partial(schedules.pause, self.name),
            "resume": partial(schedules.resume, self.name),
            "trigger": partial(schedules.trigger, self.name),
        }
        if not self.counts_from_end:
            acts["backfill"] = partial(
                schedules.backfill, self.name, instant(round(since)), instant(round(until))
            )
        free = [n for n in range(3) if n not in self.busy or self.busy[n].is_done]
        if free and draw.random() < 0.4:
            self.busy[free[0]] = Actor("fire", self.stage.schedulers[free[0]])
            return self.busy[free[0]]
        what = draw.choice(sorted(acts))
        return Actor(what, acts[what])

    def changed(self) -> dict[str, Any]:
        if "jitter_s" in self.settings:
            return {"jitter_s": self.draw.choice([0, 300, 1200, 3000])}
        return {"priority": self.draw.randrange(10)}

    def apply(self, number: int, *, forced: bool) -> object:
        """One of three revisions of a file; once replaced, it changes nothing unless forced."""
        config = ScheduleConfig(self.name, None, "UTC", QUEUE, None, priority=number)
        return apply(self.stage.store, [replace(config, **self.settings)], FILE, forced=forced)

    def work(self) -> None:
        hands = self.stage.hands
        if not self.running or self.draw.random() < 0.4:
            self.running += hands.reserve(self.draw.choice([1, 100]))
            assert self.may_overlap or len(self.ids(*STARTED)) <= 1, self.ids(*STARTED)
            return
        task = self.running.pop(self.draw.randrange(len(self.running)))
        how = self.draw.choices(["complete", "bury", "retry", "lose", "cancel"], [6, 1, 1, 1, 2])[0]
        if how == "complete":
            self.complete(task)
        elif how == "bury":
            hands.bury(task)
        elif how == "retry":
            hands.retry(task, self.stage.clock.ms + 1000)
        elif how == "cancel":
            self.running.append(task)
            self.stage.app.cancel_many(
                self.draw.sample(waiting, 1) if (waiting := self.ids("blocked")) else []
            )

    def complete(self, *tasks: Task) -> None:
        for task, answer in zip(tasks, self.stage.hands.complete(*tasks), strict=True):
            self.done[task.id] += answer

    def ids(self, *states: str) -> list[str]:
        shard = self.stage.store.shards[0]
        found = sorted(text.decode() for text in shard.command("HKEYS", shard.keys.records))
        own = [one for one in found if one.startswith((f"{self.name}@", f"{self.name}+"))]
        return [one for one in own if self.stage.app.get(one).state in states]

    def finish(self) -> None:
        """Six hours in which nobody disturbs."""
        if self.stage.app.schedules.get(self.name).state == "paused":
            self.stage.app.schedules.resume(self.name)
        for _ in range(12):
            self.stage.clock.ms += HOUR_MS // 2
            while True:
                self.stage.schedulers[0]()
                self.running += self.stage.hands.reserve()
                if not self.running:
                    break
                self.complete(*self.running)
                self.running = []

    def decided(self) -> list[int]:
        """The hours of the start's day about whose ticks it was decided, rising."""
        hours: list[int] = []
        for event in self.stage.app.schedules.history(self.name):
            if event["what"] in ("fired", "skipped", "missed"):
                hours += range(
                    event["planned"] - self.start_ms,
                    event.get("to", event["planned"]) - self.start_ms + 1,
                    HOUR_MS,
                )
        return sorted(at // HOUR_MS for at in hours)

    def next_ones(self) -> int:
        """How often its next tick stands anywhere: in the timetable, or behind a run."""
        shard, member = self.stage.store.shards[0], f"t{self.name}".encode()
        followers: list[bytes] = shard.command("HVALS", shard.keys.followers)
        behind = [text for text in followers if text.endswith(member)]
        return len(behind) + (shard.command("ZSCORE", shard.keys.timetable, member) is not None)

    def hours(self) -> list[int]:
        """Those before its next tick, the first that is still to come."""
        next_ms = self.stage.app.schedules.get(self.name).next_ms or 0
        assert next_ms > self.stage.clock.ms - HOUR_MS
        return list(range(1, (next_ms - self.start_ms) // HOUR_MS))


@pytest.mark.timeout(300 + 4 * SCENES)
def test_each_tick_of_a_schedule_is_decided_about_once_whatever_is_done_to_it_meanwhile(stage: Stage) -> None:
    for seed in range(SCENES):
        stage.clock.ms += -stage.clock.ms % HOUR_MS
        scene = Scene(stage, seed)
        actors = scene.play()
        seen = (seed, scene.settings, [actor.what for actor in actors])
        assert [actor.error for actor in actors if actor.error] == [], seen
        state = stage.app.schedules.get(scene.name).state
        assert (state, scene.next_ones()) in (("active", 1), ("paused", 0)), seen
        scene.finish()
        assert scene.ids("blocked", *STARTED) == [], seen
        assert [one for one, times in scene.done.items() if times > 1] == [], seen
        if not scene.counts_from_end:
            assert scene.decided() == scene.hours(), seen
        stage.app.schedules.remove(scene.name, for_good=True)
