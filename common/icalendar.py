"""The dates of a calendar file (.ics, RFC 5545): what its events cover, for exclusions.

An event counts with every date that it touches, as written: the zone of its times says only when an UNTIL in UTC comes.
Cancelled events do not count. Recurring events are expanded to the end of the century.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import takewhile

from oncue.common.errors import BadInput, CronError
from oncue.common.exclusion import merged_ranges, range_text
from oncue.common.localtime import EPOCH_DAY
from oncue.common.recurrence_dates import RuleDates
from oncue.common.recurrence_text import read_parts, until_moment
from oncue.common.walltime import DAY, FIRST_SECOND, LAST_SECOND, wall_clock

MAX_DATES = 20_000
"""Most dates of one calendar before they are drawn together: more is no calendar of exceptions."""

_HORIZON = date(2099, 12, 31).toordinal() - EPOCH_DAY
_LINE = re.compile(r"([A-Za-z0-9-]+)((?:;[^:\"]*(?:\"[^\"]*\"[^:\"]*)*)?):(.*)", re.DOTALL)
_DATE = re.compile(r"[0-9]{8}(?:T[0-9]{6}Z?)?")
_LENGTH = re.compile(
    r"\+?P(?:([0-9]{1,5})W)?(?:([0-9]{1,5})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,7})H)?(?:([0-9]{1,7})M)?(?:([0-9]{1,9})S)?)?"
)
_UNITS_S = (7 * DAY, DAY, 3600, 60, 1)
_ZONE = re.compile(r";TZID=\"?([^;\"]+)", re.IGNORECASE)
_WANTED = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "STATUS", "UID", "RECURRENCE-ID")


@dataclass
class _Event:
    """The wanted lines of one event by name, the number of its first line, and the zone that its start names, or ""."""

    line: int
    zone: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)

    def one(self, name: str) -> str:
        return self.values.get(name, [""])[0]

    def many(self, name: str) -> list[str]:
        return [item for value in self.values.get(name, []) for item in value.split(",")]


def read_calendar(text: str) -> tuple[str, ...]:
    """The entries (dates and ranges) of a calendar. Raises BadInput that names the line and what is wrong."""
    events = list(_events(text))
    replaced = {
        (event.one("UID"), _day(event, event.one("RECURRENCE-ID")))
        for event in events
        if event.one("RECURRENCE-ID")
    }
    ranges: list[tuple[int, int]] = []
    count = 0
    for event in events:
        for first, last in _covered(event, replaced):
            count += last - first + 1
            if count > MAX_DATES:
                raise BadInput(f"line {event.line}: more than {MAX_DATES} dates up to 2099")
            ranges.append((first, last))
    return tuple(range_text(first, last) for first, last in merged_ranges(ranges))


def _covered(event: _Event, replaced: set[tuple[str, int]]) -> Iterator[tuple[int, int]]:
    if event.one("STATUS").upper() == "CANCELLED":
        return
    first = _day(event, event.one("DTSTART"))
    length = _length(event, first)
    left_out = {_day(event, item) for item in event.many("EXDATE")}
    if not event.one("RECURRENCE-ID"):
        left_out |= {day for uid, day in replaced if uid == event.one("UID")}
    for day in (*_starts(event, first), *(_day(event, item[:8]) for item in event.many("RDATE"))):
        if day not in left_out:
            yield day, day + length - 1


def _starts(event: _Event, first: int) -> Iterator[int]:
    rule = event.one("RRULE")
    if not rule:
        yield first
        return
    try:
        parts = read_parts(rule)
    except CronError as error:
        raise BadInput(f"line {event.line}: {error}") from None
    last = _HORIZON
    if parts.until is not None:
        last = min(last, (_until(event, parts.until) - _second(event.one("DTSTART"))) // DAY)
    dates = takewhile(lambda day: day <= last, _all(RuleDates(parts, first), first))
    for number, day in enumerate(dates):
        if parts.count is not None and number >= parts.count:
            return
        yield day


def _until(event: _Event, value: str) -> int:
    """An UNTIL in seconds since 1970, as the event's clock shows it."""
    moment = until_moment(value)
    reading = int(moment.replace(tzinfo=UTC).timestamp())
    if moment.tzinfo is not None and event.zone:
        # A zone of a name that only other programs know leaves it as it is written.
        with suppress(CronError):
            return wall_clock(event.zone).reading(min(max(reading, FIRST_SECOND), LAST_SECOND))
    return reading


def _second(value: str) -> int:
    """The second of the day at which something begins, 0 for a date."""
    return int(value[9:11]) * 3600 + int(value[11:13]) * 60 + int(value[13:15]) if "T" in value else 0


def _all(dates: RuleDates, first: int) -> Iterator[int]:
    day = dates.at_or_after(first)
    while day is not None:
        yield day
        day = dates.at_or_after(day + 1)


def _length(event: _Event, first: int) -> int:
    """The number of dates that an event touches; its end is the first moment that is not part of it."""
    end = event.one("DTEND")
    if end:
        last = _day(event, end) - (1 if end[8:15] in ("", "T000000") else 0)
        if last < first and end[:8] != event.one("DTSTART")[:8]:
            raise BadInput(f"line {event.line}: the event ends before it begins")
        return max(1, last - first + 1)
    duration = event.one("DURATION")
    if not duration:
        return 1
    found = _LENGTH.fullmatch(duration)
    if not found:
        raise BadInput(
            f"line {event.line}: DURATION: found {duration!r:.40}; allowed are such as P1D, P1W and PT2H"
        )
    length = sum(int(number or 0) * unit for number, unit in zip(found.groups(), _UNITS_S, strict=True))
    return max(1, -(-(_second(event.one("DTSTART")) + length) // DAY))


def _day(event: _Event, value: str) -> int:
    try:
        if not _DATE.fullmatch(value):
            raise ValueError
        day = datetime.strptime(value[:8], "%Y%m%d").date()  # noqa: DTZ007 - dates have no zone
    except ValueError:
        text = f"line {event.line}: found {value!r:.40} in this event; allowed are dates such as 20261225"
        raise BadInput(text) from None
    return day.toordinal() - EPOCH_DAY


def _events(text: str) -> Iterator[_Event]:
    event: _Event | None = None
    inside: list[str] = []
    for number, name, parameters, value in _lines(text):
        if name == "BEGIN":
            inside.append(value.upper())
            event = _Event(number) if inside == ["VCALENDAR", "VEVENT"] else event
        elif name == "END":
            if not inside or inside.pop() != value.upper():
                raise BadInput(f"line {number}: found END:{value:.40} without its BEGIN")
            if event is not None and value.upper() == "VEVENT":
                yield event
                event = None
        elif event is not None and inside[-1] == "VEVENT" and name in _WANTED:
            event.values.setdefault(name, []).append(value)
            zone = _ZONE.search(parameters) if name == "DTSTART" else None
            event.zone = zone[1] if zone else event.zone
    if inside:
        raise BadInput(f"the file ends inside {inside[-1]}; is it complete? Export it anew")


def _lines(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Number, name, parameters and value of each line; a line that starts with a blank goes on with the one before."""
    if not text.upper().startswith("BEGIN:VCALENDAR"):
        raise BadInput(
            "line 1: a calendar file starts with BEGIN:VCALENDAR; export it anew as iCalendar (.ics)"
        )
    number, whole = 0, ""
    for at, line in enumerate([*text.replace("\r\n", "\n").split("\n"), ""], start=1):
        if line[:1] in (" ", "\t") and whole:
            whole += line[1:]
            continue
        if whole.strip():
            yield number, *_named(number, whole)
        number, whole = at, line


def _named(number: int, line: str) -> tuple[str, str, str]:
    found = _LINE.fullmatch(line)
    if not found:
        raise BadInput(f"line {number}: found {line!r:.40}; allowed are lines NAME:VALUE")
    return found[1].upper(), found[2], found[3].strip()
