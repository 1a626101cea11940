"""Under a real systemd: a process that is killed or hangs is started again, and no task is lost or late for it."""

from __future__ import annotations

import time
from functools import partial

import pytest

from tests.support.waiting import eventually
from tests.systemd.deployment import SCHEDULERS, UNITS, WORKER, Deployment

pytestmark = pytest.mark.slow

# One second's pause (RestartSec=), and a start of Python on a machine that is busy.
BACK_WITHIN_S = 20
# Longer than a process that is well may be kept from its work: it says so every half of this.
WATCHDOG_S = 8


def is_back(deployed: Deployment, unit: str, before: int) -> bool:
    pid, state = deployed.show(unit, "MainPID", "SubState")
    return state == "running" and int(pid) not in (0, before)


def test_a_killed_scheduler_makes_no_task_late(deployed: Deployment) -> None:
    def kill() -> None:
        before.append(deployed.kill(SCHEDULERS[0], "KILL"))

    def is_punctual() -> bool:
        found = deployed.is_punctual(kill)
        eventually(partial(is_back, deployed, SCHEDULERS[0], before[-1]), BACK_WITHIN_S, "the scheduler")
        return found

    before = list[int]()
    assert any(is_punctual() for _ in range(3))


def test_what_falls_due_while_all_schedulers_are_dead_runs_once_they_are_back(deployed: Deployment) -> None:
    before = [deployed.kill(unit, "KILL") for unit in SCHEDULERS]
    due = time.time() + 0.1
    task = deployed.app.schedule_task(due, None, queue="emails")
    assert deployed.noted("sent", task, timeout_s=BACK_WITHIN_S) >= due
    for unit, pid in zip(SCHEDULERS, before, strict=True):
        eventually(partial(is_back, deployed, unit, pid), BACK_WITHIN_S, unit)


def test_the_task_of_a_killed_worker_runs_again_after_its_lease(deployed: Deployment) -> None:
    # The first time for as long as it may take until the kill.
    task = deployed.app.schedule_task(None, [30, 0.5], queue="slow")
    deployed.noted("began", task)
    before = deployed.kill(WORKER, "KILL")
    again = deployed.noted("began", task, attempt=2, timeout_s=BACK_WITHIN_S)
    # It was not handed back: its lease has ended.
    assert deployed.app.get(task).lost == 1
    assert deployed.noted("ended", task, attempt=2) > again
    assert is_back(deployed, WORKER, before)


def test_a_process_that_hangs_is_ended_by_the_watchdog_and_started_again(deployed: Deployment) -> None:
    assert [deployed.show(unit, "WatchdogUSec") for unit in UNITS] == [["3min"]] * 3
    with deployed.edited(f"WatchdogSec={WATCHDOG_S}", "oncue-scheduler@.service", "oncue-worker@.service"):
        deployed.run("systemctl", "restart", *UNITS)
        well = deployed.pid(SCHEDULERS[1])
        hanging = {unit: deployed.kill(unit, "STOP") for unit in (SCHEDULERS[0], WORKER)}
        stopped = time.time()
        for unit, pid in hanging.items():
            eventually(partial(is_back, deployed, unit, pid), WATCHDOG_S + BACK_WITHIN_S, unit)
            deployed.tells(unit, f"Watchdog timeout (limit {WATCHDOG_S}s)!")
            deployed.tells(unit, "with signal SIGABRT")
            # Where each thread stood.
            deployed.tells(unit, "Fatal Python error: Aborted")
        assert time.time() - stopped >= WATCHDOG_S / 2
        assert deployed.pid(SCHEDULERS[1]) == well
    deployed.run("systemctl", "restart", *UNITS)
