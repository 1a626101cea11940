"""For tests of programs that use oncue: a server of their own, a clock that tests move, and no waiting.

In a conftest.py: ``from oncue.testing import oncue_kit, oncue_server``; then a test takes the fixture ``oncue_kit``.
Under freezegun the frozen time counts, and ``travel`` moves it.
"""

import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
import pytest

from oncue.app import App
from oncue.common import address
from oncue.common.clock import host_now_ms
from oncue.common.config import load
from oncue.common.due import due_ms
from oncue.common.embedded import EmbeddedValkey
from oncue.common.link import Link
from oncue.common.problem import Refused
from oncue.common.retry import RetryPolicy
from oncue.common.store import Store
from oncue.common.task import Task, instant
from oncue.scheduler.loop import Loop
from oncue.scheduler.schedules import apply
from oncue.worker.inline import InlineWorker
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Release, Retry

MOST_RUNS = 10_000
"""So many runs at one instant, and a task is taken to schedule itself for ever."""

What = Literal["done", "failed", "throttled", "snoozed", "cancelled", "dead", "released"]
_ENDED: dict[str, What] = {"done": "done", "cancelled": "cancelled", "dead": "dead"}
_PLAIN: dict[type, What] = {Done: "done", Abandon: "cancelled", Release: "released"}
_RETRIES: dict[str, What] = {"failed": "failed", "throttled": "throttled", "nothing": "snoozed"}


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a handler: when by the kit's clock, and what came of it. ``error``: type, message, traceback, at_ms.

    An error after ``task.commit`` or ``task.release`` does not count, and is not shown.
    """

    task: Task
    at: datetime
    what: What
    error: dict[str, Any] | None

    @property
    def data(self) -> Any:
        """The task's data."""
        return self.task.data


class KitClock:
    """Stands still until it is moved. With freezegun its frozen time is the time, and is moved along."""

    def __init__(self) -> None:
        self._ms = host_now_ms()

    def now_ms(self) -> int:
        """The time in ms."""
        return host_now_ms() if _freezer() is not None else self._ms

    def move_to(self, ms: int) -> None:
        """Sets the time, forwards alone."""
        ahead_ms = ms - self.now_ms()
        if ahead_ms <= 0:
            return
        freezer = _freezer()
        if freezer is not None:
            freezer.tick(timedelta(milliseconds=ahead_ms))
        self._ms = max(self._ms, ms)


def _freezer() -> Any:
    # Not imported: who does not use it need not have it.
    api = sys.modules.get("freezegun.api")
    factories = getattr(api, "freeze_factories", None)
    return factories[-1] if factories else None


class Kit:
    """An app on a server of its own, run step by step: schedule, ``travel``, and look at what ``ran``."""

    def __init__(self, url: str) -> None:
        """``url``: a server that may be written to; each kit takes a namespace that no other has."""
        self.clock = KitClock()
        self._link = Link(address.parse(url))
        self.store = Store(self._link, f"test-{uuid.uuid4().hex[:12]}", clock=self.clock)
        self.ran: list[Ran] = []
        self.policies: dict[str, RetryPolicy] = {}
        self.app = App()
        self.use(self.app)
        self._loops = [Loop(shard) for shard in self.store.shards]

    def use(self, app: App) -> App:
        """Makes an app of yours work on the kit's server; its handlers run from now on."""
        config = load(None, {}, {})
        app.use(self.store, config.max_data_bytes)
        self.app = app
        return app

    def load(self, path: str) -> None:
        """Takes the schedules and the retry policies of a configuration file. Raises ConfigError for any fault in it."""
        config = load(path, {}, {})
        if config.invalid:
            raise Refused(config.invalid)
        self.policies = {name: queue.retry for name, queue in config.queues.items()}
        apply(self.store, config.schedules.values(), path, forced=True)

    @property
    def now(self) -> datetime:
        """The kit's time, in UTC."""
        return instant(self.clock.now_ms())

    def run(self) -> Sequence[Ran]:
        """Runs all that is due now, with what that schedules for now; returns these runs in order."""
        return self.travel(0)

    def travel(self, by: float | timedelta = 0, *, to: object = None) -> Sequence[Ran]:
        """Moves the clock by seconds or to an instant, and runs each task on the way at its own time.

        Returns the runs on the way. ``to``: as the time of ``schedule_task``. Raises AssertionError if tasks go on
        making tasks at one instant.
        """
        seconds = by.total_seconds() if isinstance(by, timedelta) else by
        now = self.clock.now_ms()
        target = now + round(seconds * 1000) if to is None else due_ms(to, now)
        before = len(self.ran)
        while True:
            following = self._do_what_is_due()
            if following is None or following > target:
                break
            self.clock.move_to(following)
        self.clock.move_to(target)
        self._do_what_is_due()
        return self.ran[before:]

    def _do_what_is_due(self) -> int | None:
        """The next instant at which there is something to do."""
        worker = InlineWorker(self.store, self.app.handlers, self.policies, told=self._note)
        start = len(self.ran)
        while True:
            following = self._promote()
            ran = worker.run_ready()
            if not ran and (following is None or following > self.clock.now_ms()):
                return following
            if len(self.ran) - start > MOST_RUNS:
                raise AssertionError(
                    f"over {MOST_RUNS} runs at {self.now}: does a task schedule itself for now?"
                )

    def _promote(self) -> int | None:
        for loop in self._loops:
            loop.survey()
        instants = [at for loop in self._loops if (at := loop.pass_once()) is not None]
        return min(instants, default=None)

    def _note(self, outcome: Outcome, counted: bool) -> None:
        what, error = _what(outcome)
        if not counted or what not in _ENDED:
            # Whoever wishes its cancel, or the handler by itself, may have ended it otherwise.
            ended = _ENDED.get(self.store.get(outcome.task.id).state)
            what = ended or (what if counted else "released")
        self.ran.append(Ran(outcome.task, self.now, what, error if counted else None))

    def close(self) -> None:
        """Gives the server back as it was."""
        for shard in self.store.shards:
            node = self._link.node(shard.keys.timetable)
            for key in node.scan_iter(match=shard.keys.prefix + b"*", count=1000):
                node.delete(key)
        self._link.close()


def _what(outcome: Outcome) -> tuple[What, dict[str, Any] | None]:
    if isinstance(outcome, Retry | Bury):
        what: What = "dead" if isinstance(outcome, Bury) else _RETRIES[outcome.counted]
        return what, msgspec.json.decode(outcome.error, type=dict[str, Any]) if outcome.error else None
    return _PLAIN[type(outcome)], None


@pytest.fixture(scope="session")
def oncue_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an embedded server, one for the session; yours to override with a server that you have."""
    with EmbeddedValkey(tmp_path_factory.mktemp("oncue")) as server:
        yield server.url


@pytest.fixture
def oncue_kit(oncue_server: str) -> Iterator[Kit]:
    """A kit for one test."""
    kit = Kit(oncue_server)
    yield kit
    kit.close()


__all__ = ["Kit", "KitClock", "Ran", "oncue_kit", "oncue_server"]
