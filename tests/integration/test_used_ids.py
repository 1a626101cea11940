"""An id of the caller's choice that is used again: what is told of it is of the task that has it now."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncue import App, NotFound, Task
from oncue.common import result
from oncue.common.store import Store
from oncue.worker.finish import complete
from oncue.worker.outcome import Done
from tests.support.product import HOUR_MS, FixedClock, Hands, Passes, app_on, opened
from tests.support.servers import RedisServer

MakeHands = Callable[..., Hands]


def done_with_result(store: Store, clock: FixedClock, task: Task) -> None:
    kept = result.kept(b'"of the former"', raw=False, until_ms=clock.ms + HOUR_MS)
    done = Done(task, kept, HOUR_MS)
    assert complete(store.shard(task.queue), [done], store.keep_finished_ms) == [1]


def test_the_result_of_a_former_task_of_the_id_is_not_told(
    app: App, store: Store, clock: FixedClock, hands: MakeHands
) -> None:
    worker = hands()
    app.schedule_task(None, 1, id="m")
    done_with_result(store, clock, *worker.reserve())
    assert app.get("m").result == "of the former"
    app.schedule_task(None, 2, id="m")
    worker.complete(*worker.reserve())
    assert (app.get("m").state, app.get("m").result) == ("done", None)


def test_a_cancelled_task_is_forgotten_though_a_former_one_of_its_id_has_left_a_result(
    app: App, store: Store, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    worker = hands()
    app.schedule_task(None, 1, id="m")
    done_with_result(store, clock, *worker.reserve())
    app.schedule_task(clock.ms / 1000 + 9, 2, id="m")
    assert app.cancel("m")
    clock.pass_ms(store.keep_finished_ms + 5000)
    passes()
    with pytest.raises(NotFound):
        app.get("m")


def test_a_task_that_waits_is_told_before_the_result_of_one_that_had_its_id_in_another_shard(
    valkey: RedisServer, namespace: str
) -> None:
    clock = FixedClock()
    with opened(valkey, namespace, shards=2, clock=clock) as store:
        app, passes = app_on(store), Passes(store)
        first, second = sorted(["emails", "reports", "a", "b"], key=lambda queue: store.shard(queue).number)[
            ::3
        ]
        assert store.shard(first) is not store.shard(second)
        app.schedule_task(None, 1, first, id="m")
        done_with_result(store, clock, *Hands(store, [first]).reserve())
        clock.pass_ms(store.keep_finished_ms + 5000)
        passes()
        assert app.get("m").result == "of the former"
        app.schedule_task(None, 2, second, id="m")
        assert (app.get("m").state, app.get("m").result) == ("ready", None)
