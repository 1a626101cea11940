"""What differs between two definitions of a schedule, setting by setting; what may be secret is never shown."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from oncue.common.configtypes import ScheduleConfig
from oncue.common.secret import Secret

HIDDEN = "(hidden)"
_CHANGED = "(hidden, another one)"
_SECRET = ("env.", "http.headers.")
_PLACES = frozenset(Secret.__struct_fields__)


def edited(before: ScheduleConfig | None, after: ScheduleConfig | None) -> dict[str, list[object]]:
    """Each setting that differs with its value before and after; what a command or call is told, entry by entry."""
    if before is None or after is None:
        return {}
    old, new = _settings(before), _settings(after)
    names = [*old, *(name for name in new if name not in old)]
    return {
        name: _pair(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)
    }


def _settings(config: ScheduleConfig) -> dict[str, Any]:
    values = {
        key.name: getattr(config, key.name) for key in fields(config) if key.name not in ("line", "written")
    }
    if config.runs != "task" and isinstance(config.data, Mapping):
        values |= _flat(values.pop("data"), "")
    return values


def _flat(data: Mapping[str, Any], before: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in data.items():
        inside = isinstance(value, Mapping) and f"{before}{name}." in ("http.", *_SECRET)
        flat |= _flat(value, f"{before}{name}.") if inside else {f"{before}{name}": value}
    return flat


def _pair(name: str, old: Any, new: Any) -> list[object]:
    if not name.startswith(_SECRET):
        return [old, new]
    hidden = [_shown(old), _shown(new)]
    return [HIDDEN, _CHANGED] if hidden == [HIDDEN, HIDDEN] else hidden


def _shown(value: Any) -> object:
    """The place of a secret is none; a text of the file may be one."""
    is_place = isinstance(value, Mapping) and value.keys() <= _PLACES
    return value if value is None or is_place else HIDDEN
