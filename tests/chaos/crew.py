"""Schedulers and workers as processes that are killed, paused and started anew, and what their handlers did."""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from oncue import App
from oncue.common.clock import host_now_ms
from oncue.common.store import Store
from tests.support.processes import Process
from tests.support.product import counts
from tests.support.waiting import eventually

LEASE_S = 4.0
"""Longer than a busy machine stands still: a living worker would lose its lease meanwhile, and its task run twice."""

_AT_WORK = re.compile(r"^(\S+ \S+) INFO oncue.role at work on", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run of a task, as its handler noted it; ``ended_ms`` is None if the handler did not come to its end."""

    id: str
    attempt: int
    due_ms: int
    planned_ms: int
    began_ms: int
    pid: int
    ended_ms: int | None

    @property
    def late_ms(self) -> int:
        return self.began_ms - self.due_ms


@dataclass
class Life:
    """One process of a member, from its start to its SIGKILL, which was sent at some instant from `killed_ms` to `dead_ms`."""

    process: Process
    killed_ms: int | None = None
    dead_ms: int | None = None

    @property
    def at_work_ms(self) -> int | None:
        """When it said so in its log."""
        found = _AT_WORK.search(self.process.output)
        # The log is in local time, which a crew has in UTC: no hour comes twice.
        return round(datetime.fromisoformat(f"{found[1]}Z").timestamp() * 1000) if found else None


@dataclass
class Member:
    """A scheduler or worker that dies and is started anew."""

    begin: Callable[[], Process]
    lives: list[Life] = field(default_factory=list)
    killed_ms: int = 0

    def start(self) -> Member:
        self.lives.append(Life(self.begin()))
        return self

    @property
    def process(self) -> Process:
        return self.lives[-1].process

    def kill(self) -> None:
        """SIGKILL, at this very moment."""
        self.killed_ms = self.lives[-1].killed_ms = host_now_ms()
        self.process.child.send_signal(signal.SIGKILL)
        self.process.kill()
        self.lives[-1].dead_ms = host_now_ms()

    def wait_until_at_work(self) -> None:
        self.process.wait_for_line("at work on", 30)

    @property
    def at_work(self) -> list[tuple[int, int]]:
        """From when to when it worked, for each life that came so far."""
        now = host_now_ms()
        return [
            (began, now if life.killed_ms is None else life.killed_ms)
            for life in self.lives
            if (began := life.at_work_ms) is not None
        ]


class Crew:
    """All processes of one test. ``url`` is the server's; a member may be given another way to it."""

    def __init__(
        self,
        start: Callable[..., Process],
        directory: Path,
        url: str,
        namespace: str,
        *,
        lease_s: float = LEASE_S,
    ) -> None:
        self.url = url
        self._start = start
        self._directory = directory
        self._notes = directory / "notes"
        self._notes.mkdir()
        self._env = {
            "ONCUE_URL": url,
            "ONCUE_NAMESPACE": namespace,
            "ONCUE_LEASE_S": str(lease_s),
            # For as long as any of the tests may take, so that what is done is counted to its end.
            "ONCUE_KEEP_FINISHED_S": "600",
            "TZ": "UTC",
            "CHAOS_NOTES": str(self._notes),
        }
        self.app = App(url, namespace=namespace)

    @property
    def store(self) -> Store:
        return self.app.store

    def schedules(self, more: str = "", /, **expressions: str) -> Path:
        """A file with these schedules, for `--config`; `more` settings are those of each."""
        path = self._directory / "oncue.yaml"
        entries = [f'  {name}: {{cron: "{cron}"{more}}}\n' for name, cron in expressions.items()]
        path.write_text("schedules:\n" + "".join(entries))
        return path

    def scheduler(self, *words: str | Path, **env: str) -> Member:
        return self._member("scheduler", *words, **env)

    def worker(self, *words: str | Path, **env: str) -> Member:
        return self._member("worker", "tests.chaos.handlers:app", *words, **env)

    def _member(self, *words: str | Path, **env: str) -> Member:
        return Member(lambda: self._start(*words, env={**self._env, **env}, cwd=self._directory)).start()

    def now_ms(self) -> int:
        return self.store.now_ms("default")

    def counts(self) -> dict[str, int]:
        return counts(self.store)

    def wait_for(self, timeout_s: float = 15, **counts: int) -> None:
        """Wait until the tasks are in these states, and no others."""
        eventually(lambda: self.counts() == counts, timeout_s, f"{counts}, and there are {self.counts()}")

    def wait_for_runs(self, number: int, timeout_s: float = 15) -> list[Run]:
        eventually(lambda: len(self.runs()) >= number, timeout_s, f"{number} runs")
        return self.runs()

    def runs(self) -> list[Run]:
        """All runs so far, in the order of their beginnings."""
        found = [run for file in self._notes.iterdir() for run in _read(int(file.name), file.read_text())]
        return sorted(found, key=lambda run: run.began_ms)


def _read(pid: int, notes: str) -> Iterable[Run]:
    began: dict[tuple[str, int], tuple[int, int, int]] = {}
    ended: dict[tuple[str, int], int] = {}
    for line in notes.splitlines():
        event, now, due, planned, attempt, task_id = line.split(" ", 5)
        if event == "began":
            began[task_id, int(attempt)] = (int(now), int(due), int(planned))
        else:
            ended[task_id, int(attempt)] = int(now)
    for key, (now_ms, due_ms, planned_ms) in began.items():
        yield Run(*key, due_ms, planned_ms, now_ms, pid, ended.get(key))


def dice(seed: int) -> random.Random:
    """The chance of one test, the same in each run of it."""
    return random.Random(seed)


def outages(members: Sequence[Member], start_ms: int, end_ms: int) -> list[tuple[int, int]]:
    """When, between two instants, none of these members was at work."""
    free = start_ms
    found = []
    for began, killed in sorted(span for member in members for span in member.at_work):
        if began > free:
            found.append((free, began))
        free = max(free, killed)
    return [*found, (free, end_ms)] if free < end_ms else found


def share(values: Sequence[int], part: float) -> int:
    """The value below which this part of `values` lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
