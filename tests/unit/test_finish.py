"""Outcomes become calls: by shard and kind, and never so large that one call stops the server."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from oncue import Task
from oncue.common import address
from oncue.common.link import Link
from oncue.common.shard import Shard
from oncue.worker.finish import MOST_BYTES, sorted_out
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Release, Retry

LARGE = b"x" * (1 << 20)
SHARD = Shard(Link(address.parse("redis://127.0.0.1:1")), "none", 0)


def tasks(number: int) -> list[Task]:
    return [Task(f"t{n}", "q", None, 0) for n in range(number)]


def lots(outcomes: list[Outcome]) -> list[tuple[type, list[Outcome]]]:
    return [(kind, lot) for _, kind, lot in sorted_out(outcomes, lambda queue: SHARD)]


@pytest.mark.parametrize(
    "made",
    [lambda task: Done(task, LARGE, 1), lambda task: Retry(task, 1, LARGE), lambda task: Bury(task, LARGE)],
    ids=["done", "retry", "bury"],
)
def test_five_hundred_large_outcomes_go_in_calls_of_bounded_size(made: Callable[[Task], Outcome]) -> None:
    outcomes = [made(task) for task in tasks(500)]
    found = lots(outcomes)
    assert [outcome for _, lot in found for outcome in lot] == outcomes
    sizes = [len(LARGE) * len(lot) for _, lot in found]
    assert max(sizes) <= MOST_BYTES
    assert all(one + other > MOST_BYTES for one, other in pairwise(sizes))


def test_an_outcome_larger_than_a_call_goes_alone() -> None:
    huge = b"x" * (MOST_BYTES + 1)
    outcomes: list[Outcome] = [Done(task, huge if n == 1 else b"", 1) for n, task in enumerate(tasks(4))]
    assert [lot for _, lot in lots(outcomes)] == [outcomes[:1], outcomes[1:2], outcomes[2:]]


def test_small_outcomes_of_one_kind_are_one_call() -> None:
    outcomes: list[Outcome] = []
    for done, retry, released, abandoned in zip(*[iter(tasks(400))] * 4, strict=True):
        outcomes += (Done(done), Retry(retry, 1, b"{}"), Release(released), Abandon(abandoned))
    assert [(kind, len(lot)) for kind, lot in lots(outcomes)] == [
        (Done, 100),
        (Retry, 100),
        (Release, 100),
        (Abandon, 100),
    ]
