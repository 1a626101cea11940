"""Tells the service manager how this process is: systemd's sd_notify protocol, without libsystemd.

One datagram per message to the unix socket named by NOTIFY_SOCKET; without that variable (a terminal, a container)
every function here does nothing. A manager that cannot be told is no reason to stop working, so nothing raises:
each function says whether the message went out.

Only the main process of a unit may speak (the units say NotifyAccess=main); what a child sends is dropped.
"""

from __future__ import annotations

import os
import socket

# The manager reads its socket at once. Should it hang, we go on: a scheduler that waits for systemd fires late.
SEND_TIMEOUT_S = 1.0


def ready(text: str = "") -> bool:
    """Start-up is over: units ordered after this one may start. `text` is shown by `systemctl status`."""
    return _send("READY=1", *_status_line(text))


def stopping(text: str = "", within_s: float | None = None) -> bool:
    """The process has begun to stop, and will need at most `within_s` seconds from now.

    With `within_s` a stop time-out set in oncue.yaml cannot be cut short by a smaller TimeoutStopSec of the unit.
    """
    extend = () if within_s is None else (f"EXTEND_TIMEOUT_USEC={int(within_s * 1e6)}",)
    return _send("STOPPING=1", *extend, *_status_line(text))


def status(text: str) -> bool:
    """One line for people, shown by `systemctl status`."""
    return _send(*_status_line(text))


def watchdog() -> bool:
    """Proof of life, to be sent by the loop whose hanging the watchdog is there to find, not by a thread beside it."""
    return _send("WATCHDOG=1")


def watchdog_period_s() -> float | None:
    """How often to call `watchdog`, in seconds: half of what the unit allows. None where nobody watches."""
    allowed = os.environ.get("WATCHDOG_USEC", "")
    # WATCHDOG_PID names the process that is watched; a child inherits the variables, not the duty.
    if not allowed.isascii() or not allowed.isdigit() or int(allowed) == 0:
        return None
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(allowed) / 2e6


def _status_line(text: str) -> tuple[str, ...]:
    # Lines are the protocol's separator: a text with a newline in it would be read as further assignments.
    return (f"STATUS={' '.join(text.split())}",) if text.strip() else ()


def _send(*lines: str) -> bool:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not lines or not address.startswith(("/", "@")):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.settimeout(SEND_TIMEOUT_S)
            out.sendto("\n".join(lines).encode(), address)
    except OSError:
        return False
    return True
