"""What becomes of a run: done, tried again later, or dead; whatever the handler does, its thread goes on."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from oncue import Task
from oncue.common import address
from oncue.common.due import LAST_MS
from oncue.common.handler import Handler, registered
from oncue.common.link import Link
from oncue.common.retry import RetryPolicy
from oncue.common.shard import Shard
from oncue.worker.execute import Executor
from oncue.worker.judge import Judge
from oncue.worker.outcome import Bury, Done, Retry, failure
from tests.support.product import START_MS, FixedClock

NOWHERE = Link(address.parse("redis://127.0.0.1:1"))


def runner(handler: Callable[[Task], object] | Handler, policy: RetryPolicy | None = None) -> Executor:
    """An executor that is called by hand; its link leads nowhere, since a run needs no server."""
    shard = Shard(NOWHERE, "none", 0, FixedClock())
    policies = {"q": policy} if policy else {}
    handlers = {"q": registered(handler)}
    judge = Judge(handlers, policies)
    return Executor(handlers, judge, lambda queue: shard)


def task(failed: int = 0) -> Task:
    return Task("t", "q", None, START_MS, attempt=failed + 1, failed=failed)


def raising(error: BaseException) -> Callable[[Task], object]:
    def handler(task: Task) -> object:
        raise error

    return handler


@pytest.mark.parametrize("result", [None, 0, "text", ValueError("returned, not raised")])
def test_a_handler_that_returns_is_done_whatever_it_returns(result: object) -> None:
    given = task()
    assert runner(lambda task: result).one(given) == Done(given)


@pytest.mark.parametrize(
    ("failed", "delay_ms"), [(0, 1000), (1, 2000), (2, 4000), (3, 8000)], ids=["1st", "2nd", "3rd", "4th"]
)
def test_each_failure_doubles_the_wait(failed: int, delay_ms: int) -> None:
    outcome = runner(raising(ValueError("no")), RetryPolicy(jitter=0)).one(task(failed))
    assert isinstance(outcome, Retry)
    assert outcome.due_ms == START_MS + delay_ms
    assert json.loads(outcome.error)["message"] == "no"


def test_jitter_shortens_the_wait_by_no_more_than_its_share() -> None:
    waits = set()
    for _ in range(200):
        outcome = runner(raising(ValueError("no")), RetryPolicy(jitter=0.25)).one(task())
        assert isinstance(outcome, Retry)
        waits.add(outcome.due_ms - START_MS)
    assert 750 <= min(waits) < max(waits) <= 1000


def test_a_wait_without_measure_ends_with_the_year_9999() -> None:
    policy = RetryPolicy(first_s=1e306, max_s=1e307)
    outcome = runner(raising(ValueError("no")), policy).one(task())
    assert isinstance(outcome, Retry)
    assert outcome.due_ms == LAST_MS


def test_the_last_attempt_is_followed_by_the_grave() -> None:
    policy = RetryPolicy(max_attempts=3)
    assert isinstance(runner(raising(ValueError()), policy).one(task(1)), Retry)
    assert isinstance(runner(raising(ValueError()), policy).one(task(2)), Bury)
    assert isinstance(runner(raising(ValueError()), RetryPolicy(max_attempts=1)).one(task()), Bury)


class Mute(Exception):
    """Has no text, and says so by failing itself."""

    def __str__(self) -> str:
        raise RuntimeError("mute")


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        RecursionError("deep"),
        MemoryError(),
        Mute(),
        FileNotFoundError(2, "gone", "caf\udce9"),
        ValueError("x" * 5_000_000),
        ExceptionGroup("several", [ValueError("a"), Mute()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_handler_raises_is_an_outcome_with_a_text(error: BaseException) -> None:
    outcome = runner(raising(error)).one(task())
    assert isinstance(outcome, Retry)
    found = json.loads(outcome.error)
    assert set(found) == {"type", "message", "traceback", "at_ms"}
    assert found["type"] == type(error).__name__
    assert len(outcome.error) < 200_000


def test_of_a_long_traceback_the_end_is_kept() -> None:
    def deep(n: int) -> None:
        if n == 0:
            raise ValueError("at the bottom")
        (deep if n % 2 else shallow)(n - 1)

    def shallow(n: int) -> None:
        deep(n)

    with pytest.raises(ValueError, match="at the bottom") as caught:
        deep(400)
    text = json.loads(failure(caught.value, 0))["traceback"]
    assert text.endswith("ValueError: at the bottom\n")


def test_a_task_without_a_handler_fails_like_any_other() -> None:
    stray = Task("t", "another", None, START_MS)
    outcome = runner(print).one(stray)
    assert isinstance(outcome, Retry)
    assert json.loads(outcome.error)["type"] == "KeyError"
