"""The wait between two attempts keeps its promises at every edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue.common.errors import BadInput
from oncue.common.retry import RetryPolicy

WAITS = st.floats(0, 1e9)


def never() -> float:
    return 0.0


def test_an_exponential_wait_doubles_and_stops_at_the_maximum() -> None:
    policy = RetryPolicy(first_s=1, max_s=10, jitter=0)
    assert [policy.delay_s(attempt, never) for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_a_fixed_wait_stays_the_same() -> None:
    policy = RetryPolicy(backoff="fixed", first_s=3, jitter=0)
    assert [policy.delay_s(attempt, never) for attempt in (1, 2, 50)] == [3, 3, 3]


@given(WAITS, WAITS, st.floats(0, 1), st.integers(1, 10**9), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_longer_than_the_maximum_nor_shorter_than_jitter_allows(
    one: float, other: float, jitter: float, attempt: int, drawn: float
) -> None:
    policy = RetryPolicy(first_s=min(one, other), max_s=max(one, other), jitter=jitter)
    full = RetryPolicy(first_s=policy.first_s, max_s=policy.max_s, jitter=0).delay_s(attempt, never)
    assert full * (1 - jitter) - 1e-9 <= policy.delay_s(attempt, lambda: drawn) <= full <= policy.max_s


def test_waits_that_reached_the_maximum_still_spread_out() -> None:
    policy = RetryPolicy(first_s=1, max_s=10, jitter=0.5)
    assert policy.delay_s(99, lambda: 0.2) != policy.delay_s(99, lambda: 0.7)


@pytest.mark.parametrize(
    "values",
    [
        {"max_attempts": 0},
        {"backoff": "linear"},
        {"jitter": -0.1},
        {"jitter": 1.1},
        {"jitter": float("nan")},
        {"first_s": -1},
        {"max_s": float("inf")},
        {"first_s": 10, "max_s": 5},
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="allowed: "):
        RetryPolicy(**values)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_attempts_count_from_one() -> None:
    with pytest.raises(BadInput, match="attempt is 0"):
        RetryPolicy().delay_s(0, never)
