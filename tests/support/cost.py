"""What a call costs, whatever else the machine does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_s(act: Callable[[], object]) -> float:
    """The least of three: a garbage collection of all that the tests hold may fall into one, and is none of the call's."""

    def once() -> float:
        began = time.process_time()
        act()
        return time.process_time() - began

    return min(once() for _ in range(3))
