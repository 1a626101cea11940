"""What an error means for its task: which counter it adds to, how long the wait is, and when there is no further run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

import oncue
from oncue import BadInput, RetryPolicy, Task
from oncue.common.answers import Interrupt, TimedOut
from oncue.common.due import LAST_MS
from oncue.common.handler import Handler
from oncue.common.result import read
from oncue.worker.judge import Judge
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Retry

NOW = 1_800_000_000_000


def judge(retry: RetryPolicy | dict[str, Any] | None = None, **handler: Any) -> Judge:
    return Judge({"q": Handler(print, retry or {"jitter": 0}, **handler)}, {})


def task(**counters: Any) -> Task:
    return Task("t", "q", None, NOW, **counters)


def raised(error: BaseException, judge: Judge, **counters: Any) -> Outcome:
    return judge.raised(task(**counters), error, NOW)


def delay_ms(outcome: Outcome) -> int:
    assert isinstance(outcome, Retry)
    return outcome.due_ms - NOW


def test_a_snooze_counts_nothing_and_comes_when_it_was_told() -> None:
    in_5 = raised(oncue.Snooze(5), judge(), failed=99, throttled=99)
    assert isinstance(in_5, Retry)
    assert (in_5.counted, in_5.error, delay_ms(in_5)) == ("nothing", b"", 5000)
    at = datetime.fromtimestamp(NOW / 1000 + 60, UTC)
    assert delay_ms(raised(oncue.Snooze(at=at), judge())) == 60_000


def test_a_retry_comes_when_it_was_told_or_by_the_policy_and_is_a_failed_attempt() -> None:
    for answer, expected in ((oncue.Retry(7), 7000), (oncue.Retry(reason="later"), 2000)):
        outcome = raised(answer, judge(), failed=1)
        assert isinstance(outcome, Retry)
        assert (outcome.counted, delay_ms(outcome)) == ("failed", expected)
        assert json.loads(outcome.error)["message"] == answer.reason
    assert isinstance(raised(oncue.Retry(7), judge(), failed=4), Bury)


def test_no_wait_reaches_beyond_what_the_store_can_hold() -> None:
    assert delay_ms(raised(oncue.Retry(9e9), judge())) == 9_000_000_000_000
    far = raised(oncue.Retry(9.9e9), Judge({}, {}))
    assert isinstance(far, Retry)
    assert far.due_ms <= LAST_MS


def test_bury_and_cancelled_end_a_task_at_once() -> None:
    buried = raised(oncue.Bury("no such customer"), judge())
    assert isinstance(buried, Bury)
    assert json.loads(buried.error)["message"] == "no such customer"
    assert isinstance(raised(oncue.Cancelled(), judge()), Abandon)


def test_throttling_has_a_counter_and_a_cap_of_its_own() -> None:
    policy = RetryPolicy(max_attempts=1, max_throttled=3, jitter=0, immediate=5, throttle_for=TimeoutError)
    for error in (oncue.Throttled(), TimeoutError("429")):
        waits = [raised(error, judge(policy), throttled=n) for n in range(3)]
        assert [delay_ms(outcome) for outcome in waits] == [1000, 2000, 4000]
        assert {outcome.counted for outcome in waits if isinstance(outcome, Retry)} == {"throttled"}
        last = raised(error, judge(policy), throttled=3)
        assert isinstance(last, Bury)
        assert last.counted == "throttled"
    assert delay_ms(raised(oncue.Throttled(30), judge(policy))) == 30_000


def test_errors_of_other_classes_than_may_pass_are_permanent() -> None:
    policy = RetryPolicy(retry_for=(OSError, KeyError))
    assert isinstance(raised(ConnectionError(), judge(policy)), Retry)
    assert isinstance(raised(ValueError(), judge(policy)), Bury)
    # What the handler asks for, and what comes from outside, is not its own error.
    assert isinstance(raised(oncue.Retry(), judge(policy)), Retry)
    assert isinstance(raised(TimedOut(), judge(policy)), Retry)
    assert isinstance(raised(KeyError(), judge(RetryPolicy(bury_for=LookupError))), Bury)


def test_the_first_tries_come_at_once_and_then_the_waits_begin() -> None:
    policy = RetryPolicy(max_attempts=9, immediate=2, backoff=(10, 60), jitter=0)
    waits = [delay_ms(raised(ValueError(), judge(policy), failed=n)) for n in range(6)]
    assert waits == [0, 0, 10_000, 60_000, 60_000, 60_000]


def test_a_task_goes_before_its_handler_and_a_handler_before_its_queue() -> None:
    configured = {"q": RetryPolicy(max_attempts=2, first_s=7, jitter=0), "other": RetryPolicy(max_attempts=3)}
    found = Judge({"q": Handler(print, {"max_attempts": 4}), "other": Handler(print)}, configured)
    assert found.policy(task()) == RetryPolicy(max_attempts=4, first_s=7, jitter=0)
    own = task(options={"retry": {"max_attempts": 9, "backoff": [1, 2]}})
    assert found.policy(own) == RetryPolicy(max_attempts=9, backoff=(1, 2), first_s=7, jitter=0)
    assert found.policy(Task("t", "other", None, NOW)).max_attempts == 3


@pytest.mark.parametrize(
    "foreign",
    [7, "often", {"max_attempts": "many"}, {"no_such": 1}, {"retry_for": "OSError"}, {"backoff": []}],
)
def test_a_task_whose_own_policy_is_nonsense_follows_its_queue(foreign: object) -> None:
    assert judge().policy(task(options={"retry": foreign})) == RetryPolicy(jitter=0)


def test_a_task_that_takes_its_workers_along_is_buried_before_it_runs_again() -> None:
    found = judge({"max_lost": 2})
    assert found.refusal(task(lost=2), NOW) is None
    outcome = found.refusal(task(lost=3), NOW)
    assert outcome is not None
    assert outcome.counted == "nothing"
    assert json.loads(outcome.error)["message"].startswith("its worker died or hung 3 times")


def test_the_hook_before_a_burial_is_told_once_and_cannot_prevent_it() -> None:
    told: list[tuple[str, BaseException]] = []

    def hook(task: Task, error: BaseException) -> None:
        told.append((task.id, error))
        raise RuntimeError("the hook itself is broken")

    found = judge(RetryPolicy(max_attempts=2, before_bury=hook))
    first, last = ValueError("first"), ValueError("last")
    assert isinstance(raised(first, found), Retry)
    assert told == []
    assert isinstance(raised(last, found, failed=1), Bury)
    assert told == [("t", last)]


def test_a_result_is_kept_only_where_it_was_asked_for_and_only_if_it_can_be() -> None:
    mine = task()
    assert judge().returned(mine, object(), NOW) == Done(mine)
    keeper = judge(keep_result_s=60)
    outcome = keeper.returned(mine, {"n": [1, None]}, NOW)
    assert isinstance(outcome, Done)
    assert outcome.keep_ms == 60_000
    assert read(outcome.result, NOW + 59_999) == {"n": [1, None]}
    assert read(outcome.result, NOW + 60_000) is None
    raw = keeper.returned(mine, b"\x00\xff", NOW)
    assert isinstance(raw, Done)
    assert read(raw.result, NOW) == b"\x00\xff"
    unfit = keeper.returned(mine, object(), NOW)
    assert isinstance(unfit, Bury)
    assert "cannot be kept as its result" in json.loads(unfit.error)["message"]


@pytest.mark.parametrize("value", [b"", b"short", b"\0" * 8 + b"j{}", b"\xff" * 8 + b"j{", b"\xff" * 9])
def test_what_is_no_result_is_read_as_none(value: bytes) -> None:
    assert read(value, NOW) is None


def test_what_cannot_be_followed_is_refused_where_it_is_written() -> None:
    for make in (
        lambda: oncue.Snooze(),
        lambda: oncue.Retry(1, at=datetime.now(UTC)),
        lambda: oncue.Retry(-1),
        lambda: oncue.Retry(float("nan")),
        lambda: oncue.Throttled(at=datetime(2026, 1, 1)),
        lambda: RetryPolicy(retry_for="OSError"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        lambda: RetryPolicy(backoff=()),
        lambda: RetryPolicy(backoff=(1, -1)),
        lambda: RetryPolicy(max_lost=70_000),
        lambda: RetryPolicy(immediate=True),
        lambda: RetryPolicy(before_bury=3),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        lambda: Handler(print, keep_result_s=-1),
        lambda: Handler(print, {"max_attempt": 3}),
        lambda: Handler(print, timeout_s=0),
        lambda: Handler(print, raise_on_cancel=1),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        lambda: Handler(print, isolation="vm"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ):
        with pytest.raises(BadInput):
            make()


def test_interrupts_pass_a_handler_that_catches_every_exception() -> None:
    assert not issubclass(Interrupt, Exception)
    assert issubclass(oncue.Cancelled, Interrupt)


def test_a_schedule_call_refuses_a_policy_that_a_record_cannot_hold() -> None:
    app = oncue.App("redis://127.0.0.1:1")
    for retry in ({"retry_for": OSError}, {"max_attempts": 0}, {"tries": 3}, RetryPolicy(retry_for=OSError)):
        with pytest.raises(BadInput):
            app.schedule_task(1, None, retry=retry)
