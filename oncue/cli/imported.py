"""What was read from another scheduler's file, and the oncue.yaml that it becomes.

Each entry is put through oncue's own reader before it is written: one that it refuses becomes a comment, so that the
file passes `oncue cron check` whatever came in.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from oncue.cli.failure import printable
from oncue.common import yamlfile
from oncue.common.errors import BadInput
from oncue.common.problem import Refused
from oncue.common.work import QUEUES

QUEUE = QUEUES["command"]
"""Where commands go unless their schedule names another queue."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z_]*(/[A-Za-z_+-]+)*|([0-9]+[wdhms])+")
_WORDS = {"timezone", "every", "overlap", "catch_up", "catch_up_within", "jitter", "days"}
_UNITS = ((604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


@dataclass
class Job:
    """One entry that was read. ``place`` says where; ``settings`` are keys of a schedule, in order."""

    name: str
    place: str
    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@dataclass
class Imported:
    """All entries of a file in its order, a text for one that was left out; ``notes`` hold for all of them."""

    entries: list[Job | str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def jobs(self) -> list[Job]:
        """The entries that were read."""
        return [entry for entry in self.entries if isinstance(entry, Job)]

    @property
    def refused(self) -> list[str]:
        """What was left out, and why."""
        return [entry for entry in self.entries if isinstance(entry, str)]

    def refuse(self, place: str, what: str, why: str) -> None:
        """Leaves an entry out."""
        self.entries.append(f"{place}: {what:.200}: {why}")

    def settled(self) -> "Imported":
        """The same with names that differ, without entries that oncue's own reader refuses."""
        kept = Imported([], self.notes)
        taken: dict[str, int] = {}
        for entry in self.entries:
            if isinstance(entry, Job):
                entry.name = unique(named(entry.name), taken)
                faults = list(_faults(entry))
                if faults:
                    what = str(entry.settings.get("cron") or entry.settings.get("every") or entry.name)
                    kept.refuse(entry.place, what, "; ".join(faults))
                    continue
                taken[entry.name] = 2
            kept.entries.append(entry)
        return kept

    def text(self, source: str) -> str:
        """The file, comments and all; without any entry it is nothing else. Call it on what is ``settled``.

        Raises BadInput where oncue's own reader would not take it as a whole: it is too large.
        """
        lines = [f"# From {source}, by `oncue cron import`. Look it over before `oncue cron apply`."]
        lines += [f"# {note}" for note in self.notes]
        if self.refused:
            lines += ["#", "# Left out:", *(f"#   {text}" for text in self.refused)]
        # An empty section is what `apply --prune` takes everything away with.
        lines += ["schedules:"] if self.jobs else []
        for job in self.jobs:
            lines += [f"  # {note}" for note in (job.place, *job.notes)]
            lines += [f"  {line}" for line in _entry(job)]
        text = "".join(f"{printable(line)}\n" for line in lines)
        try:
            yamlfile.read("", text.encode())
        except Refused as refused:
            reason = refused.problems[0].message
            raise BadInput(
                f"{source} makes a file that oncue does not read: {reason}; split {source}"
            ) from None
        return text


def command_settings(
    command: str | list[str], env: dict[str, str], cwd: str | None = None, queue: str = QUEUE
) -> dict[str, Any]:
    """The keys of a command: a line for the shell, or the words of a program that needs none."""
    settings: dict[str, Any] = {} if queue == QUEUE else {"queue": queue}
    settings["command"] = command
    if isinstance(command, str):
        settings["shell"] = True
    if env:
        settings["env"] = env
    if cwd:
        settings["cwd"] = cwd
    return settings


COMMAND_NOTE = (
    "Commands run in workers that were started with --allow-commands, as their user and with their variables."
)


def named(text: str) -> str:
    """A name that a schedule may have."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:100] or "job"


def duration(seconds: float) -> str:
    """Whole seconds as `1h30m`; a fraction is written so that the reader refuses it."""
    if seconds != int(seconds) or seconds <= 0:
        return f"{seconds:g}s"
    rest, text = int(seconds), ""
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text


def unique(name: str, taken: dict[str, int]) -> str:
    """The name, or else the first of `name-2`, `name-3`, ... that is free.

    ``taken`` has the number to try next by each name that is taken, as thousands of lines may run one script: 2 at first.
    """
    if name not in taken:
        return name
    while f"{name}-{taken[name]}" in taken:
        taken[name] += 1
    return f"{name}-{taken[name]}"


def _entry(job: Job) -> Iterator[str]:
    from oncue.common.scalar import plain_scalar

    yield f"{job.name if isinstance(plain_scalar(job.name), str) else quoted(job.name)}:"
    for key, value in job.settings.items():
        plain = isinstance(value, str) and key in _WORDS and _PLAIN.fullmatch(value)
        yield f"  {key}: {value if plain else quoted(value)}"


def quoted(value: object) -> str:
    """JSON that is YAML 1.2, too: what cannot be printed is written as its code."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else _code(char) for char in text)


def _code(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _faults(job: Job) -> Iterable[str]:
    from oncue.common.configschedule import Surroundings, read_schedule
    from oncue.common.configtypes import Config

    usual = Config()
    try:
        document = yamlfile.parse("", "\n".join(_entry(job)))
    except Refused as refused:
        return [problem.message for problem in refused.problems]
    entry = document.root.entries[job.name]
    _, faults = read_schedule(
        job.name, entry, Surroundings("", usual.timezone, usual.max_data_bytes, calendars={})
    )
    return [problem.message for problem in [*document.faults, *faults]]
