"""Celery beat's settings: a Python module, which is read and never executed, or JSON as `celery inspect conf` prints."""

import ast
import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from oncue.cli.imported import Imported, Job, duration
from oncue.cli.literals import Literals, Spread, Unread
from oncue.common.duration import LONGEST_S
from oncue.common.errors import BadInput

_SCHEDULE = re.compile(r"(?i)(celery_?)?beat_?schedule")
_ZONE = re.compile(r"(?i)(celery_)?timezone")
_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_REPR = re.compile(r"<crontab: (\S+) (\S+) (\S+) (\S+) (\S+) \((m/h/d/dM/MY|m/h/dM/MY/d)\)>")
_PACE = re.compile(r"<freq: (\d+(?:\.\d+)?) (second|minute|hour|day)s?>")
_ADDED = ("schedule", "sig", "args", "kwargs", "name")
_LONG_NAME = re.compile(r"(?i)(sun|mon|tue|wed|thu|fri|sat)[a-z]*day")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_ORDERS = {
    "m/h/d/dM/MY": ("minute", "hour", "day_of_week", "day_of_month", "month_of_year"),
    "m/h/dM/MY/d": _FIELDS,
}


def read_celery(text: str, timezone: str | None, *, is_json: bool) -> Imported:
    """Reads the entries. Raises BadInput where there is no beat schedule to be found."""
    found = Imported()
    entries, zone = _from_json(text) if is_json else _from_python(text)
    if not isinstance(entries, dict):
        why = "it is computed, and no code is run here" if entries is not None else "there is none"
        raise BadInput(
            f"no beat_schedule can be read: {why}; `celery inspect conf --json` prints one as JSON"
        )
    if isinstance(zone, Unread):
        found.notes.append(f"The timezone, {zone}, is computed and was not read: --tz names it.")
    known = timezone or (zone if isinstance(zone, str) else "UTC")
    found.notes += [
        "As with Celery, runs may overlap. Intervals count from 1970 here, not from the start of beat.",
        'A handler gets {"task", "args", "kwargs"} as its data, and calls what the task was.',
    ]
    for name, entry in entries.items():
        if isinstance(name, Spread):
            found.refuse(f"**{name}", "entries", "they are computed, and no code is run here")
        else:
            _read_entry(found, str(name), entry, known)
    return found


def _from_python(text: str) -> tuple[Any, Any]:
    try:
        literals = Literals(ast.parse(text))
        entries, added = literals.find(_SCHEDULE), dict(_added(literals))
        if added and isinstance(entries, dict | None):
            entries = (entries or {}) | added
        return entries, literals.find(_ZONE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadInput(f"this is no Python that can be read: {error}") from None


def _added(literals: Literals) -> Iterator[tuple[str, dict[str, Any]]]:
    """What `add_periodic_task(schedule, sig, args, kwargs, name, **options)` adds when the app runs, as entries."""
    for call in literals.calls("add_periodic_task"):
        given = dict(zip(_ADDED, call.args, strict=False))
        given |= {word.arg: word.value for word in call.keywords if word.arg}
        entry = {key: literals.value(node) for key, node in given.items() if key != "sig"}
        options = {key: entry.pop(key) for key in list(entry) if key not in _ADDED}
        entry |= {"options": options, **_signature(literals, given.get("sig"))}
        name = entry.pop("name", None)
        yield name if isinstance(name, str) else f"{entry['task']} of line {call.lineno}", entry


def _signature(literals: Literals, sig: ast.expr | None) -> dict[str, Any]:
    """Task and arguments of `task.s(...)`; of what is computed its source."""
    if isinstance(sig, ast.Call) and isinstance(sig.func, ast.Attribute):
        values = [literals.value(value) for value in sig.args]
        named = {word.arg or "**": literals.value(word.value) for word in sig.keywords}
        task = ast.unparse(sig.func.value)[:200]
        if sig.func.attr in ("s", "si"):
            return {
                "task": task,
                **{key: given for key, given in (("args", values), ("kwargs", named)) if given},
            }
        if sig.func.attr in ("signature", "subtask"):
            return {"task": task, **dict(zip(("args", "kwargs"), values, strict=False)), **named}
    return {"task": "none" if sig is None else ast.unparse(sig)[:200]}


def _from_json(text: str) -> tuple[Any, Any]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"this is no JSON: {error}") from None
    for settings in _mappings(tree, 4):
        for name, value in settings.items():
            if _SCHEDULE.fullmatch(name):
                zone = next((zone for key, zone in settings.items() if _ZONE.fullmatch(key)), None)
                return value, zone
    is_bare = isinstance(tree, dict) and all(
        isinstance(one, dict) and "schedule" in one for one in tree.values()
    )
    return (tree if is_bare else None), None


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
    notes: list[str] = []
    try:
        settings = _when(entry.get("schedule"), timezone)
    except BadInput as error:
        found.refuse(place, str(entry.get("schedule")), str(error))
        return
    settings |= {"overlap": "allow", **_options(entry.get("options"), notes)}
    if entry.get("enabled") is False:
        settings["enabled"] = False
    data = {key: _readable(entry[key], key, notes) for key in ("task", "args", "kwargs") if entry.get(key)}
    found.jobs.append(Job(name, place, settings | {"data": data}, notes))


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


def _when(schedule: Any, timezone: str) -> dict[str, Any]:
    """The keys that say when. Raises BadInput for what has no counterpart."""
    if isinstance(schedule, bool | None):
        raise BadInput("there is no schedule")
    if isinstance(schedule, int | float):
        if not 0 < schedule < LONGEST_S:
            raise BadInput("an interval is longer than nothing, and no longer than a century")
        return {"every": duration(schedule)}
    if isinstance(schedule, str):
        return _printed(schedule, timezone)
    if isinstance(schedule, dict):
        return _crontab(schedule, timezone)
    call = schedule.call if isinstance(schedule, Unread) else None
    if call and call[0] == "crontab":
        return _crontab(_arguments(call), timezone)
    raise BadInput("it is computed, or of a kind that has no counterpart; write cron, every or rrule by hand")


def _printed(schedule: str, timezone: str) -> dict[str, Any]:
    """What `celery inspect conf` makes of a schedule."""
    crontab, pace = _REPR.match(schedule), _PACE.match(schedule)
    if crontab:
        *words, order = crontab.groups()
        return _crontab(dict(zip(_ORDERS[order], words, strict=True)), timezone)
    if pace:
        return {"every": duration(float(pace[1]) * _SECONDS[pace[2]])}
    raise BadInput("it is of a kind that has no counterpart; write cron, every or rrule by hand")


def _arguments(call: tuple[str, list[Any], dict[str, Any]]) -> dict[str, Any]:
    _, values, named = call
    if len(values) > 2:
        raise BadInput("more than two values without names, in an order that is not crontab's: name them")
    return dict(zip(_FIELDS, values, strict=False)) | named


def _crontab(fields: dict[str, Any], timezone: str) -> dict[str, Any]:
    for name in fields.keys() - _FIELDS:
        raise BadInput(f"{name} has no counterpart; write it by hand")
    words = [_field(fields.get(name, "*")) for name in _FIELDS]
    words[4] = _LONG_NAME.sub(r"\1", words[4])
    settings = {"cron": " ".join(words), "timezone": timezone}
    # In Celery a day has to match both.
    if words[2] != "*" and words[4] != "*":
        settings["days"] = "both"
    return settings


def _field(value: Any) -> str:
    if isinstance(value, list | tuple | set) and value:
        return ",".join(_field(one) for one in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return "".join(value.split())
    raise BadInput(f"{value!s:.60} is no value of a crontab, or computed")
