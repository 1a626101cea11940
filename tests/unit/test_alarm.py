"""When a scheduler wakes for an instant of the server's clock: never before it, and hardly after, whatever the clocks do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue.common import clock
from oncue.common.clock import DRIFT, ServerClock
from oncue.scheduler import alarm
from oncue.scheduler.alarm import FRESH_S, LOOK_AHEAD_MS, SHORT_S, wake_at

SERVER_S = 1_900_000_000.0


class World:
    """A host and a server with clocks of their own, and a way between them that takes its time."""

    def __init__(self, patch: pytest.MonkeyPatch, *, drift: float = 0.0, travel_s: float = 0.0002) -> None:
        self.monotonic = 1000.0
        self.server_s = SERVER_S
        self.travel_s = travel_s
        self.looks: list[float] = []
        self._drift = drift
        patch.setattr(clock, "monotonic_s", lambda: self.monotonic)
        patch.setattr(alarm, "monotonic_s", lambda: self.monotonic)
        self.clock = ServerClock(self._ask)
        self.clock.sync()

    def pass_s(self, seconds: float) -> None:
        self.monotonic += seconds
        self.server_s += seconds * (1 + self._drift)

    def _ask(self) -> tuple[int, int]:
        self.looks.append(self.server_s)
        self.pass_s(self.travel_s / 2)
        answer = divmod(int(self.server_s * 1_000_000), 1_000_000)
        self.pass_s(self.travel_s / 2)
        return answer

    def _has_come(self, until_ms: int) -> bool:
        # As Loop._due: a process that slept for too long asks first.
        if self.clock.now_ms() >= until_ms:
            self.clock.refresh(FRESH_S)
        return self.clock.now_ms() >= until_ms

    def wait_for(self, until_ms: int, *, oversleep_s: float = 0.0, is_due: bool = True) -> float:
        """Wakes and sleeps as a scheduler does; how late it believes the instant has come, by the server's clock, in ms."""
        while not self._has_come(until_ms):
            self.pass_s(
                max(0.0, wake_at(self.clock, until_ms, is_due=is_due) - self.monotonic) + oversleep_s + 1e-6
            )
        return self.server_s * 1000 - until_ms


@given(
    drift=st.floats(-DRIFT, DRIFT),
    travel_s=st.floats(0.00005, 0.02),
    ahead_s=st.floats(0.001, 200_000),
    oversleep_s=st.sampled_from([0.0, 0.0001, 0.002, 0.07]),
    is_due=st.booleans(),
)
def test_no_instant_comes_early_nor_later_than_the_way_and_the_sleep_explain(
    drift: float, travel_s: float, ahead_s: float, oversleep_s: float, is_due: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch, drift=drift, travel_s=travel_s)
        late_ms = world.wait_for(
            int((world.server_s + ahead_s) * 1000), oversleep_s=oversleep_s, is_due=is_due
        )
    gone_astray_ms = FRESH_S * DRIFT * 1000
    assert late_ms >= -gone_astray_ms
    assert late_ms <= gone_astray_ms + 3 * (travel_s + oversleep_s) * 1000 + 1


@pytest.mark.parametrize("ahead_s", [0.3, 6.0, 3600.0])
def test_the_last_look_comes_just_before_the_instant_and_leaves_time_for_its_answer(ahead_s: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch)
        due_ms = int((world.server_s + ahead_s) * 1000)
        world.wait_for(due_ms)
        assert len(world.looks) <= 4
        assert -1 < world.looks[-1] * 1000 - due_ms < -world.travel_s * 1000


@pytest.mark.parametrize("travel_s", [SHORT_S * 1.1, 0.002, 0.01])
def test_a_long_way_to_the_server_is_not_gone_in_the_last_moment(travel_s: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch, travel_s=travel_s)
        due_ms = int((world.server_s + 8) * 1000)
        world.wait_for(due_ms)
        assert world.looks[-1] * 1000 - due_ms < -LOOK_AHEAD_MS / 4


def test_instants_in_a_row_cost_one_look_together_and_other_waits_none() -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch)
        first_ms = int((world.server_s + 1) * 1000)
        world.wait_for(first_ms - LOOK_AHEAD_MS, is_due=False)
        assert len(world.looks) == 1
        for n in range(8):
            world.wait_for(first_ms + 2 * n)
        assert len(world.looks) == 2


def test_a_server_whose_clock_was_set_is_asked_at_once() -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch)
        due_ms = int((world.server_s + 60) * 1000)
        world.server_s += 3
        world.clock.forget()
        assert 0 <= world.wait_for(due_ms) < 2
