"""The configuration file: its settings and queues, its calendars and schedules one by one."""

from dataclasses import dataclass, field
from typing import Any

from oncue.common import yamlfile
from oncue.common.configcalendars import Calendars
from oncue.common.configkeys import LATER_QUEUE, QUEUE, SECTIONS, SETTINGS
from oncue.common.configretry import read_retry
from oncue.common.configsection import Section
from oncue.common.configtypes import QueueConfig
from oncue.common.errors import BadInput
from oncue.common.keys import queue_name
from oncue.common.mended import advised, example, renamed
from oncue.common.problem import Problem
from oncue.common.retry import RetryPolicy
from oncue.common.yamlfile import Entry, Node

_NOTHING = Node(None, 0, 0)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: its settings and queues checked, its schedules still as they stand.

    `faults` are those that make the whole file unusable. A calendar with a fault is None, so that only the schedules
    that name it are left out.
    """

    file: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    queues: dict[str, QueueConfig] = field(default_factory=dict)
    calendars: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    calendar_faults: list[Problem] = field(default_factory=list)
    schedules: dict[str, Entry] = field(default_factory=dict)
    faults: list[Problem] = field(default_factory=list)
    revision: str = ""
    emptied: bool = False


def read(path: str, raw: bytes | None = None) -> Source:
    """Read a file, or what was read of it. Raises `Refused` where it is no YAML document."""
    document = yamlfile.read(path, raw)
    top = Section(path, "", document.faults)
    entries = top.mapping(document.root, example("schedules"))
    settings = top.take(entries, SETTINGS, beside=SECTIONS)
    if "password" in settings and "password_file" in settings:
        top.blame(entries["password_file"], "password_file", "password is set too; give one of them")
    named = _section(top, entries, "queues")
    queues = {name: _queue(top.inside("queues"), name, entry) for name, entry in named.items()}
    schedules = _section(top, entries, "schedules")
    calendars = Calendars(path, _section(top, entries, "calendars"))
    revision = calendars.revision(document.digest)
    emptied = "schedules" in entries and not schedules
    return Source(
        path,
        settings,
        queues,
        calendars.read,
        calendars.faults,
        schedules,
        document.faults,
        revision,
        emptied,
    )


def _node(entries: dict[str, Entry], key: str) -> Node:
    return entries[key].node if key in entries else _NOTHING


def _section(top: Section, entries: dict[str, Entry], key: str) -> dict[str, Entry]:
    return top.inside(key).mapping(_node(entries, key), example(key))


def _queue(section: Section, name: str, entry: Entry) -> QueueConfig:
    try:
        queue_name(name)
    except BadInput as error:
        section.blame(entry, name, advised(str(error), renamed(name, "queue")))
    inside = section.inside(name)
    entries = inside.mapping(entry.node, "{weight: 2}")
    values = inside.take(entries, QUEUE, beside=("retry",), later=LATER_QUEUE)
    retry = read_retry(inside.inside("retry"), _node(entries, "retry"))
    return QueueConfig(**values, retry=RetryPolicy(**retry))
