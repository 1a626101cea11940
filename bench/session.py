"""One measurement's surroundings: a fresh server, one peer's client, and its workers and schedulers."""

import json
import select
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from bench import processes, traces
from bench.environment import ROOT, Place
from bench.server import Server
from bench.stall import Stall

THREADS = 10
_WARM_S = 60.0
_PATIENCE_S = 240.0
"""What a client may take for an answer beyond the time that the request gives it; the longest without one cancels 100,000
tasks one by one."""


class PeerFailed(Exception):
    """A peer did not do what its documentation says; the text is shown in the cell."""


class Session:
    """A context: everything that was started in it ends with it, and its directory goes; ``log`` stays."""

    def __init__(self, where: Place, parent: Path, log: Path, aof: bool = False) -> None:
        self._where = where
        self._folder = tempfile.TemporaryDirectory(prefix="bench-", dir=parent)
        self.out = Path(self._folder.name)
        self._log = log
        self.server = Server(self.out, aof)
        self.workers = processes.Group()
        self.schedulers = processes.Group()
        self._beside = processes.Group()
        self._client: subprocess.Popen[bytes] | None = None
        self._asked_s = 0.0
        self._warm_ups = 0

    def __enter__(self) -> Self:
        try:
            self.server.start()
            self._open_client()
            self.about = self.ask("describe", threads=THREADS)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        for group in (self.workers, self.schedulers, self._beside):
            group.stop()
        self.server.stop()
        self._folder.cleanup()

    def _variables(self) -> dict[str, str]:
        return {**self._where.variables, "BENCH_URL": self.server.url, "BENCH_OUT": str(self.out)}

    def _open_client(self) -> None:
        """Starts the process that schedules."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        client = processes.start(self._where.side, self._variables(), ROOT, self._log, **pipes)
        self._client = self._beside.add(client)

    def send(self, do: str, **request: Any) -> None:
        """Asks the client process for something; ``answer`` waits for it."""
        pipe = self._client and self._client.stdin
        assert pipe, "no client"
        pipe.write(json.dumps({"do": do, **request}).encode() + b"\n")
        pipe.flush()
        self._asked_s = request.get("most_s", request.get("seconds", 0.0))

    def answer(self) -> dict[str, Any]:
        """The answer to ``send``; raises PeerFailed."""
        pipe = self._client and self._client.stdout
        assert pipe, "no client"
        most_s = self._asked_s + _PATIENCE_S
        if not select.select([pipe], [], [], most_s)[0]:
            raise PeerFailed(f"its client gave no answer within {most_s:g} s")
        line = pipe.readline()
        found: dict[str, Any] = (
            json.loads(line) if line else {"error": f"its client died: {self.last_words()}"}
        )
        if "error" in found:
            raise PeerFailed(found["error"])
        return found

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Both."""
        self.send(do, **request)
        return self.answer()

    def last_words(self) -> str:
        """The end of what the peer's processes have written."""
        return self._log.read_text(errors="replace").strip()[-300:] if self._log.exists() else ""

    def start_workers(self, number: int = 1, kind: str = "worker") -> None:
        """Starts workers of 10 threads (or what the peer has in their place)."""
        self._start(self.workers, self.about[kind], number)

    def start_schedulers(self, number: int = 1) -> None:
        """Starts schedulers, where they are processes of their own."""
        if self.about["scheduler"]:
            self._start(self.schedulers, self.about["scheduler"], number)

    def _start(self, group: processes.Group, command: list[str], number: int) -> None:
        for _ in range(number):
            index = len(group.members)
            words = [word.replace("{index}", str(index)) for word in command]
            variables = {**self._variables(), "BENCH_INDEX": str(index)}
            group.add(processes.start(words, variables, ROOT, self._log))

    def revive(self) -> int:
        """Starts workers and schedulers again that have ended, as a service manager does; how many."""
        ended = 0
        for group, kind in ((self.workers, "worker"), (self.schedulers, "scheduler")):
            number = group.bury()
            self._start(group, self.about[kind], number)
            ended += number
        return ended

    def warm_up(self) -> None:
        """Returns when a task due now has run: the roles are at work. Raises PeerFailed."""
        self._warm_ups -= 1
        number = self._warm_ups
        self.ask("marks", dues=[None], first=number)
        if not self.wait(lambda: any(mark.number == number for mark in self.marks()), _WARM_S):
            ended = len(self.workers.ended()) + len(self.schedulers.ended())
            raise PeerFailed(f"no task ran within {_WARM_S:g} s ({ended} ended); {self.last_words()}")

    def marks(self) -> list[traces.Mark]:
        """All starts of marked tasks."""
        return traces.marks(self.out)

    def starts(self) -> dict[int, float]:
        """The first start of each marked task."""
        found: dict[int, float] = {}
        for mark in self.marks():
            found.setdefault(mark.number, mark.started_s)
        return found

    def count(self) -> traces.Count:
        """The no-op tasks that have run."""
        return traces.count(self.out)

    def stall(self) -> Stall:
        """Starts the PINGs beside."""
        stall = Stall(self.server.port, self._variables(), ROOT, self._log)
        self._beside.add(stall.process)
        return stall

    wait = staticmethod(traces.wait)

    def drain(self, number: int, most_s: float) -> traces.Count:
        """Waits until ``number`` no-op tasks have run or ``most_s`` have passed; what ran."""
        traces.wait(lambda: self.count().number >= number, most_s, 0.05)
        return self.count()
