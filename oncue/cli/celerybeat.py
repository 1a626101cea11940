"""Celery beat's settings: a Python module, which is read and never executed, or JSON as `celery inspect conf` prints."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from oncue.cli.celeryadded import added
from oncue.cli.celeryschedule import scheduled
from oncue.cli.celerysettings import setting
from oncue.cli.celerywhen import when
from oncue.cli.imported import Imported, Job
from oncue.cli.literals import LeftOut, Literals, Spread, Unread, position
from oncue.common.errors import BadInput

_SCHEDULE = re.compile(r"(?i)(celery_?)?beat_?schedule")
_ZONE = re.compile(r"(?i)(celery_)?timezone")
_DJANGO_ZONE = re.compile("TIME_ZONE")
_UTC = re.compile(r"(?i)(celery_?)?enable_?utc")
_OF_DJANGO = "In a project of Django it is CELERY_TIMEZONE or TIME_ZONE of its settings."
_NO_ZONE = (
    "No timezone is set in this file: UTC, as in Celery unless enable_utc is off, or what --tz says. "
    + _OF_DJANGO
)
_HOST_ZONE = (
    "enable_utc is off and no timezone is set in this file: times were those of the host's zone, which is not known "
    "here: UTC, unless --tz names it. " + _OF_DJANGO
)
_READ = ("task", "schedule", "args", "kwargs", "options", "enabled")


@dataclass(frozen=True)
class _Zone:
    """What the settings say of the zone; None where they say nothing."""

    own: Any = None
    of_django: Any = None
    utc: Any = None


def read_celery(text: str, timezone: str | None, *, is_json: bool) -> Imported:
    """Reads the entries. Raises BadInput where there is no beat schedule to be found."""
    found = Imported()
    entries, zone = _from_json(text) if is_json else _from_python(text)
    if not isinstance(entries, dict):
        why = "it is computed, and no code is run here" if entries is not None else "there is none"
        raise BadInput(
            f"no beat_schedule can be read: {why}; `celery inspect conf --json` prints one as JSON"
        )
    known = _timezone(found, timezone, zone)
    found.notes += [
        "As with Celery, runs may overlap. Intervals count from 1970 here, not from the start of beat.",
        'A handler gets {"task", "args", "kwargs"} as its data, and calls what the task was.',
    ]
    for name, entry in entries.items():
        if isinstance(name, LeftOut):
            found.refuse(name.place, name.source, name.why)
        elif isinstance(name, Spread):
            found.refuse(f"**{name}", "entries", "they are computed, and no code is run here")
        else:
            _read_entry(found, str(name), entry, known)
    return found


def _timezone(found: Imported, given: str | None, said: _Zone) -> str:
    """The zone that the file names, or else ``given``, or UTC."""
    zone = said.own or said.of_django
    if isinstance(zone, str):
        if not said.own:
            found.notes.append(
                f"Times are those of Django's TIME_ZONE, {zone}, which Celery takes where it has no timezone of its own."
            )
        return zone
    if given is None:
        unread = f"The timezone, {zone}, is computed and was not read: UTC, unless --tz names it."
        unset = _HOST_ZONE if said.utc is False else _NO_ZONE
        found.notes.append(unread if zone else unset)
    return given or "UTC"


def _from_python(text: str) -> tuple[Any, _Zone]:
    try:
        literals = Literals(ast.parse(text))
        return _entries(literals), _Zone(*(setting(literals, name) for name in (_ZONE, _DJANGO_ZONE, _UTC)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadInput(f"this is no Python that can be read: {error}") from None


def _entries(literals: Literals) -> Any:
    parts = sorted([*scheduled(literals, _SCHEDULE), *added(literals)], key=lambda part: position(part[0]))
    for _, part in parts:
        if not isinstance(part, dict):
            return part
    return {name: entry for _, part in parts for name, entry in part.items()} if parts else None


def _from_json(text: str) -> tuple[Any, _Zone]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"this is no JSON: {error}") from None
    for settings in _mappings(tree, 4):
        for name, value in settings.items():
            if _SCHEDULE.fullmatch(name):
                return value, _Zone(*(_setting(settings, known) for known in (_ZONE, _DJANGO_ZONE, _UTC)))
    is_bare = isinstance(tree, dict) and all(
        isinstance(one, dict) and "schedule" in one for one in tree.values()
    )
    return (tree if is_bare else None), _Zone()


def _setting(settings: dict[str, Any], name: re.Pattern[str]) -> Any:
    return next((value for key, value in settings.items() if name.fullmatch(key)), None)


def _mappings(tree: Any, depth: int) -> Iterator[dict[str, Any]]:
    """All mappings near the top: `celery inspect` puts the host's name around its settings."""
    if isinstance(tree, dict):
        yield tree
    if depth and isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from _mappings(inner, depth - 1)


def _read_entry(found: Imported, name: str, entry: Any, timezone: str) -> None:
    place = f"entry {name}"
    if not isinstance(entry, dict):
        found.refuse(place, str(entry), "it is computed, and no code is run here")
        return
    if not isinstance(entry.get("task"), str):
        found.refuse(place, str(entry.get("task")), "the task has no name, or one that is computed")
        return
    if not isinstance(entry.get("enabled", True), bool):
        found.refuse(place, f"enabled={entry['enabled']}", "it is neither True nor False")
        return
    notes = [f"{key}={value} was not carried over." for key, value in entry.items() if key not in _READ]
    try:
        settings = when(entry.get("schedule"), timezone)
    except BadInput as error:
        found.refuse(place, str(entry.get("schedule")), str(error))
        return
    settings |= {"overlap": "allow", **_options(entry.get("options"), notes)}
    if not entry.get("enabled", True):
        settings["enabled"] = False
    data = {key: _readable(entry[key], key, notes) for key in ("task", "args", "kwargs") if entry.get(key)}
    found.entries.append(Job(name, place, settings | {"data": data}, notes))


def _options(options: Any, notes: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in options.items() if isinstance(options, dict) else ():
        if name == "queue" and isinstance(value, str):
            settings["queue"] = value
        else:
            notes.append(f"options: {name}={value} was not carried over.")
    if isinstance(options, Unread):
        notes.append(f"options: {options} was not carried over.")
    return settings


def _readable(value: Any, key: str, notes: list[str]) -> Any:
    """A value as JSON has it; what is computed becomes null, with a note."""
    if isinstance(value, dict):
        return {str(name): _readable(inner, f"{key}.{name}", notes) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(inner, f"{key}[{at}]", notes) for at, inner in enumerate(value)]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value)):
        return value
    notes.append(f"{key} is {value}, which was not read: null stands for it.")
    return None
