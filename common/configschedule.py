"""One schedule of the file: its faults stay its own, so that a broken entry does not stop the others."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncue.common.configcalendars import read_exclude
from oncue.common.configdata import read_data
from oncue.common.configkeys import SCHEDULE
from oncue.common.configretry import read_retry
from oncue.common.configsection import Section
from oncue.common.configtypes import ScheduleConfig
from oncue.common.configwork import KEYS as WORK_KEYS
from oncue.common.configwork import read_work
from oncue.common.cron_expression import read_expression
from oncue.common.cronmended import mended_cron
from oncue.common.duration import seconds_of
from oncue.common.errors import BadInput, CronError
from oncue.common.keys import schedule_name
from oncue.common.localtime import first_ms, last_ms, meant_moment, reading_of
from oncue.common.mended import SUCH_AS, advised, mended, renamed
from oncue.common.problem import Problem
from oncue.common.recurrence_text import read_parts
from oncue.common.rrulemended import mended_rrule
from oncue.common.rule import Rule
from oncue.common.task import DEFAULT_QUEUE
from oncue.common.timing import Timing
from oncue.common.walltime import wall_clock
from oncue.common.yamlfile import Entry, Node

_CUT_OFF = {"cron": re.compile(r"[\d*/,LW#? -]+"), "rrule": re.compile(r"[A-Z\d+;=, -]+")}
_CALLED = {"cron": "cron expression", "rrule": "rrule"}
_FIELDS = {"every": "every_s", "jitter": "jitter_s", "catch_up_within": "catch_up_within_s"}
_KINDS = frozenset({"cron", "every", "rrule"})
_SETTLES = frozenset({*SCHEDULE, "exclude"}) - {"queue", "priority", "overlap"}
_BESIDE = {
    "has no effect without exclude": "write exclude: [2026-12-25] beside it, or remove it",
    "has no effect": "remove it",
    "goes with ": "remove it",
    "is given too": "remove the others",
    "which is before start": "write a later one, or remove it",
    "no tick is left": "remove what excludes too much, or write another start or end",
}
"""What to do about a key whose value is right by itself."""

_COMMENT_OR_NTH = re.compile(r"\s+#\d")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a schedule's entry is read with: its file, what stands in where it says nothing, and the calendars."""

    file: str
    timezone: str
    max_data_bytes: int
    calendars: Mapping[str, tuple[str, ...] | None]


def read_schedule(
    name: str, entry: Entry, given: Surroundings
) -> tuple[ScheduleConfig | None, list[Problem]]:
    """Check one entry of `schedules`. Returns it, or its faults."""
    section = Section(given.file, f"schedules.{name}", [], schedule=name)
    try:
        schedule_name(name)
    except BadInput as error:
        section.blame(entry, "", advised(str(error), renamed(name, "schedule")))
    values = _values(section, entry, given)
    entries, usual = entry.node.entries, {"timezone": given.timezone, "queue": DEFAULT_QUEUE, "cron": None}
    work = read_work(section, entries, given.max_data_bytes)
    usual |= work or {"data": read_data(section, entries.get("data"), given.max_data_bytes)}
    schedule = ScheduleConfig(**{"name": name, "line": entry.line, **usual, **values})
    _check(section, entry, schedule)
    return (None if section.faults else schedule), section.faults


def written_hash(entry: Entry, given: Surroundings) -> str:
    """A hash of all that an entry's meaning comes from, whether this host can use it or not: it may lack a zone."""
    exclude = entry.node.entries.get("exclude")
    named = exclude.node.value if exclude is not None and isinstance(exclude.node.value, list) else []
    names = [str(item.value) for item in named]
    calendars = {name: given.calendars[name] for name in names if name in given.calendars}
    text = json.dumps([_plain(entry.node), given.timezone, calendars], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _plain(node: Node) -> object:
    if isinstance(node.value, dict):
        return {key: _plain(entry.node) for key, entry in node.value.items()}
    return [_plain(item) for item in node.value] if isinstance(node.value, list) else node.value


def _is_whole(section: Section, schedule: Entry, faulty: Collection[str]) -> bool:
    """Whether all that settles the ticks could be read, so that no fault is told a second time as what is missing."""
    if schedule.node.partial or not {section.name, *_SETTLES}.isdisjoint(faulty):
        return False
    return not faulty or bool(_KINDS & schedule.node.entries.keys())


def _values(section: Section, schedule: Entry, given: Surroundings) -> dict[str, Any]:
    entries = section.mapping(schedule.node, _line_of(schedule.node))
    if not isinstance(schedule.node.value, dict | None):
        return {}
    cut_off = _cut_off(entries)
    values = section.take(entries, SCHEDULE, beside=("exclude", "data", "retry", *WORK_KEYS, *cut_off))
    if cut_off:
        kind = next(key for key in _CUT_OFF if key in entries)
        whole = ",".join((str(entries[kind].node.value), *cut_off))
        message = f"in braces a comma ends a value: quote the {_CALLED[kind]}"
        section.blame(entries[cut_off[0]], kind, f'{message}; write {kind}: "{whole}"')
    if "exclude" in entries:
        values |= read_exclude(section, entries["exclude"], given.calendars)
    if "retry" in entries:
        values["retry"] = read_retry(section.inside("retry"), entries["retry"].node)
    return _renamed(values)


def _line_of(node: Node) -> str:
    """What to write instead of no mapping: a text alone may be the expression or the duration of a schedule."""
    text = node.value if isinstance(node.value, str) else ""
    if seconds_of(text):
        return f"{{every: {text}}}"
    try:
        read_expression(text)
    except CronError:
        return f'{SUCH_AS}{{cron: "30 2 * * *"}}'
    return f'{{cron: "{text}"}}'


def _renamed(values: dict[str, Any]) -> dict[str, Any]:
    """The values under the names of `ScheduleConfig`, which say the unit."""
    renamed = {_FIELDS.get(key, key): value for key, value in values.items()}
    if renamed.pop("from", None):
        renamed["from_end"] = True
    return renamed


def _cut_off(entries: Mapping[str, Entry]) -> list[str]:
    """In braces `cron: 0 0 1,15 * *` ends at the comma, and `15 * *` is a key without a value."""
    patterns = [pattern for kind, pattern in _CUT_OFF.items() if kind in entries]
    return [
        key
        for key, entry in entries.items()
        if key not in SCHEDULE
        and entry.node.value is None
        and any(pattern.fullmatch(key) for pattern in patterns)
    ]


def _check(section: Section, schedule: Entry, config: ScheduleConfig) -> None:
    """The expression and the instants, and where all could be read what only shows in all values together."""
    faulty = {problem.key.removeprefix(section.name + ".") for problem in section.faults}
    is_whole = _is_whole(section, schedule, faulty)
    entries = schedule.node.entries
    comment = "a blank and '#' start a comment: quote the cron expression"
    cron = entries.get("cron")
    if cron is not None and "cron" not in faulty and _COMMENT_OR_NTH.match(cron.node.after):
        section.blame(cron, "cron", comment)
        return
    faults: list[tuple[str, CronError]] = []
    try:
        if is_whole:
            Rule(config.name, config.timing)
    except CronError as error:
        kind = next((key for key in entries if key in _KINDS), "cron")
        faults = [(error.field if error.field in _SETTLES else kind, error)]
    if faults or not is_whole:
        faults = list(_by_themselves(config, entries.keys() - faulty)) or faults
    for key, fault in faults:
        hint = f"; {comment}" if key == "cron" and cron and cron.node.after.lstrip().startswith("#") else ""
        section.blame(entries.get(key, schedule), key, f"{_told(fault, key, config, entries)}{hint}")
    if faults or not is_whole:
        return
    for key, message in _without_effect(config, entries.keys()):
        section.blame(entries[key], key, message)


def _by_themselves(config: ScheduleConfig, keys: Collection[str]) -> Iterator[tuple[str, CronError]]:
    """What is wrong with the expression, the rrule and each instant of these keys, whatever else is."""
    clock = wall_clock(config.timezone)
    checks: dict[str, Callable[[str], object]] = {
        "cron": lambda text: Rule(config.name, Timing(cron=text, days=config.days)),
        "rrule": read_parts,
        "anchor": lambda text: first_ms("anchor", text, clock),
        "dtstart": lambda text: reading_of("dtstart", text, clock),
        "start": lambda text: first_ms("start", text, clock),
        "end": lambda text: last_ms("end", text, clock),
    }
    for key in [key for key in checks if key in keys]:
        try:
            checks[key](getattr(config, key))
        except CronError as error:
            yield key, error


def _told(error: CronError, key: str, config: ScheduleConfig, given: Collection[str]) -> str:
    """What is wrong with the value of a key, and what to write; beside others no example mends it, but to go without."""
    message = str(error).removeprefix(f"{key}: ")
    if key == "cron" and config.cron is not None:
        message = mended_cron(message, error, config)
    if key == "rrule" and (line := mended_rrule(config, given)):
        return f"{message}; write {line}"
    own = "found " in message and error.code not in ("order", "never")
    if own and key == "dtstart" and (day := meant_moment(config.dtstart)) and "T" not in day:
        return f"{message}; write {SUCH_AS}dtstart: {day}T09:00"
    if own or message.startswith("is missing"):
        return (
            advised(message, mended(key, SCHEDULE[key], getattr(config, key, None)))
            if key in SCHEDULE
            else message
        )
    beside = next((line for sign, line in _BESIDE.items() if sign in message), "")
    return f"{message}; {beside}" if beside else message


def _without_effect(config: ScheduleConfig, given: Collection[str]) -> Iterator[tuple[str, str]]:
    if "catch_up_max" in given and config.catch_up != "all":
        yield "catch_up_max", "has no effect without catch_up: all; write that beside it, or remove it"
    if "catch_up_within" in given and config.catch_up == "skip":
        yield "catch_up_within", "has no effect with catch_up: skip; remove it"
    if config.from_end and config.catch_up == "all":
        why = "has no effect with from: end, which plans one run at a time"
        yield "catch_up", f"{why}; allowed: latest, skip; write catch_up: latest"
    if config.from_end and config.overlap != "skip":
        yield "overlap", "has no effect with from: end, whose runs never overlap; remove it"
