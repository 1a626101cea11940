"""The main thread of a role: it reaches the server, waits for signals, tells the service manager, and ends the process.

It wakes for a signal, a change of health, a thread's death and the watchdog's period; with none of them it sleeps for good.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from oncue.cli.failure import NO, OK
from oncue.cli.health import Health
from oncue.cli.lifeline import Lifeline
from oncue.cli.signals import Signals
from oncue.common import notify
from oncue.common.clock import sleep_s
from oncue.common.errors import OncueError, StoreUnavailable
from oncue.common.faults import Backoff
from oncue.common.store import Store
from oncue.common.wait import Nudge

if TYPE_CHECKING:
    from oncue.cli.stopper import Stopper

_log = logging.getLogger("oncue.role")


class Role:
    """Signals are caught from its making on: before anything is in hand the first one ends the process, exit code 0."""

    def __init__(
        self, store: Store, lifeline: int | None, *, reloads: bool = False, stopper: "Stopper | None" = None
    ) -> None:
        """``stopper``: where code of others may keep this process from ending."""
        self._store = store
        self._nudge = Nudge()
        self.health = Health(self._nudge)
        self._signals = Signals(self._nudge, reloads=reloads)
        self._signals.at_once = self._leave_if_idle
        self._at_work = False
        self._stopper = stopper
        self._lifeline = None if lifeline is None else Lifeline(lifeline)

    def _leave_if_idle(self, stops: int) -> None:
        if not self._at_work:
            notify.stopping()
            os._exit(OK)
        if stops > 1:
            os._exit(NO)

    def reach(self, attempt: Callable[[], object] = lambda: None) -> None:
        """Returns when the server was found fit and ``attempt`` has succeeded; waits while it is away.

        Raises WrongServer for what no waiting mends.
        """
        backoff = Backoff()
        while True:
            try:
                self._store.link.call(self._check, 0, sleep_s)
                attempt()
                return
            except StoreUnavailable as error:
                self._wait_out(error, backoff.pause_s())

    def _check(self) -> None:
        for shard in self._store.shards:
            self._store.link.check(shard.keys.timetable)

    def _wait_out(self, error: Exception, pause_s: float) -> None:
        notify.status(f"waiting for the server: {error}")
        _log.warning("%s; trying again in %.0f ms", error, pause_s * 1000)
        self._store.link.reset()
        self._nudge.wait_s(pause_s)

    def serve(
        self,
        start: Callable[[], None],
        alive: Callable[[], bool],
        stop: Callable[[], None],
        *,
        reload: Callable[[], None] = lambda: None,
        stop_within_s: float = 10.0,
        turns_within_s: float | None = None,
    ) -> NoReturn:
        """Works until a signal says stop, and ends the process.

        ``turns_within_s``: how soon each thread of a living role speaks through ``health``, if it does so at all times.
        """
        if self._stopper is not None:
            self._stopper.watch_over(self._nudge)
        self._at_work = True
        self._notice_dying_threads()
        start()
        self._announce()
        code = self._watch(alive, reload, turns_within_s)
        notify.stopping("stopping", stop_within_s)
        if self._stopper is not None:
            self._stopper.stopping()
        stop()
        _leave(code)

    def _announce(self) -> None:
        where = self._store.link.address.shown
        _log.info("at work on %s", where)
        notify.ready(f"at work on {where}")
        if self._lifeline is not None:
            self._lifeline.ready()

    def _watch(
        self, alive: Callable[[], bool], reload: Callable[[], None], turns_within_s: float | None
    ) -> int:
        period_s = notify.watchdog_period_s()
        well, again_s, backoff = True, None, Backoff()
        while not self._signals.stops:
            if not alive():
                _log.critical("a thread of this process has died; ending, to be started anew")
                return NO
            if period_s is not None and (turns_within_s is None or self.health.silent_s() < turns_within_s):
                notify.watchdog()
            if well is not self.health.well:
                well = not well
                self._tell(well)
            if self._signals.reload or again_s is not None:
                self._signals.reload = False
                again_s = _reloaded(reload, backoff)
            waits = [wait_s for wait_s in (period_s, again_s) if wait_s is not None]
            others = [] if self._stopper is None else self._stopper.look_after()
            self._nudge.wait_s(min(waits, default=None), *others)
        return OK

    def _tell(self, well: bool) -> None:
        where = self._store.link.address.shown
        if well:
            _log.info("the server at %s is back", where)
        notify.status(f"at work on {where}" if well else f"degraded: the server at {where} is away")

    def _notice_dying_threads(self) -> None:
        shown = threading.excepthook

        def hook(args: Any) -> None:
            shown(args)
            self._nudge.send()

        threading.excepthook = hook


def _reloaded(reload: Callable[[], None], backoff: Backoff) -> float | None:
    """None when that is done, or the pause in s before the next attempt."""
    try:
        reload()
    except StoreUnavailable as error:
        pause_s = backoff.pause_s()
        _log.warning("%s; reading the file again in %.0f ms", error, pause_s * 1000)
        return pause_s
    except OncueError as error:
        _log.error("%s; what was in force stays in force", error)
    return None


def _leave(code: int) -> NoReturn:
    # Not sys.exit: a handler that is still running, or a thread that it has started, would keep the process.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
