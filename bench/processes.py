"""The processes of a measurement: started here, watched here, and all ended here, whatever happens."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from bench import reaper

_starting = threading.Lock()
_running: set["subprocess.Popen[bytes]"] = set()


def start(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, log: Path, **pipes: int
) -> "subprocess.Popen[bytes]":
    """Starts a command in a session of its own, which ends when this process dies."""
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise FileNotFoundError(f"{command[0]} is not in this peer's environment")
    log.parent.mkdir(parents=True, exist_ok=True)
    with _starting, log.open("ab") as file:
        process = subprocess.Popen(
            [program, *command[1:]],
            env=dict(environment),
            cwd=cwd,
            stderr=file,
            stdout=pipes.get("stdout", file.fileno()),
            stdin=pipes.get("stdin", subprocess.DEVNULL),
            start_new_session=True,
        )
        reaper.watch(process.pid)
        _running.add(process)
    return process


def family(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The process and all its descendants that live."""
    if process.returncode is not None:
        # Waited for: its number may be somebody else's by now.
        return []
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Asked without waiting for it, so that its number stays its own while something of its group may be left."""
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL to the process, its descendants and what they left in its group, at one stroke; none if it was waited for."""
    for member in family(process):
        with suppress(psutil.NoSuchProcess):
            member.kill()
    if process.returncode is None:
        # Until it is waited for, its number is no other group's.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _running.discard(process)


def end_all() -> None:
    """Ends all that was started here and lets nothing start any more: what a run that is broken off does at last."""
    _starting.acquire()
    for process in tuple(_running):
        kill(process)


class Group:
    """Processes that end together."""

    def __init__(self) -> None:
        self.members: list[subprocess.Popen[bytes]] = []

    def add(self, process: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
        """Takes a process in."""
        self.members.append(process)
        return process

    def owner_of(self, pid: int) -> "subprocess.Popen[bytes]":
        """The member that ``pid`` is, or descends from."""
        for process in self.members:
            if any(member.pid == pid for member in family(process)):
                return process
        raise LookupError(f"no process of this group has the id {pid}")

    def cpu_s(self) -> float:
        """CPU seconds of all members with their living descendants."""
        total = 0.0
        for process in self.members:
            for member in family(process):
                times = member.cpu_times()
                total += times.user + times.system
        return total

    def memory_bytes(self) -> list[list[int]]:
        """For each member its resident memory, followed by that of each of its descendants."""
        return [[_memory(member) for member in family(process)] for process in self.members]

    def ended(self) -> list["subprocess.Popen[bytes]"]:
        """The members that have ended, not yet waited for."""
        return [process for process in self.members if has_ended(process)]

    def bury(self) -> int:
        """Lets go of the members that have ended, with what they left running; how many."""
        ended = self.ended()
        for process in ended:
            self.members.remove(process)
            kill(process)
        return len(ended)

    def stop(self) -> None:
        """SIGKILL to all: what they would do at leisure serves nobody, their server goes with them."""
        for process in self.members:
            kill(process)
        self.members = []


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def load_average() -> float:
    """The load of the last minute."""
    return os.getloadavg()[0]
