"""Schedulers that send the due ticks of many schedules in rows, beside each other, and stand or are killed within a row.

Each is a thread that stands before each of its commands, and between the calls of a row, until it is let go on, at once or
hours later: what it has put together long ago then goes on its way. 30 scenes by default, or as many as ONCUE_ROW_SCENES says.
"""

from __future__ import annotations

import os
import random

import pytest

from oncue.common.configtypes import ScheduleConfig
from oncue.scheduler.schedules import apply
from tests.chaos.actors import Actor, have_them_stand, live
from tests.support.product import HOUR_MS, MINUTE_MS, FixedClock, Passes, app_on, opened
from tests.support.servers import RedisServer

SCENES = int(os.environ.get("ONCUE_ROW_SCENES", "30"))
PAUSES_MS = (1, MINUTE_MS, HOUR_MS // 3, HOUR_MS)


def schedule(name: str, draw: random.Random) -> ScheduleConfig:
    return ScheduleConfig(
        name,
        "0 * * * *",
        "UTC",
        "default",
        None,
        catch_up=draw.choice(["latest", "all", "skip"]),
        overlap=draw.choice(["skip", "queue", "allow", "replace"]),
        jitter_s=draw.choice([0, 0, 600]),
    )


def play(draw: random.Random, clock: FixedClock, schedulers: list[Passes]) -> list[Actor]:
    """Every pass that somebody has made, all of them at their end; one scheduler makes one at a time."""
    busy: dict[int, Actor] = {}
    actors: list[Actor] = []
    for _ in range(draw.randint(10, 60)):
        free = [n for n in range(len(schedulers)) if n not in busy or busy[n].is_done]
        what = draw.choices(["come", "go on", "pass"], [4, 8, 2])[0]
        if what == "come" and free:
            busy[free[0]] = Actor("fire", schedulers[free[0]])
            actors.append(busy[free[0]])
        elif what == "pass":
            clock.ms += draw.choice(PAUSES_MS)
        elif left := live(actors):
            draw.choice(left).go_on(draw)
    while left := live(actors):
        draw.choice(left).go_on(draw)
    return actors


def test_each_tick_of_many_schedules_is_decided_about_once_though_a_row_of_them_ends_anywhere(
    valkey: RedisServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FixedClock()
    have_them_stand(monkeypatch)
    with opened(valkey, namespace, clock=clock) as store:
        app, schedulers = app_on(store), [Passes(store) for _ in range(3)]
        for seed in range(SCENES):
            draw = random.Random(seed)
            clock.ms += -clock.ms % HOUR_MS
            start_ms = clock.ms
            names = [f"s{seed}-{n}" for n in range(draw.choice([3, 20, 40]))]
            apply(store, [schedule(name, draw) for name in names], f"/etc/{seed}.yaml")
            clock.ms += HOUR_MS
            actors = play(draw, clock, schedulers)
            assert [actor.error for actor in actors if actor.error] == [], seed
            clock.ms += HOUR_MS - clock.ms % HOUR_MS + HOUR_MS // 2
            schedulers[0]()
            hours = list(range(start_ms + HOUR_MS, clock.ms, HOUR_MS))
            for name in names:
                history = app.schedules.history(name)
                decided = [event for event in history if event["what"] in ("fired", "skipped", "missed")]
                assert sorted(event["planned"] for event in decided) == hours, (seed, name)
                app.schedules.remove(name, for_good=True)
