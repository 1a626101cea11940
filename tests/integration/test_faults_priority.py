"""P30 of the reported faults: strict bands let no low task through while high ones wait, and weights hold their share.

Its third case, strict with ageing, is none here: bands are strict for good, and what must not starve is given a queue and a
weight, in the same band (docs/tasks.md).
"""

from __future__ import annotations

from oncue import NewTask, Task
from oncue.common.clock import sleep_s
from oncue.common.store import Store
from oncue.worker.hand import AHEAD_S, Hand
from oncue.worker.reserve import Reserver
from oncue.worker.worker import Worker
from tests.support.product import FixedClock, app_on, opened
from tests.support.servers import RedisServer, Server
from tests.support.waiting import eventually

LOW, HIGH = 1000, 50
HANDLER_S = 0.003
# The hand counts the runs of at least half of AHEAD_S: one more than lasted so long may end in it.
MOST_HELD = AHEAD_S / HANDLER_S + 2


def test_all_high_tasks_run_before_the_next_low_one(valkey: RedisServer, namespace: str) -> None:
    """One worker of one thread. What it holds when the high ones come runs before them: what it does in 10 ms."""
    order: list[str] = []

    with opened(valkey, namespace) as store:
        app = app_on(store)

        def handler(task: Task) -> None:
            order.append(task.data)
            sleep_s(HANDLER_S)
            if len(order) == 20:
                app.schedule_many([NewTask(1, "high", priority=9) for _ in range(HIGH)])

        app.schedule_many([NewTask(1, "low", priority=0) for _ in range(LOW)])
        worker = Worker(store, {"default": handler}, threads=1)
        worker.start()
        try:
            eventually(lambda: order.count("high") == HIGH, 30)
        finally:
            worker.stop(5)
    last = len(order) - 1 - order[::-1].index("high")
    between = order[20 : last + 1].count("low")
    assert between <= MOST_HELD, order[20 : last + 1]


def test_weights_hold_their_share_while_both_queues_are_full(server: Server, namespace: str) -> None:
    with opened(server, namespace, clock=FixedClock()) as store:
        _share(store)


def _share(store: Store) -> None:
    app = app_on(store)
    for queue in ("heavy", "light"):
        app.schedule_many([NewTask(1, n, queue) for n in range(500)])
    reserver = Reserver(
        store.shards[0],
        {"heavy": 3, "light": 1},
        15_000,
        60_000,
        Hand(1000),
        start=lambda tasks: None,
        hand_back=lambda: None,
        settle=lambda outcome: None,
    )
    taken = [task.queue for _ in range(400) for task in reserver.reserve_once(1)]
    assert len(taken) == 400
    assert abs(taken.count("heavy") - 300) <= 15
    # And not only in the end: each stretch has its share.
    for at in range(0, 400, 40):
        assert abs(taken[at : at + 40].count("heavy") - 30) <= 2
