"""Messages to the service manager, over a real unix datagram socket."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncue.common import notify


@pytest.fixture(params=["path", "abstract"])
def manager(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """The manager's end of NOTIFY_SOCKET, as a file and as an abstract name."""
    named = str(tmp_path / "notify") if request.param == "path" else f"@oncue-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(named.replace("@", "\0") if request.param == "abstract" else named)
        listening.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", named)
        yield listening


def test_ready_says_so_with_a_status(manager: socket.socket) -> None:
    assert notify.ready("2 schedules")
    assert manager.recv(4096) == b"READY=1\nSTATUS=2 schedules"


def test_ready_without_a_status_is_one_line(manager: socket.socket) -> None:
    assert notify.ready()
    assert manager.recv(4096) == b"READY=1"


def test_stopping_asks_for_the_time_that_it_needs(manager: socket.socket) -> None:
    assert notify.stopping("handing back 3 tasks", within_s=12.5)
    assert manager.recv(4096) == b"STOPPING=1\nEXTEND_TIMEOUT_USEC=12500000\nSTATUS=handing back 3 tasks"


def test_stopping_alone_is_one_line(manager: socket.socket) -> None:
    assert notify.stopping()
    assert manager.recv(4096) == b"STOPPING=1"


def test_a_status_cannot_smuggle_in_another_message(manager: socket.socket) -> None:
    assert notify.status("queue named\nREADY=1")
    assert manager.recv(4096) == b"STATUS=queue named READY=1"


def test_watchdog_is_one_line(manager: socket.socket) -> None:
    assert notify.watchdog()
    assert manager.recv(4096) == b"WATCHDOG=1"


@pytest.mark.parametrize("address", [None, "", "vsock:2:1234", "relative"])
def test_nothing_is_sent_where_nobody_listens(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if address is None:
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    else:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    assert not notify.ready("up")
    assert not notify.watchdog()


def test_a_manager_that_is_gone_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    assert not notify.status("still at work")


def test_an_empty_status_sends_nothing(manager: socket.socket) -> None:
    assert not notify.status("  ")


@pytest.mark.parametrize(
    ("usec", "pid", "period_s"),
    [
        ("180000000", None, 90.0),
        ("180000000", "own", 90.0),
        ("180000000", "1", None),
        ("0", None, None),
        ("soon", None, None),
        (None, None, None),
    ],
)
def test_the_watchdog_is_fed_at_half_of_its_time_by_the_watched_process_alone(
    usec: str | None, pid: str | None, period_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    if usec is not None:
        monkeypatch.setenv("WATCHDOG_USEC", usec)
    if pid is not None:
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "own" else pid)
    assert notify.watchdog_period_s() == period_s
