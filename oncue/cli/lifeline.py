"""What ties a child process to its parent: a socket pair, of which each side notices the other's end.

The parent may die by SIGKILL: the kernel closes its side all the same, and the child stops as after SIGTERM.
"""

import contextlib
import os
import signal
import socket
import threading

READY = b"r"


class Lifeline:
    """The child's side; the number is the descriptor that it was started with."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(fileno=number)
        # What handlers start must not keep the line open, or nobody would notice this process's end.
        self._socket.set_inheritable(False)
        # A thread of its own, not the main one: that may be in the import of the user's app for long.
        threading.Thread(target=self._watch, name="oncue-lifeline", daemon=True).start()

    def _watch(self) -> None:
        with contextlib.suppress(OSError):
            while self._socket.recv(1):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    def ready(self) -> None:
        """Tells the parent that this process is at work."""
        with contextlib.suppress(OSError):
            self._socket.send(READY)
