"""Instants of the host's clock, which is also the clock of the servers of the tests."""

from __future__ import annotations

from oncue.common.clock import host_now_ms
from tests.chaos.crew import Run
from tests.support.waiting import eventually, pause

SECOND = 1000


def wait_until(instant_ms: float) -> None:
    """Return at this instant, or at once if it is over."""
    pause(max(0.0, (instant_ms - host_now_ms()) / 1000 - 0.002))
    eventually(lambda: host_now_ms() >= instant_ms, 30)


def is_planned(next_ms: int | None) -> bool:
    """Whether the next tick of every second is one that is about to come; ask again where the machine may stand still."""
    now = host_now_ms()
    return next_ms is not None and now - SECOND < next_ms <= now + SECOND


def ticks(runs: list[Run]) -> list[int]:
    """The planned instants of the runs, each of which must have come once."""
    planned = [run.planned_ms for run in runs]
    assert len(set(planned)) == len(planned), "a tick came twice"
    assert {run.attempt for run in runs} <= {1}
    return sorted(planned)
