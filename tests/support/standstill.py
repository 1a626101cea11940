"""How long the machine stood still: a virtual one does for seconds now and then, and no bound on a time can mean that."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from oncue.common.clock import host_now_ms

_MOMENT_S = 0.005
_LEAST_MS = 20


class Standstill:
    """`with Standstill() as stood: ...`: a thread that sleeps for moments, and notes those that were too long."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._gaps: list[tuple[int, int]] = []
        self._woke = host_now_ms()
        self._thread = threading.Thread(target=self._watch, name="standstill", daemon=True)

    def spans(self, least_ms: int = _LEAST_MS) -> list[tuple[int, int]]:
        """From when to when, in ms of the host's clock, nothing ran for at least that long."""
        # The thread itself may not have woken yet from the one that has just ended.
        spans = [*self._gaps, (self._woke, host_now_ms())]
        return [(began, ended) for began, ended in spans if ended - began >= least_ms]

    def ms(self, since_ms: int, until_ms: int) -> int:
        """How long it stood still between two instants of the host's clock."""
        parts = (min(ended, until_ms) - max(began, since_ms) for began, ended in self.spans())
        return sum(part for part in parts if part > 0)

    def _watch(self) -> None:
        while not self._ended.wait(_MOMENT_S):
            now = host_now_ms()
            if now - self._woke >= _LEAST_MS:
                self._gaps.append((self._woke, now))
            self._woke = now

    def __enter__(self) -> Self:
        self._woke = host_now_ms()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
