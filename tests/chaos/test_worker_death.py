"""Workers that are killed, paused or told to stop while they hold tasks (P04, P27)."""

from __future__ import annotations

import pytest

from oncue import NewTask
from oncue.common.clock import host_now_ms, monotonic_s
from tests.chaos.crew import LEASE_S, Crew, Member
from tests.support.standstill import Standstill
from tests.support.waiting import eventually

LEASE_MS = int(LEASE_S * 1000)


def two_workers(crew: Crew) -> list[Member]:
    workers = [crew.worker() for _ in range(2)]
    for worker in workers:
        worker.wait_until_at_work()
    return workers


def holder(crew: Crew, workers: list[Member]) -> Member:
    """The worker that runs the one task that there is."""
    (run,) = crew.wait_for_runs(1)
    return next(worker for worker in workers if worker.process.pid == run.pid)


def test_a_killed_workers_task_runs_again_within_its_lease_and_a_second(
    crew: Crew, stood: Standstill
) -> None:
    """P04: and at each moment it is counted once."""
    crew.scheduler().wait_until_at_work()
    workers = two_workers(crew)
    task = crew.app.schedule_task(None, [30, 0])
    first = holder(crew, workers)
    first.kill()
    killed_ms = first.killed_ms
    seen = set[str]()

    def done() -> bool:
        counts = crew.counts()
        assert sum(counts.values()) == 1, counts
        seen.update(counts)
        return counts == {"done": 1}

    eventually(done, 20, "the second run")
    before, after = crew.runs()
    assert (before.id, before.attempt, after.id, after.attempt) == (task, 1, task, 2)
    assert 0 <= after.began_ms - killed_ms <= LEASE_MS + 1000 + stood.ms(killed_ms, after.began_ms)
    assert "leased" in seen
    found = crew.app.get(task)
    assert (found.state, found.attempts, found.failed, found.lost) == ("done", 2, 0, 1)
    shard = crew.store.shards[0]
    assert [m for m in shard.command("ZRANGE", shard.keys.timetable, 0, -1) if m[:1] == b"l"] == []


@pytest.mark.parametrize("second_s", [0, 5], ids=["done elsewhere", "still running elsewhere"])
def test_a_worker_that_slept_through_its_lease_has_its_late_outcome_refused(
    crew: Crew, stood: Standstill, second_s: float
) -> None:
    """Paused with SIGSTOP in a task of 3 s, which another worker runs meanwhile."""
    crew.scheduler().wait_until_at_work()
    workers = two_workers(crew)
    task = crew.app.schedule_task(None, [3, second_s])
    sleeper = holder(crew, workers)
    sleeper.process.pause()
    paused_ms = host_now_ms()
    crew.wait_for_runs(2, LEASE_S + 5)
    if not second_s:
        crew.wait_for(done=1)
    sleeper.process.resume()
    sleeper.process.wait_for_line(f"task {task}: its lease (was|is) lost")
    # Its own handler comes to its end all the same, and counts for nothing.
    eventually(lambda: all(run.ended_ms for run in crew.runs()), 20, "the ends of both runs")
    crew.wait_for(done=1)
    first, second = crew.runs()
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.began_ms - paused_ms <= LEASE_MS + 1000 + stood.ms(paused_ms, second.began_ms)
    found = crew.app.get(task)
    assert (found.state, found.attempts, found.failed, found.lost) == ("done", 2, 0, 1)
    # The sleeper is as good as ever.
    crew.app.schedule_task(None, 0)
    crew.wait_for(done=2)
    assert len(crew.runs()) == 3


@pytest.mark.parametrize("processes", [1, 2])
def test_a_stopping_worker_finishes_what_it_runs_and_takes_nothing_more(crew: Crew, processes: int) -> None:
    """P27: SIGTERM to the main process alone, with a task of 4 s in each worker process and ten ready."""
    worker = crew.worker("--concurrency", "1", "--processes", str(processes))
    worker.process.wait_for_line("at work on" if processes == 1 else f"{processes} processes at work", 30)
    for _ in range(processes):
        # So long that it is not over before the worker is told, however late this test goes on.
        crew.app.schedule_task(None, 4)
    crew.wait_for_runs(processes, 30)
    crew.app.schedule_many([NewTask(None, 0) for _ in range(10)])
    worker.process.term()
    assert worker.process.wait(20) == 0
    assert crew.counts() == {"done": processes, "ready": 10}
    assert all(run.ended_ms for run in crew.runs())
    assert len(crew.runs()) == processes


def test_what_a_stopping_worker_cannot_finish_another_begins_before_the_limit_is_long_over(
    crew: Crew, stood: Standstill
) -> None:
    """P27: a task of 60 s and a limit of 1 s; the second worker begins it as its first attempt."""
    worker = crew.worker("--stop-timeout-s", "1")
    task = crew.app.schedule_task(None, 60)
    crew.wait_for_runs(1, 30)
    crew.worker().wait_until_at_work()
    worker.process.term()
    told_at, told_ms = monotonic_s(), host_now_ms()
    assert worker.process.wait(20) == 0
    took = monotonic_s() - told_at
    assert took * 1000 < 2000 + stood.ms(told_ms, host_now_ms())
    # Both runs are attempt 1, and that is what tells this from a lost lease.
    first, second = crew.wait_for_runs(2)
    assert (first.id, second.id) == (task, task)
    assert (first.attempt, second.attempt) == (1, 1)
    assert second.began_ms - told_ms < 1000 + LEASE_MS / 2 + stood.ms(told_ms, second.began_ms)
    found = crew.app.get(task)
    assert (found.state, found.attempts, found.failed, found.lost) == ("leased", 1, 0, 0)
