"""The strict reader of an rrule: the text of RFC 5545 in, checked parts out; nothing is passed over.

python-dateutil would take `INTERVAL=0` (and never end), forget a time zone in silence, and read what it knows of a
text. So every part is read here, and refused by its name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NoReturn

from oncue.common.errors import CronError

MAX_LENGTH = 512
MAX_COUNT = 10_000
"""More ticks than these end by a date: counting them costs a walk."""

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
# Longest pause of each frequency: a century.
_MOST: dict[str, int] = {
    "YEARLY": 100,
    "MONTHLY": 1_200,
    "WEEKLY": 5_200,
    "DAILY": 36_500,
    "HOURLY": 876_000,
    "MINUTELY": 52_560_000,
}
FREQUENCIES = tuple(_MOST)

# Each list of numbers: lowest and highest value, and whether they may count from the end (-1 is the last).
_NUMBERS = {
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSECOND": (0, 59, False),
    "BYSETPOS": (1, 366, True),
}
_KNOWN = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_NUMBERS)
# RFC 5545's table of what goes with what; the rest would be dropped or mean something else elsewhere.
_MISPLACED = {
    "BYWEEKNO": ("MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"),
    "BYYEARDAY": ("MONTHLY", "WEEKLY", "DAILY"),
    "BYMONTHDAY": ("WEEKLY",),
    "BYSETPOS": ("HOURLY", "MINUTELY"),
}
_INSTEAD = {
    "DTSTART": "give it beside the rule, as dtstart:",
    "TZID": "give the zone beside the rule, as timezone:",
    "EXDATE": "write the dates under exclude:",
    "EXRULE": "write what it excludes under exclude:",
    "RDATE": "give further dates a schedule of their own",
}
_BYDAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_NAME_OF_LINE = re.compile(r"[A-Z]+(?=[;:])")
_UNTIL = re.compile(r"[0-9]{8}(T[0-9]{6}Z?)?")


@dataclass(frozen=True, slots=True)
class Parts:
    """An rrule as read. `numbers` holds the BY-parts of numbers by name, `days` the BYDAY pairs (ordinal or 0, 0 Monday).

    `until` is as in the text: a date, a local time or an instant that ends in Z.
    """

    freq: str
    interval: int = 1
    count: int | None = None
    until: str | None = None
    week_start: int = 0
    days: tuple[tuple[int, int], ...] = ()
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def elapsed(self) -> bool:
        """Whether it is a plain pace of hours or minutes, which follows elapsed time."""
        return self.freq in ("HOURLY", "MINUTELY") and not self.days and not self.numbers


def read_parts(text: object) -> Parts:
    """Read an rrule. Raises CronError (field "rrule") that names the part, what was found and what is allowed."""
    given = _split(text)
    if "FREQ" not in given:
        refuse("range", f"FREQ is missing; allowed are {', '.join(FREQUENCIES)}")
    freq = _freq(given["FREQ"], given)
    parts = Parts(
        freq,
        _whole("INTERVAL", given["INTERVAL"], _MOST[freq]) if "INTERVAL" in given else 1,
        _whole("COUNT", given["COUNT"], MAX_COUNT) if "COUNT" in given else None,
        _until(given["UNTIL"]) if "UNTIL" in given else None,
        _weekday(given["WKST"]) if "WKST" in given else 0,
        _byday(given["BYDAY"], freq) if "BYDAY" in given else (),
        {name: _numbers(name, given[name]) for name in _NUMBERS if name in given},
    )
    _check(parts)
    return parts


def refuse(code: str, text: str) -> NoReturn:
    """Raise the CronError of a rule."""
    raise CronError(f"rrule: {text}", field="rrule", code=code)


def _split(text: object) -> dict[str, str]:
    if not isinstance(text, str):
        refuse("type", f"found {text!r:.60}; allowed is a text, such as FREQ=WEEKLY;BYDAY=MO")
    if len(text) > MAX_LENGTH:
        refuse("syntax", f"found {len(text)} characters; allowed are {MAX_LENGTH}")
    given: dict[str, str] = {}
    lines = text.strip().upper().split("\n")
    for line in lines:
        if (known := _NAME_OF_LINE.match(line)) and known[0] in _INSTEAD:
            refuse("syntax", f"found {known[0]}; {_INSTEAD[known[0]]}")
    if len(lines) > 1:
        refuse("syntax", f"found {len(lines)} lines; allowed is one")
    for part in lines[0].removeprefix("RRULE:").removesuffix(";").split(";"):
        name, equals, value = part.partition("=")
        name = name.strip()
        if name in _INSTEAD or name.partition(":")[0] in _INSTEAD:
            refuse("syntax", f"found {name.partition(':')[0]}; {_INSTEAD[name.partition(':')[0]]}")
        if not equals or not value.strip():
            refuse("syntax", f"found {part!r:.60}; allowed are NAME=VALUE pairs with ; between them")
        if name not in _KNOWN:
            refuse("name", f"found {name!r:.60}; allowed are {', '.join(_KNOWN)}")
        if name in given:
            refuse("syntax", f"{name} is there twice; put its values in one list, with commas")
        given[name] = value.strip()
    return given


def _freq(value: str, given: Mapping[str, str]) -> str:
    if value == "SECONDLY":
        pause = given.get("INTERVAL", "1")
        is_pace = given.keys() <= {"FREQ", "INTERVAL"} and pause.strip("0").isdigit()
        instead = (
            f"every: {pause}s, with anchor for dtstart" if is_pace else "a cron expression with seconds first"
        )
        refuse("range", f"FREQ: found SECONDLY; write {instead}")
    if value not in FREQUENCIES:
        refuse("name", f"FREQ: found {value!r:.60}; allowed are {', '.join(FREQUENCIES)}")
    return value


def _whole(name: str, value: str, highest: int) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 12 and 1 <= int(value) <= highest):
        refuse("range", f"{name}: found {value!r:.60}; allowed are whole numbers from 1 to {highest}")
    return int(value)


def _until(value: str) -> str:
    try:
        if not _UNTIL.fullmatch(value):
            raise ValueError
        until_moment(value)
    except ValueError:
        allowed = "allowed are 20261231, 20261231T235959 (local time) and 20261231T235959Z"
        refuse("syntax", f"UNTIL: found {value!r:.60}; {allowed}")
    return value


def until_moment(value: str) -> datetime:
    """What an UNTIL means: aware where it ends in Z, else local; a date is the last second of its day."""
    full = value if "T" in value else value + "T235959"
    moment = datetime.strptime(full.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - local time
    return moment.replace(tzinfo=UTC) if full.endswith("Z") else moment


def _weekday(value: str) -> int:
    if value not in WEEKDAYS:
        refuse("name", f"WKST: found {value!r:.60}; allowed are {', '.join(WEEKDAYS)}")
    return WEEKDAYS.index(value)


def _byday(value: str, freq: str) -> tuple[tuple[int, int], ...]:
    highest = {"MONTHLY": 5, "YEARLY": 53}.get(freq, 0)
    days = []
    for item in value.split(","):
        found = _BYDAY.fullmatch(item.strip())
        if not found:
            refuse("syntax", f"BYDAY: found {item!r:.60}; allowed are {', '.join(WEEKDAYS)}, and 2MO or -1FR")
        ordinal = int(found[1] or 0)
        if found[1] and not highest:
            refuse("range", f"BYDAY: found {item!r:.60}; with FREQ={freq} allowed are {', '.join(WEEKDAYS)}")
        if found[1] and not 1 <= abs(ordinal) <= highest:
            refuse("range", f"BYDAY: found {item!r:.60}; allowed are 1 to {highest} and -1 to -{highest}")
        days.append((ordinal, WEEKDAYS.index(found[2])))
    return tuple(dict.fromkeys(days))


def _numbers(name: str, value: str) -> tuple[int, ...]:
    low, high, signed = _NUMBERS[name]
    numbers = set()
    for item in value.split(","):
        digits = item.strip().removeprefix("+")
        number = digits.removeprefix("-") if signed else digits
        if not (number.isascii() and number.isdigit() and len(number) < 4 and low <= int(number) <= high):
            backwards = f" and -{high} to -{low}" if signed else ""
            refuse("range", f"{name}: found {item!r:.60}; allowed are {low} to {high}{backwards}")
        numbers.add(int(digits))
    return tuple(sorted(numbers))


def _check(parts: Parts) -> None:
    if parts.count is not None and parts.until is not None:
        refuse("syntax", "found both COUNT and UNTIL; give one of them")
    for name, frequencies in _MISPLACED.items():
        if name in parts.numbers and parts.freq in frequencies:
            refuse("range", f"{name}: found with FREQ={parts.freq}, which it does not go with")
    if "BYWEEKNO" in parts.numbers and any(ordinal for ordinal, _ in parts.days):
        refuse("range", "BYDAY: found an ordinal beside BYWEEKNO; write the weekday alone")
    if "BYSETPOS" in parts.numbers:
        _check_positions(parts)
    _check_pace(parts)


def _check_positions(parts: Parts) -> None:
    if not parts.days and parts.numbers.keys() <= {"BYSETPOS", "BYHOUR", "BYMINUTE", "BYSECOND"}:
        refuse("range", "BYSETPOS: found without days to choose from; add BYDAY or another BY-part of days")
    if any(len(parts.numbers.get(name, ())) > 1 for name in ("BYHOUR", "BYMINUTE", "BYSECOND")):
        refuse("range", "BYSETPOS: found with several times of day; allowed is one time of day")


def _check_pace(parts: Parts) -> None:
    """Hours and minutes that BY-parts restrict have the same times every day, or no one can say which."""
    day = {"HOURLY": 24, "MINUTELY": 1_440}.get(parts.freq)
    if day is not None and not parts.elapsed and day % parts.interval:
        allowed = f"with FREQ={parts.freq} and BY-parts allowed are divisors of {day}"
        refuse("range", f"INTERVAL: found {parts.interval}; {allowed}")
