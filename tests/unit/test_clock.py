"""The server's clock as a process knows it: never ahead of the server, and unmoved by what the host's clock does."""

from __future__ import annotations

import freezegun
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue.common import clock
from oncue.common.clock import DRIFT, RESYNC_S, TRUST_S, ServerClock

SERVER_MS = 1_900_000_000_000


class World:
    """A host with a monotonic clock, and a server whose answer travels for a while."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, travel_s: float = 0.0) -> None:
        self.monotonic = 1000.0
        self.travel_s = travel_s
        self.set_by_s = 0.0
        self.drift = 0.0
        self.asked = 0
        self.is_away = False
        monkeypatch.setattr(clock, "monotonic_s", lambda: self.monotonic)
        self.clock = ServerClock(self.ask)

    @property
    def server_s(self) -> float:
        return SERVER_MS / 1000 + (self.monotonic - 1000) * (1 + self.drift) + self.set_by_s

    @property
    def behind_ms(self) -> float:
        """By how much the known clock is behind the server's."""
        return self.server_s * 1000 - self.clock.now_ms()

    def ask(self) -> tuple[int, int]:
        if self.is_away:
            raise ConnectionError("away")
        self.asked += 1
        self.monotonic += self.travel_s / 2
        micros = round(self.server_s * 1_000_000)
        self.monotonic += self.travel_s / 2
        return divmod(micros, 1_000_000)


@given(st.floats(0, 3), st.lists(st.floats(0, 200), max_size=8))
def test_the_known_clock_is_never_ahead_and_behind_by_no_more_than_the_answers_way(
    travel_s: float, steps: list[float]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch, travel_s)
        for step in steps:
            world.monotonic += step
            world.clock.refresh()
            known = world.clock.now_ms()
            behind = world.server_s * 1000 - known
            assert -0.01 <= behind <= travel_s * 1000 + 1.01


def test_the_making_of_the_connection_does_not_count_as_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, travel_s=0.05)
    ask = world.clock._ask

    def connect_first() -> tuple[int, int]:
        answer = ask()
        world.travel_s = 0.0001
        return answer

    world.clock._ask = connect_first
    assert world.server_s * 1000 - world.clock.now_ms() < 2
    assert world.asked == 2


@pytest.mark.parametrize("stalls", [1, 3])
def test_an_answer_that_was_held_up_does_not_put_the_clock_behind(
    monkeypatch: pytest.MonkeyPatch, stalls: int
) -> None:
    world = World(monkeypatch, travel_s=0.0002)
    world.clock.sync()
    world.travel_s = 0.08
    for _ in range(stalls):
        world.clock.look()
        assert 0 <= world.behind_ms < 1.3


@given(
    drift=st.floats(-DRIFT, DRIFT),
    looks=st.lists(st.tuples(st.floats(0, 200), st.sampled_from([0.0001, 0.003, 0.08, 3.0])), max_size=8),
)
def test_looks_of_any_length_leave_the_clock_never_ahead_and_behind_by_no_more_than_their_way_back(
    drift: float, looks: list[tuple[float, float]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch)
        world.drift = drift
        for passed_s, travel_s in looks:
            world.monotonic += passed_s
            world.travel_s = travel_s
            world.clock.look()
            assert -0.01 <= world.behind_ms <= travel_s / 2 * (1 + DRIFT) * 1000 + 1.01


@pytest.mark.parametrize("set_by_s", [-3.0, -0.1, 0.1, 3.0])
def test_a_servers_clock_that_was_set_is_taken_from_an_answer_that_was_held_up(
    monkeypatch: pytest.MonkeyPatch, set_by_s: float
) -> None:
    world = World(monkeypatch, travel_s=0.0002)
    world.clock.sync()
    world.set_by_s, world.travel_s = set_by_s, 0.08
    world.clock.look()
    assert 0 <= world.behind_ms < 80


@pytest.mark.parametrize("usual_s", [0.0002, 0.08])
def test_a_servers_clock_that_was_set_back_a_little_is_met_by_the_next_answer_of_the_usual_length(
    monkeypatch: pytest.MonkeyPatch, usual_s: float
) -> None:
    world = World(monkeypatch, usual_s)
    world.clock.sync()
    world.set_by_s, world.travel_s = -0.07, 0.1
    world.clock.look()
    world.travel_s = usual_s
    world.clock.look()
    assert 0 <= world.behind_ms <= usual_s * 1000 + 1.01


def test_of_another_server_that_may_have_taken_over_only_the_answer_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch, travel_s=0.0002)
    world.clock.sync()
    world.set_by_s, world.travel_s = -0.02, 0.08
    world.clock.forget()
    world.clock.look()
    assert 0 <= world.behind_ms < 80


def test_an_answer_that_was_on_its_way_from_the_former_server_does_not_keep_the_next_from_being_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch, travel_s=0.0002)
    ask = world.clock._ask

    def overtaken() -> tuple[int, int]:
        answer = ask()
        world.clock.forget()
        return answer

    world.clock._ask = overtaken
    world.clock.look()
    world.clock._ask = ask
    world.set_by_s = -0.02
    world.clock.refresh()
    assert world.asked == 2
    assert 0 <= world.behind_ms < 1.3


def test_where_the_way_has_become_long_a_small_step_back_is_met_within_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(monkeypatch, travel_s=0.0002)
    world.clock.sync()
    world.set_by_s, world.travel_s = -0.025, 0.06
    ends = world.monotonic + TRUST_S
    while world.monotonic <= ends:
        world.monotonic += 1
        world.clock.look()
    assert 0 <= world.behind_ms < 62


def test_a_step_of_the_hosts_clock_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with freezegun.freeze_time("2026-01-01T00:00:00Z") as host:
        world = World(monkeypatch)
        before = world.clock.now_ms()
        for wrong in ("2031-05-05", "1999-01-01", "2026-01-01T00:00:01"):
            host.move_to(wrong)
            assert world.clock.now_ms() == before == SERVER_MS
        assert world.asked == 1


def test_the_skew_of_the_hosts_clock_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    monkeypatch.setattr(clock, "host_now_ms", lambda: SERVER_MS + 7000)
    assert world.clock.skew_ms() == 7000


def test_the_server_is_asked_again_only_when_the_knowledge_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    for _ in range(100):
        world.clock.refresh()
        world.clock.now_ms()
        world.monotonic += RESYNC_S / 100
    assert world.asked == 1
    world.monotonic += 1
    world.clock.now_ms()
    assert world.asked == 1  # a mere reading asks nobody
    world.clock.refresh()
    assert world.asked == 2
    world.clock.refresh(5.0)
    assert world.asked == 2
    world.monotonic += 6
    world.clock.refresh(5.0)
    assert world.asked == 3
    world.clock.forget()
    world.clock.refresh()
    assert world.asked == 4


def test_an_instant_is_waited_for_on_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    now = world.clock.now_ms()
    assert world.clock.monotonic_at(now + 2500) == pytest.approx(world.monotonic + 2.5, abs=0.001)


def test_a_reading_that_may_be_rough_needs_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.is_away = True
    monkeypatch.setattr(clock, "host_now_ms", lambda: 42)
    assert world.clock.about_ms() == 42
    world.is_away = False
    world.clock.sync()
    world.is_away = True
    world.clock.forget()
    world.monotonic += 2 * RESYNC_S
    assert world.clock.about_ms() == SERVER_MS + 2 * RESYNC_S * 1000
    with pytest.raises(ConnectionError):
        world.clock.refresh()
