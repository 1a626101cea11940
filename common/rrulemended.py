"""A refused rrule as the lines to write: the same rule with the faulty part mended, or without it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches

from oncue.common.errors import CronError
from oncue.common.recurrence_text import FREQUENCIES, MAX_LENGTH, WEEKDAYS, read_parts

_LINE = re.compile(r"(?P<name>[A-Z]+)(?:;TZID=(?P<zone>[^:;]+))?(?:;[A-Z]+=[^:;]*)*:(?P<value>.*)")
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T?[ ]?(\d\d):?(\d\d):?(\d\d)?(Z?))?")
_FAULT = re.compile(r"rrule: (?:(?P<part>[A-Z]+): )?found '?(?P<found>[^';]*)'?")
_BETWEEN = re.compile(r"\s*;\s*|\s+(?=[A-Z]+=)")
_NAMES = ("INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYHOUR", "BYMINUTE")
_MOST_FAULTS = 5


def mended_rrule(text: str, *, has_dtstart: bool) -> str:
    """What to write instead, such as `rrule: "FREQ=DAILY" and dtstart: 2026-01-05T09:00:00`; "" where none is plain."""
    if len(text) > MAX_LENGTH:
        return ""
    rule = ""
    beside: dict[str, str] = {}
    for line in text.strip().splitlines():
        named = _LINE.fullmatch(line.strip().upper())
        if named is None or named["name"] == "RRULE":
            if rule and line.strip():
                return ""
            rule = line.strip().upper().removeprefix("RRULE:")
        elif named["name"] in ("DTSTART", "EXDATE"):
            zone = named["zone"] and line[line.upper().index("TZID=") + 5 :].partition(":")[0]
            beside |= _beside(named["name"], named["value"], zone)
    parts = [part for part in _BETWEEN.split(rule.strip()) if part]
    for _ in range(_MOST_FAULTS):
        try:
            read_parts(";".join(parts))
        except CronError as error:
            mended = list(_without_fault(parts, str(error)))
            if mended == parts:
                return ""
            parts = mended
        else:
            if has_dtstart:
                beside.pop("dtstart", None)
            lines = [f'rrule: "{";".join(parts)}"', *(f"{key}: {one}" for key, one in beside.items())]
            return " and ".join(lines)
    return ""


def _beside(name: str, value: str, zone: str | None) -> dict[str, str]:
    """The lines of a calendar's event as the keys of a schedule."""
    moments = [moment for one in value.split(",") if (moment := _moment(one))]
    if not moments:
        return {}
    if name == "EXDATE":
        return {"exclude": f"[{', '.join(moment.date().isoformat() for moment in moments)}]"}
    first = moments[0].isoformat(timespec="minutes" if not moments[0].second else "seconds")
    return {"dtstart": first.replace("+00:00", "Z")} | ({"timezone": zone} if zone else {})


def _moment(text: str) -> datetime | None:
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    try:
        moment = datetime(*(int(part or 0) for part in found.groups()[:6]))  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if found[7] else moment


def _without_fault(parts: list[str], message: str) -> Iterator[str]:
    """The parts with the faulty one mended, or without it where it says nothing; the same where it may say anything."""
    fault = _FAULT.match(message)
    for part in parts:
        name, _, value = part.partition("=")
        name = name.strip()
        if fault is None or name != (fault["part"] or fault["found"]):
            yield part
        elif fault["part"] is None:
            near = get_close_matches(name, _NAMES, n=1, cutoff=0.75)
            if near and value:
                yield f"{near[0]}={value}"
        elif kept := _values(name, value, fault["found"]):
            yield f"{name}={kept}"
        elif name != "INTERVAL" or fault["found"].strip("0").isdigit():
            yield part


def _values(name: str, value: str, found: str) -> str:
    """A part's value with what was found in it mended, or without it; "" where nothing is left."""
    if name == "FREQ":
        return next(iter(get_close_matches(value, FREQUENCIES, n=1)), "")
    if name == "UNTIL":
        moment = _moment(value)
        if moment is None:
            return ""
        written = f"{moment:%Y%m%dT%H%M%S}" if ":" in value or "T" in value else f"{moment:%Y%m%d}"
        return written + ("Z" if moment.tzinfo else "")
    values = [one.strip() for one in value.split(",")]
    if name == "BYDAY" and found.isalpha() and found[:2] in WEEKDAYS:
        return ",".join(dict.fromkeys(found[:2] if one == found else one for one in values))
    return ",".join(one for one in values if one != found)
