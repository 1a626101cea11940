"""The product behind a proxy that loses replies on order, for the tests of what happens then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from redis.exceptions import ConnectionError as LinkDown

from oncue import Task
from oncue.common.scripts import script
from oncue.common.store import Store
from tests.support.product import FixedClock, Hands, Passes, app_on, counts
from tests.support.proxy import Proxy, call_of

LEASE_MS = 2000
SCRIPTS = (
    "promote",
    "reserve",
    "complete",
    "retry",
    "bury",
    "release",
    "fire",
    "reschedule",
    "redrive",
    "cancel",
    "open_page",
    "trigger",
)


class Bench:
    """A product behind a proxy whose replies are cut on order, and the same store reached directly."""

    def __init__(self, proxy: Proxy, cut: Store, direct: Store, clock: FixedClock) -> None:
        self.proxy, self.clock, self.direct = proxy, clock, direct
        self.app, self.cut_app = app_on(direct), app_on(cut)
        self.passes, self.cut_passes = Passes(direct), Passes(cut)
        self.hands = Hands(direct, ["default"], LEASE_MS)
        self.cut_hands = Hands(cut, ["default"], LEASE_MS)
        self._expected = 0
        # Every script is known to the server before any reply is lost: a first call is EVALSHA and then EVAL.
        self.app.schedule_task(self.at(-1), "warm")
        for name in SCRIPTS:
            direct.link.node(b"x").script_load(script(name).text)
        self.hands.complete(*self.hands.reserve())

    def at(self, offset_ms: int) -> float:
        return (self.clock.ms + offset_ms) / 1000

    def is_lost(self, name: str, call: Callable[[], object]) -> None:
        """Make one call of a script, whose reply does not come back."""
        self.proxy.cut_reply(call_of(name))
        with pytest.raises(LinkDown):
            call()
        self._expected += 1
        assert self.proxy.cuts == self._expected

    @contextmanager
    def is_repeated(self, name: str, meanwhile: Callable[[], object]) -> Iterator[None]:
        """Within, one call of a script loses its reply, and before it is made again something happens."""
        self.proxy.cut_reply(call_of(name))
        self._expected += 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("oncue.common.store.sleep_s", lambda seconds: meanwhile())
            yield
        assert self.proxy.cuts == self._expected

    def reserved(self) -> Task:
        """A task in hand."""
        self.app.schedule_task(self.at(-1), 1)
        (task,) = self.hands.reserve()
        return task

    def counts(self) -> dict[str, int]:
        return counts(self.direct)
