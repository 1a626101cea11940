"""The keeper ends all that carries its worker's mark, also what is only becoming a program when it looks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from oncue.worker import keeper
from tests.support.processes import Process, has_ended
from tests.support.waiting import eventually

MARK, PLACE = b"ONCUE_KEEPER=0123", b"140737"
THREAD_OF_THE_KERNEL, ENDING = 0x00200000, 0x00000004
# A worker that starts a child which is held up before exec, and is killed.
DYING = """
import os, signal, sys, time
from oncue.worker.group import Keeper

keeper = Keeper()
keeper.begin()
child = os.fork()
if not child:
    os.closerange(3, 1024)
    time.sleep(1)
    os.execve("/bin/sleep", ["sleep", "60"], dict([keeper.mark]))
print("child", child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class Proc:
    """A folder like /proc, and the groups that were sent SIGKILL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.killed: list[int] = []

    def put(self, pid: int, variables: bytes, at: int = 200, state: str = "S", flags: int = 0) -> None:
        """A process with its variables there; none yet, where that is 0."""
        fields = ["0"] * 50
        fields[0], fields[6] = state, str(flags)
        fields[47], fields[48] = str(at), str(at + len(variables))
        (self.folder / str(pid)).mkdir(exist_ok=True)
        (self.folder / str(pid) / "environ").write_bytes(variables)
        (self.folder / str(pid) / "stat").write_text(f"{pid} (a) name) {' '.join(fields)}\n")

    def kill(self, group: int, number: int) -> None:
        assert number == signal.SIGKILL
        self.killed.append(group)
        self.put(group, b"", 0, "Z")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What happens in each pause between two looks; without anything left there must be none."""
    found: list[Callable[[], object]] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: found.pop(0)())
    return found


@pytest.fixture
def proc(tmp_path: Path, pauses: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch) -> Proc:
    made = Proc(tmp_path)
    monkeypatch.setattr(keeper, "_PROC", str(tmp_path))
    monkeypatch.setattr(os, "killpg", made.kill)
    monkeypatch.setattr(os, "getpgid", lambda pid: pid)
    return made


def test_what_is_noted_and_what_is_marked_ends_and_nothing_else(proc: Proc) -> None:
    proc.put(10, b"A=1\0" + MARK + b"\0")
    proc.put(11, b"A=" + MARK + b"\0")
    proc.put(12, b"")
    proc.put(13, b"", 0, flags=THREAD_OF_THE_KERNEL)
    proc.put(14, b"", 0, flags=ENDING)
    keeper.end({9}, MARK, PLACE)
    assert proc.killed == [9, 10]


def test_a_child_on_its_way_to_its_program_is_looked_at_until_it_has_arrived(
    proc: Proc, pauses: list[Callable[[], object]]
) -> None:
    proc.put(10, b"OF=worker\0", int(PLACE))
    proc.put(11, b"OF=worker\0", int(PLACE))
    pauses += [
        partial(proc.put, 10, b"", 0),
        partial(proc.put, 10, MARK + b"\0"),
        partial(proc.put, 11, b"", 0),
        partial(proc.put, 11, b"A=1\0"),
    ]
    keeper.end(set(), MARK, PLACE)
    assert (proc.killed, pauses) == ([10], [])


def test_what_never_arrives_is_not_looked_at_for_ever(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    proc.put(10, b"", 0)
    keeper.end(set(), MARK, PLACE)
    assert 5 < sum(slept) < 60


def test_a_host_without_processes_to_look_at_has_a_keeper_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_PROC", str(tmp_path / "none"))
    assert keeper.place_of_variables() == ""


def test_what_runs_here_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], env={})
    ended = subprocess.Popen(["true"])
    monkeypatch.setattr(os, "listdir", lambda path: [str(bare.pid), str(ended.pid), str(os.getpid())])
    try:
        eventually(lambda: set(keeper._marked(MARK, PLACE)) == set())
        assert set(keeper._marked(MARK, keeper.place_of_variables().encode())) == {0}
    finally:
        bare.kill()
        bare.wait()
        ended.wait()


def test_a_child_that_was_held_up_before_its_program_ends_with_a_worker_that_was_killed(
    tmp_path: Path,
) -> None:
    with Process([DYING], tmp_path / "output", command=(sys.executable, "-c")) as worker:
        child = psutil.Process(int(worker.wait_for_line(r"^child (\d+)$")[1]))
        assert worker.wait() == -signal.SIGKILL
        eventually(lambda: has_ended(child), what="the end of the child")
