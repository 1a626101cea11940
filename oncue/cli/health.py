"""What the threads of a role say of the server: many speak, often; only a change wakes the main thread."""

import threading

from oncue.common.clock import monotonic_s
from oncue.common.wait import Nudge


class Health:
    """The callback that schedulers and workers are given."""

    def __init__(self, nudge: Nudge) -> None:
        self._nudge = nudge
        self._well: dict[int, bool] = {}
        self._spoke: dict[int, float] = {}

    def __call__(self, well: bool) -> None:
        me = threading.get_ident()
        self._spoke[me] = monotonic_s()
        if self._well.get(me, True) is not well:
            self._well[me] = well
            self._nudge.send()

    @property
    def well(self) -> bool:
        """Whether no thread misses its server."""
        return all(list(self._well.values()))

    def silent_s(self) -> float:
        """How long ago the most silent thread has spoken; 0 before any has."""
        return max((monotonic_s() - at for at in list(self._spoke.values())), default=0.0)
