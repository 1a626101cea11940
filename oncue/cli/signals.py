"""Signals as wishes that the main thread looks at when it wakes."""

import signal
from collections.abc import Callable
from types import FrameType

from oncue.common.wait import Nudge


class Signals:
    """SIGTERM, SIGINT and SIGHUP of this process. A closed terminal is a wish to stop, unless SIGHUP means reload."""

    def __init__(self, nudge: Nudge, *, reloads: bool = False) -> None:
        self._nudge = nudge
        self.stops = 0
        self.reload = False
        self.at_once: Callable[[int], None] = lambda stops: None
        """Called in the handler with the number of wishes to stop, for what cannot wait for the main thread."""
        nudge.on_signals()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        if reloads:
            signal.signal(signal.SIGHUP, self._reload)
        # Under nohup it is ignored, and stays so.
        elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1
        self._nudge.send()
        self.at_once(self.stops)

    def _reload(self, number: int, frame: FrameType | None) -> None:
        self.reload = True
        self._nudge.send()
