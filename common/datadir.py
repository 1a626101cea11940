"""A directory that one process uses at a time and only its owner can read."""

import fcntl
import os
from pathlib import Path

from oncue.common.errors import BadInput

# Write permission for the group and for everyone.
_OTHERS_WRITE = 0o022


def make_private(directory: Path) -> None:
    """Create it with mode 0700; BadInput if it cannot be, or if others could put files of theirs into it."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError as error:
        raise BadInput(f"the data directory {directory} cannot be used: {error.strerror}") from None
    # Refused and not mended: it may be a directory with another purpose, such as /tmp.
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_WRITE:
        raise BadInput(
            f"the data directory {directory} can be written to by other users: "
            f"choose one of your own, or run chmod 700 on it"
        )


def try_lock(file: Path) -> int | None:
    """Lock `file`: the descriptor that holds the lock, or None if someone else has it.

    The lock ends with the last copy of the descriptor, so a crash leaves none behind.
    """
    try:
        held = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadInput(f"the file {file} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held
