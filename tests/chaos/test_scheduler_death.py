"""Schedulers that are killed, restarted or paused around the instants that they are there for (P05, P06)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncue import NewTask
from oncue.common.clock import host_now_ms
from oncue.scheduler.standing import infos
from tests.chaos.crew import Crew, Member, dice
from tests.chaos.moments import SECOND, ticks, wait_until
from tests.support.waiting import eventually, pause

ONE_PASS_MS = 500
"""How long after a tick a living scheduler may have taken to fire it, on a busy machine."""


def next_tick_ms(crew: Crew) -> int:
    (schedule,) = infos(crew.store)
    assert schedule.next_ms is not None, schedule
    return schedule.next_ms


@pytest.mark.slow
def test_a_schedule_outlives_a_scheduler_that_is_killed_at_any_moment(
    crew: Crew, record_property: Callable[[str, object], None]
) -> None:
    """P05: every second a tick, one scheduler, 25 kills, every other one within milliseconds of a tick."""
    chance = dice(5)
    config = crew.schedules(beat="* * * * * *")
    crew.worker().wait_until_at_work()
    scheduler = crew.scheduler("--config", config)
    for n in range(25):
        scheduler.wait_until_at_work()
        now = host_now_ms()
        if n % 2:
            wait_until(now // SECOND * SECOND + SECOND + chance.uniform(-3, 8))
        else:
            wait_until(now + chance.uniform(0, 800))
        scheduler.kill()
        scheduler.start()
    scheduler.wait_until_at_work()
    wait_until(host_now_ms() + 2 * SECOND)
    assert host_now_ms() - SECOND < next_tick_ms(crew) <= host_now_ms() + SECOND
    scheduler.kill()

    eventually(lambda: set(crew.counts()) == {"done"}, what="all ticks done")
    fired = ticks(crew.runs())
    lost = sorted(set(range(fired[0], fired[-1], SECOND)) - set(fired))
    # `catch_up: latest` leaves out what came while nobody was there; what somebody was there for came.
    assert not [tick for tick in lost if was_at_work(scheduler, tick)]
    record_property("ticks", len(fired))
    record_property("ticks_left_out", len(lost))
    print("ticks:", len(fired), "left out for a later one:", len(lost))


def was_at_work(scheduler: Member, tick_ms: int) -> bool:
    return any(began <= tick_ms <= killed - ONE_PASS_MS for began, killed in scheduler.at_work)


@pytest.mark.slow
def test_restarts_between_two_ticks_fire_neither_again(crew: Crew) -> None:
    """P06: every five seconds a tick; the first start comes in between, and two restarts after each of two ticks."""
    period = 5 * SECOND
    config = crew.schedules(beat="*/5 * * * * *")
    crew.worker().wait_until_at_work()
    # In the first half of an interval, so that the start is over before the next tick.
    wait_until(host_now_ms() // period * period + (period if host_now_ms() % period > 2500 else 0) + 200)
    first = host_now_ms() // period * period + period
    scheduler = crew.scheduler("--config", config)
    scheduler.wait_until_at_work()
    wait_until(first - 50)
    assert crew.runs() == []
    for n in range(2):
        for offset_ms in (300, 2000):
            wait_until(first + n * period + offset_ms)
            scheduler.process.term()
            assert scheduler.process.wait() == 0
            scheduler.start()
            scheduler.wait_until_at_work()
    wait_until(first + 2 * period - 50)
    assert ticks(crew.runs()) == [first, first + period]
    assert next_tick_ms(crew) == first + 2 * period


@pytest.mark.slow
def test_a_scheduler_killed_just_before_an_instant_delays_nothing(
    crew: Crew, record_property: Callable[[str, object], None]
) -> None:
    """Twenty tasks at an instant with both schedulers, and twenty at one just before which one of the two is killed."""
    chance = dice(7)
    pair = [crew.scheduler() for _ in range(2)]
    crew.worker("--log-level", "warning")
    killed_at, quiet_at = [], []
    for n in range(10):
        for member in pair:
            member.wait_until_at_work()
        start = crew.now_ms()
        quiet_at.append(start + 300)
        killed_at.append(start + 700)
        crew.app.schedule_many(
            [NewTask(at / 1000, 0) for at in (start + 300, start + 700) for _ in range(20)]
        )
        wait_until(start + 700 - chance.uniform(0.5, 15))
        pair[n % 2].kill()
        pair[n % 2].start()
        crew.wait_for(done=40 * (n + 1))
    runs = crew.runs()
    assert min(run.late_ms for run in runs) >= 0
    quiet, killed = (
        [max(run.late_ms for run in runs if run.due_ms == at) for at in instants]
        for instants in (quiet_at, killed_at)
    )
    record_property("late_ms", {"without": quiet, "with kill": killed})
    print("most late in ms, without a kill:", quiet, "with:", killed)
    # A machine that is busy with other things delays both alike; where it is quiet, 100 ms is the bound.
    assert all(late <= 100 + max(quiet) for late in killed)
    assert sorted(killed)[len(killed) // 2] <= 100


@pytest.mark.slow
def test_a_scheduler_that_slept_while_another_took_over_doubles_nothing(crew: Crew) -> None:
    """SIGSTOP of the only one for some seconds, in each of two rounds, across ticks and due instants."""
    config = crew.schedules(beat="* * * * * *")
    crew.worker().wait_until_at_work()
    sleeper, other = crew.scheduler("--config", config), None
    sleeper.wait_until_at_work()
    now = crew.now_ms()
    tasks = set(crew.app.schedule_many([NewTask((now + 20 * n) / 1000, 0) for n in range(400)]))
    for offset_ms in (SECOND - 2, 4 * SECOND + 1):
        wait_until(now // SECOND * SECOND + SECOND + offset_ms)
        sleeper.process.pause()
        if other is None:
            other = crew.scheduler("--config", config)
            other.wait_until_at_work()
        else:
            other.process.resume()
        pause(1)
        sleeper.process.resume()
        pause(0.5)
        other.process.pause()
    assert other is not None
    other.process.resume()
    resumed_ms = host_now_ms()
    wait_until(max(now + 9 * SECOND, resumed_ms + 2 * SECOND))
    eventually(lambda: set(crew.counts()) == {"done"}, what="all done")
    runs = crew.runs()
    assert sorted(run.id for run in runs if not run.planned_ms) == sorted(tasks)
    assert min(run.late_ms for run in runs) >= 0
    fired = ticks([run for run in runs if run.planned_ms])
    assert fired[-1] > resumed_ms
    assert len(fired) >= 5
