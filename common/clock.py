"""Time, in one place: nothing else reads a clock or sleeps, so tests set both.

Due times, leases and ticks are judged by the server's clock. A process asks for it once in a while and carries it on
with its own monotonic clock, so a step of the host's clock moves nothing.
"""

import math
import time
from collections.abc import Callable
from typing import Protocol

RESYNC_S = 60.0
"""How old the knowledge of the server's clock may be; two good crystals drift by under 3 ms in that time."""

DRIFT = 2e-4
"""How much two clocks may drift apart: far more than quartz does, 17 s a day."""

TRUST_S = 5.0
"""How long an answer that travelled fast counts for more than later ones that travelled longer."""

SLOW_S = 0.001
"""An answer that travelled longer than this is worth a second one."""


class Clock(Protocol):
    """What gives scripts their ``now``."""

    def now_ms(self) -> int: ...


def monotonic_s() -> float:
    """Seconds of the host's monotonic clock."""
    return time.monotonic()


def host_now_ms() -> int:
    """The host's own idea of the time in ms: for logs and for telling how far the server's differs, never for due times."""
    return time.time_ns() // 1_000_000


def sleep_s(seconds: float) -> None:
    """Sleeps; for the last part of a millisecond before a due instant, where a poll would overshoot."""
    if seconds > 0:
        time.sleep(seconds)


class ServerClock:
    """The server's clock as known here. Never ahead of the server: the answer's travel counts as time already passed."""

    def __init__(self, ask: Callable[[], tuple[int, int]]) -> None:
        """``ask`` sends TIME and returns seconds and microseconds; it may raise what the connection raises."""
        self._ask = ask
        # The server's clock is ahead of the monotonic one by at least the first, and by at most both together.
        self._offset_s, self._doubt_s = 0.0, math.inf
        self._given_at = 0.0
        self._synced_at: float | None = None
        self._forgotten = self._synced_after = 0
        self.travel_s = math.inf
        """How long the last answer took, there and back."""

    def sync(self) -> None:
        """Asks the server; raises what the connection raises."""
        self.look()
        # The first answer waits for the connection as well, and this process would be behind by all of that.
        if self.travel_s > SLOW_S:
            self.look()

    def look(self) -> None:
        """As ``sync``, with a single question, however long its answer takes."""
        forgotten, age_s, asked_at = self._forgotten, self.age_s(), monotonic_s()
        seconds, micros = self._ask()
        answered_at = monotonic_s()
        self.travel_s = answered_at - asked_at
        offset_s, doubt_s = seconds + micros / 1e6 - answered_at, self.travel_s
        # An answer that was held up would put the clock behind by as long: what was known better stays, less what the
        # clocks may have drifted since, unless this answer proves that the server's clock was set. One that was set by
        # less than the hold-up is met once that trust is over, and another server's counts alone.
        drifted_s = DRIFT * (age_s + self.travel_s)
        known_s, known_doubt_s = self._offset_s - drifted_s, self._doubt_s + 2 * drifted_s
        is_trusted = answered_at - self._given_at <= TRUST_S
        if is_trusted and known_doubt_s < doubt_s and offset_s < known_s <= offset_s + doubt_s:
            self._offset_s, self._doubt_s = known_s, known_doubt_s
        else:
            self._offset_s, self._doubt_s, self._given_at = offset_s, doubt_s, answered_at
        # Whoever was told to forget while this answer was on its way is not answered by it.
        self._synced_at, self._synced_after = answered_at, forgotten

    def forget(self) -> None:
        """The next refresh asks again: after a reconnection another server may answer."""
        self._forgotten += 1

    def age_s(self) -> float:
        """How long ago the server was asked, in seconds; infinite if never, or not since it was forgotten."""
        if self._synced_at is None or self._synced_after != self._forgotten:
            return math.inf
        return monotonic_s() - self._synced_at

    def refresh(self, older_than_s: float = RESYNC_S) -> None:
        """Asks the server if that is longer ago than ``older_than_s``; raises what the connection raises."""
        if self.age_s() > older_than_s:
            self.sync()

    def now_ms(self) -> int:
        """Milliseconds since the epoch by the server's clock, rounded down; no I/O once the server was asked."""
        if self._synced_at is None:
            self.sync()
        return int((monotonic_s() + self._offset_s) * 1000)

    def about_ms(self) -> int:
        """As ``now_ms``, but never asks: by what is known, however old, or by the host's clock if nothing is.

        For lines of a log and for waits that begin now, where a server that is away must stop nobody.
        """
        return host_now_ms() if self._synced_at is None else self.now_ms()

    def monotonic_at(self, instant_ms: int) -> float:
        """The monotonic second at which the server's clock shows ``instant_ms``, as far as known now."""
        return instant_ms / 1000 - self._offset_s

    def skew_ms(self) -> int:
        """How far the host's clock is ahead of the server's, in ms."""
        return host_now_ms() - self.now_ms()
