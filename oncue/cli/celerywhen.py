"""When an entry of Celery beat runs, as the keys of a schedule."""

import re
from typing import Any

from oncue.cli.imported import duration
from oncue.cli.literals import Unread
from oncue.common.duration import LONGEST_S
from oncue.common.errors import BadInput

_BOUNDS = {
    "minute": (0, 59),
    "hour": (0, 23),
    "day_of_month": (1, 31),
    "month_of_year": (1, 12),
    "day_of_week": (0, 6),
}
_FIELDS = tuple(_BOUNDS)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_RANGE = re.compile(r"(\w+)-(\w+)(?:/([1-9][0-9]?))?")
_REPR = re.compile(r"<crontab: (\S+) (\S+) (\S+) (\S+) (\S+) \((m/h/d/dM/MY|m/h/dM/MY/d)\)>")
_PACE = re.compile(r"<freq: (\d+(?:\.\d+)?) (second|minute|hour|day)s?>")
_LONG_NAME = re.compile(r"(?i)(sun|mon|tue|wed|thu|fri|sat)[a-z]*day")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_ORDERS = {
    "m/h/d/dM/MY": ("minute", "hour", "day_of_week", "day_of_month", "month_of_year"),
    "m/h/dM/MY/d": _FIELDS,
}


def when(schedule: Any, timezone: str) -> dict[str, Any]:
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
    words = [_forward(word, *_BOUNDS[name]) for name, word in zip(_FIELDS, words, strict=True)]
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


def _forward(field: str, first: int, last: int) -> str:
    """The same with ranges that run over the end, as `fri-mon` may in Celery, written as their values."""
    return ",".join(_unwrapped(part, first, last) for part in field.split(","))


def _unwrapped(part: str, first: int, last: int) -> str:
    found = _RANGE.fullmatch(part)
    start, end = (_value(found[1]), _value(found[2])) if found else (first, last)
    if found is None or start <= end or start > last or end < first:
        return part
    values = [*range(start, last + 1), *range(first, end + 1)]
    return ",".join(map(str, values[:: int(found[3] or 1)]))


def _value(text: str) -> int:
    """What a word of a field counts as; -1 for what is none, which the reader of cron expressions refuses."""
    if text.isdecimal() and len(text) < 3:
        return int(text)
    return _DAYS.index(text.lower()) if text.lower() in _DAYS else -1
