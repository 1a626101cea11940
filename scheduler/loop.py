"""The loop of a scheduler: do what is due, learn how long there is nothing to do, and sleep exactly that long.

There is no interval in it. Every scheduler of a shard runs the same loop and is armed for the same instant: whoever
comes first does the work, the others find it done.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oncue.common import wait
from oncue.common.anew import begin_anew
from oncue.common.faults import Backoff
from oncue.common.pages import Head, head_of
from oncue.common.shard import Shard
from oncue.common.wait import NOTHING, BlockingRead, Nudge
from oncue.scheduler import foreign, guard, open_pages, promote, reclaim, replan, sweep, trim
from oncue.scheduler.alarm import FRESH_S, LOOK_AHEAD_MS, wake_at
from oncue.scheduler.fire import KINDS as TICKS
from oncue.scheduler.fire import Fire

STEP_S = 0.5
"""By how much the end of a block may be off before it says that the server's clock was set."""

STUCK_MS = 1000
"""When to look again at what is due and nobody can do."""

_MANY_STEPS = open_pages.KINDS + sweep.KINDS + trim.KINDS
"""What takes many steps, and stays due until the last."""

Duty = Callable[[Shard, Sequence[bytes]], Head]
_log = logging.getLogger("oncue.scheduler")


class Loop:
    """One scheduler's work on one shard. ``pass_once`` is the work, ``run`` the thread around it."""

    def __init__(
        self,
        shard: Shard,
        health: Callable[[bool], None] = lambda well: None,
        max_lost: Mapping[str, int] | None = None,
        bounds: trim.Bounds = trim.Bounds(),  # noqa: B008 - immutable
        keep_finished_ms: int = 60_000,
    ) -> None:
        """``health`` is told when the server is lost and found again; ``max_lost``: see ``Reclaim``.

        ``bounds`` are those of the dead; ``keep_finished_ms``: how long a task is remembered that ends here.
        """
        self.shard = shard
        self._health = health
        self._fire = Fire(shard, keep_finished_ms)
        self._open_pages = open_pages.OpenPages()
        self._reclaim = reclaim.Reclaim(max_lost or {}, keep_finished_ms)
        self._trim = trim.Trim(bounds)
        self._nudge = Nudge()
        self._read = BlockingRead(shard.link, shard.keys.notify, self._nudge)
        self._last_id: bytes = b""
        self._head: Head = []
        self._look_at: int | None = None
        self._stopping = threading.Event()

    def survey(self) -> None:
        """Reads the head of the timetable; the first time also where the reading of the notify list starts."""
        keys = self.shard.keys
        last_id, flat = self.shard.call("survey", (keys.timetable, keys.armed, keys.notify), ())
        self._last_id = self._last_id or last_id
        self._head = head_of(flat)
        self._look_at = None

    def pass_once(self) -> int | None:
        """Does all that is due and returns the instant of the next work in ms, or None.

        Raises what the connection raises, and WrongServer.
        """
        if not self._last_id:
            self.shard.link.check(self.shard.keys.timetable)
            replan.begin(self.shard)
            # The bounds may be narrower than those of the schedulers before.
            self._trim(self.shard)
            self.survey()
        elif self._look_at is not None and self._look_at <= self.shard.clock.now_ms():
            self.survey()
        while (due := self._due()) and not self._stopping.is_set():
            self._do(due)
            once = [entry for entry in due if entry[0][:1] not in _MANY_STEPS]
            if once and set(once) <= set(self._head):
                _log.error("nobody can do what is due: %r; looking again in %d ms", once[0], STUCK_MS)
                return self.shard.clock.now_ms() + STUCK_MS
        self._fire.prepare(self._head)
        return self._next()

    def _due(self) -> Head:
        if not self._head:
            return []
        if self._head[0][1] > self.shard.clock.now_ms():
            return []
        # The sleep before an instant has seen to it that the clock is fresh, unless this process was kept from waking.
        now = self.shard.now_ms(FRESH_S)
        return [entry for entry in self._head if entry[1] <= now]

    def _do(self, due: Head) -> None:
        strange = [member for member, _ in due if not foreign.is_understood(member)]
        if strange:
            foreign.set_aside(self.shard, strange)
            self.survey()
            return
        for kinds, duty in self._duties():
            members = [member for member, _ in due if member[:1] in kinds]
            if members:
                self._head = duty(self.shard, members)
        ticks = [entry for entry in due if entry[0][:1] == TICKS]
        if ticks:
            self._head = self._fire(ticks, self._head)

    def _duties(self) -> tuple[tuple[bytes, Duty], ...]:
        # In this order, so that what is due now does not wait for what is due in a minute.
        return (
            (promote.KINDS, promote.promote),
            (reclaim.KINDS, self._reclaim),
            (guard.KINDS, guard.guard),
            (open_pages.KINDS, self._open_pages),
            (sweep.KINDS, sweep.sweep),
            (trim.KINDS, self._trim),
        )

    def _next(self) -> int | None:
        instants = [self._head[0][1]] if self._head else []
        if self._look_at is not None:
            instants.append(self._look_at)
        return min(instants, default=None)

    def run(self) -> None:
        """Works until ``stop``; whatever the server or the network does only makes it begin anew."""
        backoff = Backoff()
        while not self._stopping.is_set():
            try:
                until_ms = self.pass_once()
                # Before the sleep: it may last a minute, and nobody would hear that the server is back.
                self._health(True)
                self._sleep(until_ms)
                backoff = Backoff()
            except Exception as error:  # noqa: BLE001 - a thread that goes on is worth more than one that is right to stop
                self._begin_anew(error, backoff.pause_s())
        self._read.close()

    def _begin_anew(self, error: Exception, pause_s: float) -> None:
        self._health(False)
        begin_anew(self.shard, self._read, error, pause_s, _log)
        self._fire.begin_anew()
        self._last_id = b""
        self._nudge.wait_s(pause_s)

    def _sleep(self, until_ms: int | None) -> None:
        """Sleeps until an instant, or until a notification or a nudge has changed what comes next."""
        if self._stopping.is_set():
            return
        if not self._read.is_open:
            block_ms = int(wait.BLOCK_S * 1000)
            self._read.send("XREAD", "BLOCK", block_ms, "STREAMS", self.shard.keys.notify, self._last_id)
        news = self._read.wait(self._alarm(until_ms))
        if news is None and abs(self._read.block_error_s) > STEP_S:
            # Servers end a block by their wall clock. Ended early or late, that clock was set.
            self.shard.server_clock.forget()
        elif news is not NOTHING and news:
            self._take(news)

    def _alarm(self, until_ms: int | None) -> float | None:
        if until_ms is None:
            return None
        is_due = bool(self._head) and self._head[0][1] == until_ms
        return wake_at(self.shard.server_clock, until_ms, is_due=is_due)

    def _take(self, news: Any) -> None:
        ((_, entries),) = news
        for entry_id, fields in entries:
            self._last_id = entry_id
            instant = _instant(fields)
            look = max(0, instant - LOOK_AHEAD_MS)
            self._look_at = look if self._look_at is None else min(self._look_at, look)

    def stop(self) -> None:
        """Ends ``run`` at once, wherever it waits."""
        self._stopping.set()
        self._nudge.send()


def _instant(fields: Sequence[bytes]) -> int:
    try:
        return int(fields[1])
    except (ValueError, IndexError):
        # No message of ours: to look at once is right whatever it meant.
        return 0
