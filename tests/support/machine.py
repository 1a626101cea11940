"""A machine with a systemd of its own: the first process of namespaces over a copy of this host's files.

What happens inside reaches neither the files nor the network of this host, and its processes are none of the host's
systemd's. All of them end with the one process that is started here.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.support import children
from tests.support.waiting import eventually

_SCRIPT = Path(__file__).with_name("machine.sh")
_SYSTEMD = "/lib/systemd/systemd"
_TOOLS = ("unshare", "nsenter", "mount", "pivot_root", "setpriv", "systemctl", _SYSTEMD)
_numbers = itertools.count(1)
# Joins the cgroup, then makes that the root of a namespace. The machine ends with `unshare`, whatever ends that.
_JOIN = 'echo $$ >"$0/cgroup.procs" && exec unshare --cgroup --mount --uts --ipc --net --pid --fork --kill-child "$@"'


class NoMachine(Exception):
    """This host lets nobody, or not us, make one; the text says what is missing."""


class Machine:
    """``directory`` is of the host, for the log and as a place to mount on; ``folders`` of the host are seen inside."""

    def __init__(self, directory: Path, folders: Mapping[Path, str]) -> None:
        self._directory = directory
        self._folders = folders
        self.cgroup: Path | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._first = 0

    def start(self) -> Self:
        """Returns when the machine is up. Raises NoMachine where there can be none; nothing is left running then."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self) -> None:
        if os.geteuid() != 0:
            raise NoMachine("only root may make namespaces and mount an overlay")
        if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
            raise NoMachine(f"missing: {', '.join(missing)}")
        scratch = self._directory / "scratch"
        scratch.mkdir(parents=True)
        self.cgroup = _make_cgroup()
        folders = [str(word) for pair in self._folders.items() for word in pair]
        self._child = children.spawn(
            ["sh", "-c", _JOIN, str(self.cgroup), "sh", str(_SCRIPT), str(scratch), _SYSTEMD, *folders],
            self._log,
        )
        eventually(self._is_built, 20, "the root of the machine")
        (first,) = psutil.Process(self._child.pid).children()
        self._first = first.pid
        eventually(lambda: self._is_up("basic.target"), 30, "the start of systemd")

    def _is_built(self) -> bool:
        assert self._child is not None
        # Asked before the look at the log: what a process says last is there when it has ended.
        ended = self._child.poll() is not None
        said = self._log.read_text(errors="replace")
        built = "the root is built\n" in said
        if ended and not built:
            raise NoMachine(" ".join(said.split())[-500:])
        return built

    def _is_up(self, unit: str) -> bool:
        assert self._child is not None
        assert self._child.poll() is None, self._log.read_text(errors="replace")[-2000:]
        return self.run("systemctl", "is-active", unit, check=False).strip() == "active"

    @property
    def _log(self) -> Path:
        return self._directory / "machine.log"

    def path(self, inside: str) -> Path:
        """Where the tests find a file of the machine: good for reading and writing, and for its sockets."""
        return Path(f"/proc/{self._first}/root") / inside.lstrip("/")

    def run(
        self,
        *command: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout_s: float = 60,
    ) -> str:
        """What a command says, run by root inside; unless ``check`` is off its exit code must be 0."""
        into = ["nsenter", f"--target={self._first}", "--root", "--wd"]
        spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]
        done = subprocess.run(
            [*into, *spaces, "--", *command],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **(env or {})},
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        assert not check or done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def stop(self) -> None:
        """As if the power went: SIGKILL to the first process ends all others. No error if there was no start."""
        if self._child is not None:
            children.kill(self._child)
            self._child = None
        if self.cgroup is not None:
            _remove_cgroup(self.cgroup)
            self.cgroup = None

    def __enter__(self) -> Self:
        return self if self._child is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _make_cgroup() -> Path:
    """A cgroup of version 2 below our own: the machine's systemd takes the one that it finds itself in for the root."""
    mounted = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    tops = [Path(fields[1]) for fields in mounted if fields[2] == "cgroup2"]
    memberships = Path("/proc/self/cgroup").read_text().splitlines()
    ours = [line.removeprefix("0::/") for line in memberships if line.startswith("0::/")]
    if not tops or not ours:
        raise NoMachine("no cgroup hierarchy of version 2 is mounted")
    made = tops[0] / ours[0] / f"oncue-test-{os.getpid()}-{next(_numbers)}"
    try:
        made.mkdir()
    except OSError as error:
        raise NoMachine(f"no cgroup of our own: {error}") from None
    return made


def _remove_cgroup(top: Path) -> None:
    # A process that was killed leaves its cgroup a moment later than its parent has heard of its death.
    eventually(lambda: "populated 0" in (top / "cgroup.events").read_text(), 10, "the end of the machine")
    for folder, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(folder)
