"""Under a real systemd: a stop is graceful, in time, and leaves nothing behind."""

from __future__ import annotations

import time

import pytest

from tests.support.waiting import eventually
from tests.systemd.deployment import SCHEDULERS, STOP_TIMEOUT_S, UNITS, WORKER, Deployment

pytestmark = pytest.mark.slow

ENDED = ("ActiveState", "Result", "ExecMainCode", "ExecMainStatus")
# A code of 1 is CLD_EXITED: not killed by a signal.
WELL = ["inactive", "success", "1", "0"]


def stop_s(deployed: Deployment, *units: str) -> float:
    began = time.monotonic()
    deployed.run("systemctl", "stop", *units)
    return time.monotonic() - began


def test_a_stop_of_all_leaves_no_process_and_exit_code_0(deployed: Deployment) -> None:
    assert len(deployed.processes()) >= len(UNITS)
    # None of them has anything to wait for.
    assert stop_s(deployed, "oncue.target", "oncue-*") < STOP_TIMEOUT_S
    # What has ended is to be seen until it was waited for.
    eventually(lambda: deployed.processes() == [], what="no process")
    assert [deployed.show(unit, *ENDED) for unit in UNITS] == [WELL] * 3


def test_a_running_task_may_end_though_the_unit_allows_less(deployed: Deployment) -> None:
    # The process asks for the time that stop_timeout_s says (EXTEND_TIMEOUT_USEC).
    with deployed.edited("TimeoutStopSec=1s", WORKER):
        task = deployed.app.schedule_task(None, STOP_TIMEOUT_S - 2, queue="slow")
        deployed.noted("began", task)
        assert 1 < stop_s(deployed, WORKER) < STOP_TIMEOUT_S + 5
    assert deployed.noted("ended", task)
    assert deployed.app.get(task).state == "done"
    assert deployed.show(WORKER, *ENDED) == WELL


def test_a_task_that_does_not_end_is_handed_back(deployed: Deployment) -> None:
    task = deployed.app.schedule_task(None, 600, queue="slow")
    deployed.noted("began", task)
    assert STOP_TIMEOUT_S <= stop_s(deployed, WORKER) < STOP_TIMEOUT_S + 5
    assert deployed.show(WORKER, *ENDED) == WELL
    deployed.tells(WORKER, f"1 tasks did not finish within {STOP_TIMEOUT_S} s and were handed back")
    known = deployed.app.get(task)
    assert (known.state, known.failed, known.lost) == ("ready", 0, 0)
    # Neither the stopper nor what the handler has started.
    eventually(lambda: len(deployed.processes()) == len(SCHEDULERS), what="the schedulers alone")
    deployed.app.cancel(task)
