"""A refused rrule as the lines to write: the same rule with its faulty parts mended, and what stands in it beside it."""

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from difflib import get_close_matches

from oncue.common.configtypes import ScheduleConfig
from oncue.common.errors import CronError
from oncue.common.recurrence_text import FREQUENCIES, MAX_LENGTH, WEEKDAYS, read_parts
from oncue.common.rule import Rule
from oncue.common.timing import Timing

_LINE = re.compile(r"(?P<name>[A-Z]+)(?:;TZID=(?P<zone>[^:;]+))?(?:;VALUE=[A-Z-]+)?:(?P<value>.*)")
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T?[ ]?(\d\d):?(\d\d):?(\d\d)?(Z?))?")
_FAULT = re.compile(r"rrule: (?:(?P<part>[A-Z]+): )?found '?(?P<found>[^';]*)'?")
_BETWEEN = re.compile(r"\s*;\s*|\s+(?=[A-Z]+=)")
_RANGE = re.compile(r"(\d{1,2})-(\d{1,2})|([A-Z]{2})-([A-Z]{2})")
_NAMES = ("INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYHOUR", "BYMINUTE")
_OF_DAYS = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY")
_WHOLE_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_MOST_FAULTS = 5
_SOME_BEGIN = "2026-01-05T09:00"


def mended_rrule(config: ScheduleConfig, given: Collection[str]) -> str:
    """What to write instead, such as `rrule: "FREQ=DAILY" and dtstart: 2026-01-05T09:00`; "" where none is plain.

    `given` are the keys of the schedule: what the rule says otherwise than they do is not plain.
    """
    text = config.rrule or ""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    rules = [
        line for line in lines if not (named := _LINE.fullmatch(line.upper())) or named["name"] == "RRULE"
    ]
    if len(text) > MAX_LENGTH or len(rules) != 1:
        return ""
    parts = _mended([part for part in _BETWEEN.split(rules[0].upper().removeprefix("RRULE:")) if part])
    beside = _beside([line for line in lines if line not in rules], parts, config)
    if not parts or beside is None:
        return ""
    rule = ";".join(parts)
    is_same = rule == text.strip().upper().removeprefix("RRULE:").rstrip(";")
    is_other = any(key in given and getattr(config, key) != value for key, value in beside.items())
    if is_same or is_other or not _is_taken(rule, beside, config):
        return ""
    new = [f"{key}: {value}" for key, value in beside.items() if key not in given]
    return " and ".join([f'rrule: "{rule}"', *new])


def _is_taken(rule: str, beside: dict[str, str], config: ScheduleConfig) -> bool:
    first = beside.get("dtstart") or config.dtstart or _SOME_BEGIN
    zone = beside.get("timezone") or config.timezone
    try:
        Rule(config.name, Timing(rrule=rule, dtstart=first, timezone=zone))
    except CronError:
        return False
    return True


def _mended(parts: list[str]) -> list[str]:
    """The parts with each faulty one mended; none where one may mean anything."""
    for _ in range(_MOST_FAULTS):
        try:
            read_parts(";".join(parts))
        except CronError as error:
            before, parts = parts, list(_without_fault(parts, str(error)))
            if parts == before:
                return []
        else:
            return parts
    return []


def _beside(lines: list[str], parts: list[str], config: ScheduleConfig) -> dict[str, str] | None:
    """The other lines of a calendar's event as keys of a schedule; None where one of them has no such key."""
    beside: dict[str, str] = {}
    excluded: list[tuple[str, datetime]] = []
    for line in lines:
        named = _LINE.fullmatch(line.upper())
        moments = [_moment(one) for one in named["value"].split(",")] if named else [None]
        first = moments[0]
        if named is None or first is None or None in moments:
            return None
        if named["name"] == "DTSTART" and len(moments) == 1:
            shown = first.isoformat(timespec="minutes" if not first.second else "seconds")
            beside["dtstart"] = shown.replace("+00:00", "Z")
            if named["zone"]:
                beside["timezone"] = (
                    line[line.upper().index("TZID=") + 5 :].partition(":")[0].partition(";")[0]
                )
        elif named["name"] == "EXDATE":
            excluded += [(named["zone"] or "", moment) for moment in moments if moment]
        else:
            return None
    zone, begin = beside.get("timezone") or config.timezone, beside.get("dtstart") or config.dtstart
    if not all(of in ("", zone.upper()) and _is_tick(moment, begin, parts) for of, moment in excluded):
        return None
    dates = [moment.date().isoformat() for _, moment in excluded]
    return beside | ({"exclude": f"[{', '.join(dates)}]"} if dates else {})


def _is_tick(moment: datetime, begin: str | None, parts: list[str]) -> bool:
    """Whether an excluded moment has the one time of day of the rule, so that its date takes away that instant alone."""
    given = dict(part.partition("=")[::2] for part in parts)
    first = _moment(begin or "")
    times = [given.get(name, "") for name in ("BYHOUR", "BYMINUTE", "BYSECOND")]
    if first is None or given.get("FREQ") not in _OF_DAYS or any("," in values for values in times):
        return False
    usual = (first.hour, first.minute, first.second)
    hour, minute, second = (int(text or number) for text, number in zip(times, usual, strict=True))
    return (
        moment.replace(hour=hour, minute=minute, second=second) == moment
        and moment.tzinfo is first.tzinfo is None
    )


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
    """The parts with the faulty one mended; the same where it may mean anything."""
    fault = _FAULT.match(message)
    for part in parts:
        name, _, value = part.partition("=")
        name = name.strip()
        if fault is None or name != (fault["part"] or fault["found"]):
            yield part
        elif fault["part"] is None:
            near = get_close_matches(name, _NAMES, n=1, cutoff=0.75)
            yield f"{near[0]}={value}" if near and value else part
        # No pause at all is the usual one.
        elif name != "INTERVAL" or fault["found"].strip("0"):
            yield f"{name}={_values(name, value, fault['found']) or value}"


def _values(name: str, value: str, found: str) -> str:
    """A part's value with what was found in it mended; "" where it may mean anything."""
    if name == "FREQ":
        near = get_close_matches(value, FREQUENCIES, n=1)
        # BIWEEKLY has another beginning, and more letters.
        is_slip = bool(near) and near[0][0] == value[0] and abs(len(near[0]) - len(value)) <= 2
        return near[0] if is_slip else ""
    if name == "UNTIL":
        moment = _moment(value)
        if moment is None:
            return ""
        written = f"{moment:%Y%m%dT%H%M%S}" if ":" in value or "T" in value else f"{moment:%Y%m%d}"
        return written + ("Z" if moment.tzinfo else "")
    meant = _meant(name, found)
    values = [one.strip() for one in value.split(",")]
    whole = ",".join(meant if one == found else one for one in values)
    return ",".join(dict.fromkeys(whole.split(","))) if meant else ""


def _meant(name: str, found: str) -> str:
    """What one value of a list was meant as: a weekday in more letters, a range, which has none here but each value."""
    if name == "BYDAY" and len(found) > 2 and any(day.startswith(found) for day in _WHOLE_DAYS):
        return found[:2]
    spanned = _RANGE.fullmatch(found)
    if spanned is None or not name.startswith("BY"):
        return ""
    if spanned[1]:
        return ",".join(str(number) for number in range(int(spanned[1]), int(spanned[2]) + 1))
    if spanned[3] not in WEEKDAYS or spanned[4] not in WEEKDAYS:
        return ""
    return ",".join(WEEKDAYS[WEEKDAYS.index(spanned[3]) : WEEKDAYS.index(spanned[4]) + 1])
