"""The processes of a measurement: started here, watched here, and all ended here, whatever happens."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from bench.reaper import Reaper

_reaper = Reaper()


def start(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, log: Path, **pipes: int
) -> "subprocess.Popen[bytes]":
    """Starts a command in a session of its own, which ends when this process dies."""
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise FileNotFoundError(f"{command[0]} is not in this peer's environment")
    with log.open("ab") as file:
        process = subprocess.Popen(
            [program, *command[1:]],
            env=dict(environment),
            cwd=cwd,
            stderr=file,
            stdout=pipes.get("stdout", file.fileno()),
            stdin=pipes.get("stdin", subprocess.DEVNULL),
            start_new_session=True,
        )
    _reaper.tell("+", process.pid)
    return process


def family(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The process and all its descendants that live."""
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL to the process and its descendants at one stroke."""
    for member in family(process):
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()
    _reaper.tell("-", process.pid)


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

    def dead(self) -> list[int]:
        """Exit codes of the members that have ended."""
        return [process.returncode for process in self.members if process.poll() is not None]

    def bury(self) -> int:
        """Lets go of the members that have ended, with what they left running; how many."""
        ended = [process for process in self.members if process.poll() is not None]
        for process in ended:
            self.members.remove(process)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            _reaper.tell("-", process.pid)
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
