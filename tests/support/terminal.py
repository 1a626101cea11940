"""The far end of a terminal that a command is given."""

from __future__ import annotations

import contextlib
import os


def all_shown(ours: int, theirs: int) -> bytes:
    """All that has been written at the other end, which is closed for it: one read may bring a part of it."""
    os.close(theirs)
    shown = b""
    # The end of a terminal is an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65_536):
            shown += part
    return shown
