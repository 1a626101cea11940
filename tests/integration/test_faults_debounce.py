"""P29 of the reported faults: same-key calls push the run ahead and carry the last data; unique keys; ends in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from oncue import App, BadInput, Task, WrongState
from oncue.common.store import Store
from tests.support.product import START_MS, FixedClock, Hands, Passes, app_on, at, counts, opened, running
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

MakeHands = Callable[..., Hands]


def ran(
    app: App, clock: FixedClock, passes: Passes, worker: Hands, until_ms: int, max_wait_s: float | None = None
) -> list[tuple[int, object]]:
    """Ten calls, one every 0.5 s, each for 2 s later; what ran when."""
    found = []
    for step in range(0, until_ms, 500):
        clock.ms = START_MS + step
        if step < 5000:
            app.schedule_task(at(step + 2000), step // 500, debounce="K", max_wait_s=max_wait_s)
        passes()
        tasks = worker.reserve()
        found += [(step, task.data) for task in tasks]
        worker.complete(*tasks)
    return found


def test_ten_calls_make_one_run_with_the_last_data_two_seconds_after_the_last(
    app: App, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    assert ran(app, clock, passes, hands(), 9000) == [(6500, 9)]


def test_a_steady_stream_starves_nothing(
    app: App, clock: FixedClock, passes: Passes, hands: MakeHands
) -> None:
    # At 3 s after the first the task is due; the call of that instant still pushes nothing beyond it.
    (first, *_) = ran(app, clock, passes, hands(), 9000, 3)
    assert first == (3000, 6)


class RunningClock(FixedClock):
    """A millisecond passes between two looks, as it does where a round trip takes that long."""

    looks = 0

    def now_ms(self) -> int:
        self.looks += 1
        assert self.looks < 100, "the call goes round and round"
        self.pass_ms(1)
        return self.ms


def test_a_call_beyond_the_longest_wait_returns_however_long_a_round_trip_takes(
    valkey: RedisServer, namespace: str
) -> None:
    with opened(valkey, namespace, clock=RunningClock()) as store:
        app = app_on(store)
        task_id = app.schedule_task(at(60_000), 1, debounce="K", max_wait_s=30)
        due = app.get(task_id).due
        assert due is not None
        assert at(30_000) < due.timestamp() < at(30_100)


def test_under_eight_threads_one_entry_is_pending_at_the_end(valkey: RedisServer, namespace: str) -> None:
    with opened(valkey, namespace) as store:
        app = app_on(store)
        begin = time.time()

        def call(number: int) -> None:
            for n in range(1000):
                app.schedule_task(begin + 600 + n % 50 * 0.001, [number, n], debounce="K", max_wait_s=3000)

        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts(store) == {"delayed": 1}
        ((task_id, data),) = [(task.id, task.data) for task in app.list().tasks]
        assert data[1] == 999
        assert app.cancel(task_id)


def test_a_call_while_the_task_runs_makes_a_new_task(valkey: RedisServer, namespace: str) -> None:
    begun, go_on, seen = threading.Event(), threading.Event(), list[object]()

    def handler(task: Task) -> None:
        seen.append(task.data)
        begun.set()
        assert go_on.wait(20)

    with opened(valkey, namespace) as store:
        app = app_on(store)
        first = app.schedule_task(None, 1, debounce="K")
        with running(store, handlers={"default": handler}, threads=1):
            assert begun.wait(20)
            second = app.schedule_task(None, 2, debounce="K")
            assert second != first
            go_on.set()
            eventually(lambda: app.get(second).state == "done", 20)
    assert seen == [1, 2]


def test_a_unique_task_is_there_once(app: App, store: Store, clock: FixedClock, hands: MakeHands) -> None:
    worker = hands()
    first = app.schedule_task(None, 1, unique="K")
    assert app.schedule_task(None, 2, unique="K") == first
    assert app.schedule_task(None, 2, "other", unique="K") != first
    assert [task.id for task in app.list(queue="default", key="K").tasks] == [first]
    assert app.list(queue="default", key="never") == ([], None)
    with pytest.raises(BadInput, match="give the queue"):
        app.list(key="K")
    (task,) = worker.reserve()
    assert app.schedule_task(None, 3, unique="K", unique_while="running") == first
    second = app.schedule_task(None, 4, unique="K", unique_for_s=30)
    assert second != first
    (again,) = worker.reserve()
    worker.complete(task, again)
    assert app.schedule_task(None, 5, unique="K") == second
    clock.pass_ms(30_001)
    assert app.schedule_task(None, 6, unique="K") not in (first, second)


@pytest.mark.parametrize(
    "key", [{"debounce": "K"}, {"unique": "K"}, {"unique": "K", "unique_while": "running"}]
)
def test_a_call_with_key_and_id_is_repeated_while_its_task_waits_and_refused_where_it_asks_for_another(
    app: App, hands: MakeHands, key: dict[str, Any]
) -> None:
    worker = hands()
    for _ in range(2):
        assert app.schedule_task(None, 1, id="mine", **key) == "mine"
    (task,) = worker.reserve()
    if "unique_while" in key:
        assert app.schedule_task(None, 1, id="mine", **key) == "mine"
    else:
        with pytest.raises(WrongState, match="the id mine belongs to another task already"):
            app.schedule_task(None, 1, id="mine", **key)
    worker.complete(task)


def test_a_task_that_has_not_begun_in_time_is_dropped(app: App, clock: FixedClock, hands: MakeHands) -> None:
    worker = hands()
    task_id = app.schedule_task(None, 1, expires=at(5000))
    clock.pass_ms(5001)
    assert worker.reserve() == []
    assert (app.get(task_id).state, app.get(task_id).reason) == ("cancelled", "expired")
    assert app.store.counts()["default"]["expired"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"debounce": "a", "unique": "b"},
        {"debounce": ""},
        {"unique": "x" * 129},
        {"unique": "a", "unique_while": "ever"},
        {"unique": "a", "unique_for_s": 0},
        {"debounce": "a", "max_wait_s": -1},
        {"expires": at(1)},
        {"expires": "soon"},
    ],
)
def test_what_does_not_go_together_is_refused(app: App, store: Store, wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        app.schedule_task(at(1000), 1, **wrong)  # type: ignore[arg-type]
    assert store.counts() == {}
