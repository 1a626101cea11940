"""Where the `oncue up` of this user runs: a pointer file, for producers that were given no server.

It costs one look at a missing file when nothing runs, because every such producer pays it.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote


def state_dir() -> Path:
    """The default data directory of `oncue up`: `$XDG_STATE_HOME/oncue` or `~/.local/state/oncue`."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules have a relative path ignored; it would name another place in each working directory.
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.local/state")
    return Path(base, "oncue")


def socket_url(path: str) -> str:
    """The URL of a server on this unix socket."""
    return f"unix://{quote(path)}"


def find_running() -> str | None:
    """The URL of the running `oncue up`, wherever its data is; None where there is none."""
    try:
        path = _pointer().read_text()
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            probe.connect(path)
    # A pointer left behind by a crash or a power cut is no error, nor is one with nonsense in it (ValueError).
    except (OSError, ValueError):
        return None
    return socket_url(path)


def announce(path: Path) -> None:
    """Make this socket the one that `find_running` gives; of several `oncue up` the latest counts."""
    pointer = _pointer()
    # A system user may have no home to write to: producers there are given the URL instead.
    with suppress(OSError):
        pointer.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Whole or not at all: a producer may read at this moment.
        draft = pointer.with_name(f"running.{os.getpid()}")
        draft.write_text(str(path))
        draft.replace(pointer)


def withdraw(path: Path) -> None:
    """Take the pointer back, unless a later `oncue up` has put its own there."""
    pointer = _pointer()
    with suppress(OSError, ValueError):
        if pointer.read_text() == str(path):
            pointer.unlink()


def _pointer() -> Path:
    return state_dir() / "running"
