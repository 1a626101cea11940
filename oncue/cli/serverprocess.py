"""The embedded server under the eyes of `oncue up`: a crash of it is noticed at once and mended."""

import logging
import os
from contextlib import suppress

from oncue.common.embedded import EmbeddedValkey

_log = logging.getLogger("oncue.up")


class ServerProcess:
    """A server that this process has started is its child, whose death wakes it; one that was adopted is not."""

    def __init__(self, server: EmbeddedValkey) -> None:
        self._server = server
        self._death = self._opened()

    def _opened(self) -> int | None:
        # Linux alone has it. Elsewhere the death of an adopted server shows at the next wake, when a child dies say.
        if not hasattr(os, "pidfd_open"):
            return None
        with suppress(OSError):
            return os.pidfd_open(self._server.pid)
        return None

    def watched(self) -> list[int]:
        """The descriptor that becomes readable when the server dies."""
        return [] if self._death is None else [self._death]

    def revive(self) -> None:
        """Starts the server anew if it has died; its data is what was acknowledged. Raises what its start raises."""
        if self._server.running:
            return
        _log.error("the server has died (%s says why); starting it anew", self._server.log_path)
        if self._death is not None:
            os.close(self._death)
        self._server.stop()
        self._server.start()
        self._death = self._opened()
