"""A schedule as a program gives it, by the names of `ScheduleConfig`; what is refused is told in words of Python."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from oncue.common.configkeys import nearest_key
from oncue.common.configtypes import ScheduleConfig
from oncue.common.duration import meant_duration, seconds_of
from oncue.common.errors import BadInput
from oncue.common.expected import expected

_OTHERWISE = {
    "every": "every_s",
    "jitter": "jitter_s",
    "catch_up_within": "catch_up_within_s",
    "from": "from_end",
    "tz": "timezone",
    "zone": "timezone",
    "expr": "cron",
}
"""What the file, and others, call the same settings."""


def unknown_setting(key: str, given: object, known: Iterable[str]) -> BadInput:
    """The refusal of a setting that there is not, with the one that was meant."""
    allowed = sorted(known)
    near = _OTHERWISE.get(key) or nearest_key(key, allowed)
    seconds = seconds_of(meant_duration(given)) if near.endswith("_s") else None
    value = "" if seconds is None else f"={seconds}"
    hint = f"did you mean {near}{value}? " if near else ""
    return BadInput(f"{key!r:.60} is no setting of a schedule; {hint}allowed: {', '.join(allowed)}")


def schedule_of(settings: Mapping[str, Any]) -> ScheduleConfig:
    """The schedule. Raises BadInput that names the setting, what was found and what is allowed."""
    try:
        return msgspec.convert(settings, ScheduleConfig)
    except msgspec.ValidationError as error:
        raise BadInput(f"schedule {settings['name']}: {_told(str(error), settings)}") from None


def _told(text: str, settings: Mapping[str, Any]) -> str:
    for key, hint in get_type_hints(ScheduleConfig).items():
        if get_origin(hint) is Literal and settings.get(key, get_args(hint)[0]) not in get_args(hint):
            return f"{key}: found {settings[key]!r:.60}; allowed: {', '.join(get_args(hint))}"
    refused = expected(text)
    if refused is None:
        return text
    key, allowed = refused
    seconds = seconds_of(meant_duration(settings[key])) if key.endswith("_s") else None
    hint = f"; did you mean {key}={seconds}?" if seconds else ""
    return f"{key}: found {settings[key]!r:.60}; {allowed}{hint}"
