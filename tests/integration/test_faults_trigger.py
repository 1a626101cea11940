"""A reply that is lost while tasks of a schedule are made by hand: they are made once, whatever becomes of it meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oncue.scheduler.definition import tick_id
from tests.integration.lost_replies import Bench
from tests.support.moving import queue_elsewhere
from tests.support.product import HOUR_MS, START_MS, FixedClock, opened
from tests.support.proxy import Proxy
from tests.support.servers import RedisServer


@pytest.fixture
def sharded(valkey: RedisServer, namespace: str) -> Iterator[Bench]:
    """Two shards, and an hourly schedule in that of the queue "default"."""
    clock = FixedClock()
    with (
        Proxy(valkey.url) as proxy,
        opened(proxy, namespace, shards=2, clock=clock) as cut,
        opened(valkey, namespace, shards=2, clock=clock) as direct,
    ):
        found = Bench(proxy, cut, direct, clock)
        found.app.schedules.create("report", cron="0 * * * *", overlap="allow")
        yield found


def edited(bench: Bench) -> None:
    bench.app.schedules.change("report", data=1)


def removed(bench: Bench) -> None:
    bench.app.schedules.remove("report")


def moved(bench: Bench) -> None:
    bench.app.schedules.change("report", queue=queue_elsewhere(bench.direct))


def unchanged(bench: Bench) -> None:
    """Nothing has happened to the schedule."""


@pytest.mark.parametrize("meanwhile", [edited, removed, moved, unchanged])
@pytest.mark.parametrize("ended", ["ready", "done"])
def test_a_trigger_whose_reply_is_lost_makes_one_task_whatever_becomes_of_its_schedule(
    sharded: Bench, meanwhile: Callable[[Bench], None], ended: str
) -> None:
    before = sharded.counts()

    def pause() -> None:
        meanwhile(sharded)
        if ended == "done":
            sharded.hands.complete(*sharded.hands.reserve())

    with sharded.is_repeated("trigger", pause):
        task = sharded.cut_app.schedules.trigger("report")
    assert sharded.app.get(task).state == ended
    assert sum(sharded.counts().values()) == sum(before.values()) + 1
    assert sharded.app.schedules.get("report").triggered == 1


@pytest.mark.parametrize("meanwhile", [edited, removed, moved, unchanged])
@pytest.mark.parametrize("ended", ["ready", "done"])
@pytest.mark.parametrize("forced", [False, True])
def test_a_backfill_whose_reply_is_lost_counts_what_it_has_made_and_makes_it_once(
    sharded: Bench,
    meanwhile: Callable[[Bench], None],
    ended: str,
    forced: bool,
) -> None:
    hour_s = 3600
    (before,) = sharded.app.schedules.backfill("report", sharded.at(-1) - hour_s, sharded.at(-1)).made
    sharded.hands.complete(*sharded.hands.reserve())
    known = sharded.counts()

    def pause() -> None:
        meanwhile(sharded)
        if ended == "done":
            sharded.hands.complete(*sharded.hands.reserve())

    start = sharded.at(-1) - 3 * hour_s
    with sharded.is_repeated("trigger", pause):
        found = sharded.cut_app.schedules.backfill("report", start, sharded.at(-1), forced=forced)
    assert found.there == ([] if forced else [before])
    assert len(found.made) == (3 if forced else 2)
    assert {sharded.app.get(task).state for task in found.made} == {ended}
    assert sum(sharded.counts().values()) == sum(known.values()) + len(found.made)
    assert sharded.app.schedules.get("report").backfilled == 1 + len(found.made)


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("became", ["blocked", "cancelled"])
def test_a_backfill_whose_reply_is_lost_brings_nothing_back_that_was_cancelled_meanwhile(
    sharded: Bench, became: str, forced: bool
) -> None:
    sharded.app.schedules.change("report", overlap="queue")
    sharded.app.schedules.trigger("report")
    sharded.hands.reserve()
    ids = [tick_id("report", START_MS - n * HOUR_MS) for n in (2, 1)]

    def pause() -> None:
        if became == "cancelled":
            sharded.app.cancel_many(ids)

    start = (START_MS - 2 * HOUR_MS) / 1000
    with sharded.is_repeated("trigger", pause):
        found = sharded.cut_app.schedules.backfill("report", start, sharded.at(-1), forced=forced)
    assert (found.made, found.there) == (ids, [])
    assert {sharded.app.get(task).state for task in ids} == {became}
    assert sharded.app.schedules.get("report").backfilled == 2
