"""What differs between two definitions of a schedule, setting by setting; what may be secret is never shown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from oncue.common.configtypes import ScheduleConfig
from oncue.common.secret import Secret

HIDDEN = "(hidden)"
_CHANGED = "(hidden, another one)"
_SECRET = ("env.", "http.headers.")
_PLACES = frozenset(Secret.__struct_fields__)
_NAME = r"(?:pass|pwd|secret|token|key|auth|cred|cookie|bearer)[\w.-]{0,40}"
_GIVEN = re.compile(
    # Behind a colon a number is a port.
    rf"(?is)(-p(?=.)|(?:-u|--user=)(?=.*:)|.*?(?:{_NAME}[\"']?\s*(?:=|:(?!\d|//))"
    r"|://(?:(?=[^/@\s]{0,99}:[^/@\s]{0,99}@)|(?<=tps://|ttp://)(?=[^/@\s]{0,99}@)|[^?\s]{0,999}\?))).*"
)
_FLAG = re.compile(rf"(?i)-[\w.-]{{0,40}}{_NAME}|-p|-u|--user")


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
    if name in ("command", "http.url"):
        shown = [_veiled(old), _veiled(new)]
        return [*shown[:1], _CHANGED] if shown[0] == shown[1] else shown
    if not name.startswith(_SECRET):
        return [old, new]
    hidden = [_shown(old), _shown(new)]
    return [HIDDEN, _CHANGED] if hidden == [HIDDEN, HIDDEN] else hidden


def _veiled(value: Any) -> object:
    """A command or a URL without what looks like a password; a text for the shell is hidden whole if a part is."""
    if isinstance(value, str):
        words = value.split()
        shown = list(_words(words))
        return value if shown == words else shown[0] if len(words) == 1 else HIDDEN
    return list(_words(value)) if isinstance(value, Sequence) else value


def _words(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        given = _GIVEN.fullmatch(word)
        if given and not _FLAG.fullmatch(before):
            yield given[1] + HIDDEN
        else:
            # It may be a text for a shell by itself.
            parts = word.split()
            yield HIDDEN if _FLAG.fullmatch(before) or (parts[1:] and list(_words(parts)) != parts) else word
        before = word


def _shown(value: Any) -> object:
    """The place of a secret is none; a text of the file may be one."""
    is_place = isinstance(value, Mapping) and value.keys() <= _PLACES
    return value if value is None or is_place else HIDDEN
