"""The hand: no more is claimed than there is room for, and who waits for room is let go when it comes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from oncue import Task
from oncue.common.clock import monotonic_s
from oncue.worker import hand as module
from oncue.worker.hand import Hand
from tests.support.waiting import eventually


def task(name: str = "t") -> Task:
    return Task(name, "q", None, 0)


def test_no_more_is_claimed_than_there_are_threads() -> None:
    hand = Hand(3)
    assert hand.claim(2) == 2
    assert hand.claim(9) == 1
    hand.unclaim(1)
    assert hand.claim(9) == 1


def test_a_claim_waits_for_room_and_a_closed_hand_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    # With a clock that stands, nothing is measured: no tasks are taken ahead.
    monkeypatch.setattr(module, "monotonic_s", lambda: 1000.0)
    hand = Hand(1)
    hand.claim(1)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(hand.claim, 5)
        hand.ran()
        assert waiting.result(5) == 1
        waiting = pool.submit(hand.claim, 5)
        hand.close()
        assert waiting.result(5) == 0
    assert hand.claim(1) == 0


def test_quick_handlers_get_tasks_ahead_and_slow_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [monotonic_s()]
    monkeypatch.setattr(module, "monotonic_s", lambda: now[0])
    hand = Hand(10)
    for _ in range(100):
        for _ in range(hand.claim(500)):
            hand.ran()
        now[0] += 0.001
    assert hand.claim(5000) > 50
    slow = Hand(10)
    assert slow.claim(5000) == 10
    for _ in range(10):
        now[0] += 0.5
        slow.ran()
        assert slow.claim(5000) == 1


def test_tasks_that_lie_ahead_of_threads_that_have_stalled_are_to_be_handed_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [monotonic_s()]
    monkeypatch.setattr(module, "monotonic_s", lambda: now[0])
    hand = Hand(1)
    for _ in range(100):
        for _ in range(hand.claim(500)):
            hand.ran()
        now[0] += 0.001
    assert hand.claim(5000) > 1
    assert hand.claim(5000) == 0


def test_a_lease_is_as_old_as_the_call_that_took_or_renewed_it() -> None:
    hand, old, young = Hand(2), task("old"), task("young")
    now = monotonic_s()
    hand.hold([old], now - 10)
    hand.hold([young], now)
    assert hand.older_than(5) == [old]
    assert hand.wait_for_tasks() == now - 10
    hand.renewed([old], now)
    assert hand.older_than(5) == []


def test_a_task_reserved_again_is_not_dropped_or_renewed_for_its_former_lease() -> None:
    hand, former, current = Hand(2), task(), task()
    hand.hold([former], 1.0)
    hand.hold([current], 2.0)
    hand.drop([former])
    hand.renewed([former], 99.0)
    assert hand.held() == [current]
    assert hand.wait_for_tasks() == 2.0
    hand.drop([current])
    assert hand.held() == []
    hand.renewed([current], 99.0)
    assert hand.held() == []


def test_whoever_waits_for_an_empty_hand_learns_when_it_is_empty() -> None:
    hand, one = Hand(1), task()
    assert hand.wait_until_empty(0)
    hand.hold([one], 0.0)
    assert not hand.wait_until_empty(0.01)
    with ThreadPoolExecutor(2) as pool:
        emptied = pool.submit(hand.wait_until_empty, 5)
        eventually(emptied.running)
        hand.drop([one])
        assert emptied.result(5)
        waiting = pool.submit(hand.wait_for_tasks)
        hand.close()
        assert waiting.result(5) is None
