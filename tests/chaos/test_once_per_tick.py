"""Exactly once per tick: two to five schedulers, killed, stopped and started anew, under edits and pauses (P05).

A few rounds of five ticks by default; `make test-ticks` (ONCUE_TICK_ROUNDS=200) makes as many as the product promises to
bear, in 17 minutes. The clock steps in tests/integration/test_once_per_tick.py.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable

import pytest

from oncue.common.clock import host_now_ms
from tests.chaos.crew import Crew, Member, dice
from tests.chaos.moments import SECOND, is_planned, ticks, wait_until
from tests.support.books import Books
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

ROUNDS = int(os.environ.get("ONCUE_TICK_ROUNDS", "5"))
TICKS_A_ROUND = 5
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 12 * ROUNDS)]


class Upsets:
    """The schedulers of a crew, and what happens to them and to their schedule."""

    def __init__(self, crew: Crew, chance: random.Random) -> None:
        self.crew, self.chance = crew, chance
        self.file = crew.schedules(beat="* * * * * *")
        self.revision = 0
        self._edit()
        self.standing = [self._scheduler() for _ in range(5)]
        self.kills = 0

    def _scheduler(self) -> Member:
        return self.crew.scheduler("--config", self.file)

    def _edit(self) -> None:
        self.revision += 1
        entry = f'beat: {{cron: "* * * * * *", overlap: allow, retry: {{max_attempts: {self.revision}}}}}'
        # Put in place whole, as a deployment does: a scheduler that starts may be reading it.
        draft = self.file.with_suffix(".new")
        draft.write_text(f"schedules:\n  {entry}\n")
        draft.replace(self.file)

    def kill_one(self) -> None:
        self.standing.pop(self.chance.randrange(len(self.standing))).kill()
        self.kills += 1

    def stop_one(self) -> None:
        self.standing.pop(self.chance.randrange(len(self.standing))).process.term()

    def freeze_one(self) -> None:
        sleeper = self.chance.choice(self.standing)
        sleeper.process.pause()
        wait_until(host_now_ms() + self.chance.uniform(0, 1.5 * SECOND))
        sleeper.process.resume()

    def edit(self) -> None:
        self._edit()
        self.chance.choice(self.standing).process.child.send_signal(signal.SIGHUP)

    def pause(self) -> None:
        self.crew.app.schedules.pause("beat", by="test")
        wait_until(host_now_ms() + self.chance.uniform(0, 2 * SECOND))
        self.resume()

    def resume(self) -> None:
        if self.crew.app.schedules.get("beat").state == "paused":
            self.crew.app.schedules.resume("beat")

    def one_round(self) -> None:
        """A kill, by chance within milliseconds of a tick, and another upset; then two to five schedulers stand again."""
        ends = host_now_ms() + TICKS_A_ROUND * SECOND
        now = host_now_ms()
        near = now // SECOND * SECOND + SECOND + self.chance.uniform(-3, 8)
        wait_until(self.chance.choice([near, now + self.chance.uniform(0, SECOND)]))
        self.kill_one()
        self.chance.choice([self.stop_one, self.freeze_one, self.edit, self.edit, self.pause])()
        wanted = self.chance.randint(2, 5)
        while len(self.standing) < wanted:
            self.standing.append(self._scheduler())
        wait_until(ends)


def next_of(crew: Crew) -> int | None:
    return crew.app.schedules.get("beat").next_ms


def test_each_planned_instant_has_one_entry_and_one_run_whatever_becomes_of_the_schedulers(
    crew: Crew, valkey: RedisServer, record_property: Callable[[str, object], None]
) -> None:
    upsets = Upsets(crew, dice(5))
    crew.worker("--log-level", "warning")
    books = Books(valkey.client(), crew.store.shards[0].keys.history("beat"))
    eventually(lambda: crew.store.counts(), 30, "a first tick")
    for _ in range(ROUNDS):
        upsets.one_round()
        books.read()
    upsets.resume()
    wait_until(host_now_ms() + 2 * SECOND)
    eventually(lambda: is_planned(next_of(crew)), what="a next tick")
    for member in upsets.standing:
        member.kill()
    eventually(lambda: set(crew.counts()) == {"done"}, what="all ticks done")

    books.read()
    found, planned, fired = crew.app.schedules.get("beat"), books.planned(), books.fired()
    assert planned == list(range(planned[0], planned[-1] + 1, SECOND))
    assert len(planned) >= ROUNDS * TICKS_A_ROUND
    assert len(planned) == found.fired + found.skipped + found.missed
    assert len(fired) == len(set(fired)) == found.fired
    assert ticks(crew.runs())
    assert sorted(run.id for run in crew.runs()) == sorted(fired)
    told = f"{upsets.kills} kills, {found.fired} fired, {found.skipped} skipped, {found.missed} missed"
    record_property("ticks", told)
    print(told)
