"""Instants as a definition gives them: ISO 8601, with an offset or as local time of the schedule's zone."""

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta

from oncue.common.errors import CronError
from oncue.common.walltime import WallClock

EPOCH_DAY = date(1970, 1, 1).toordinal()

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - readings of a wall clock have no zone
_AWARE_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_YEARS = range(2, 9999)
_YEAR_FIRST = re.compile(r"(\d{4})[-/.]?(\d{1,2})[-/.]?(\d{1,2})(?!\d)", re.ASCII)
_DAY_FIRST = re.compile(r"(\d{1,2})[.](\d{1,2})[.](\d{4})", re.ASCII)
_WITH_TIME = "2026-12-24T09:00 (local time of the zone) and 2026-12-24T09:00+01:00"
_TIME = re.compile(r"(\d{1,2}):(\d{2})(:\d{2})?(Z|[+-]\d{2}:?\d{2})?", re.ASCII)


def first_ms(field: str, text: str, clock: WallClock) -> int:
    """The instant in ms that `text` names; for a date the first of its day. Raises CronError that names `field`."""
    return _instant_ms(_read(field, text), clock)


def last_ms(field: str, text: str, clock: WallClock) -> int:
    """The instant in ms that `text` names; for a date the last of its day. Raises CronError that names `field`."""
    when = _read(field, text)
    if isinstance(when, datetime):
        return _instant_ms(when, clock)
    return _instant_ms(when + timedelta(days=1), clock) - 1


def reading_of(field: str, text: str, clock: WallClock) -> int:
    """The reading in whole seconds that the zone's clock shows at `text`. Raises CronError that names `field`."""
    when = _read(field, text)
    if not isinstance(when, datetime):
        raise _refusal(field, text, "a time of day is needed too", _WITH_TIME)
    if when.microsecond:
        raise _refusal(field, text, "it falls on a whole second")
    if when.tzinfo is not None:
        return clock.reading((when - _AWARE_EPOCH) // timedelta(seconds=1))
    return (when - _EPOCH) // timedelta(seconds=1)


def read_date(text: str) -> int | None:
    """Days since 1970-01-01 of a date written 2026-12-25; None for anything else."""
    if len(text) != 10:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day.toordinal() - EPOCH_DAY


def meant_date(text: str) -> str:
    """The date that `2026-1-5`, `5.1.2026`, `2026/01/05` or `20260105` was meant as; of a month's days past its last, that.

    "" for anything else, and for `1/5/2026`, which has two meanings.
    """
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = (int(part) for part in found.groups())
    elif found := _DAY_FIRST.fullmatch(text):
        day, month, year = (int(part) for part in found.groups())
    else:
        return ""
    if year not in _YEARS or not 1 <= month <= 12 or not 1 <= day <= 31:
        return ""
    return date(year, month, min(day, monthrange(year, month)[1])).isoformat()


def no_such_day(text: str) -> str:
    """Why a text that begins like a date is none of the calendar: `2026-02 has 28 days`; "" where it is not for its day."""
    found = _YEAR_FIRST.match(text)
    if found is None or read_date(found[0]) is not None or not (meant := meant_date(found[0])):
        return ""
    year, month, days = meant.split("-")
    return f"there is no such day: {year}-{month} has {days} days" if int(found[3]) > int(days) else ""


def date_of(day: int) -> date:
    """The date of days since 1970-01-01."""
    return date.fromordinal(day + EPOCH_DAY)


def wall_text(reading: int) -> str:
    """A reading in whole seconds as people write it: 2026-12-25 09:00."""
    return (_EPOCH + timedelta(seconds=reading)).isoformat(" ").removesuffix(":00")


def meant_moment(value: object) -> str:
    """The instant that `2026-1-5 9:00` or `2026-02-30` was meant as, in ISO 8601; "" for anything else."""
    if not isinstance(value, str):
        return ""
    day, _, time = value.strip().replace("T", " ").partition(" ")
    if not (meant := meant_date(day)) or not time.strip():
        return meant
    found = _TIME.fullmatch(time.strip())
    if found is None or int(found[1]) > 23:
        return ""
    moment = f"{meant}T{int(found[1]):02}:{found[2]}{found[3] or ''}{found[4] or ''}"
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return ""
    return moment


def meant_first(value: object) -> str:
    """As `meant_moment`, of an instant that needs a time of day."""
    meant = meant_moment(value)
    return meant if "T" in meant else ""


def _read(field: str, text: str) -> datetime | date:
    if not isinstance(text, str):
        raise _refusal(field, text, "write it as a text")
    try:
        when = date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise _refusal(field, text, no_such_day(text) or "write it in ISO 8601") from None
    if when.year not in _YEARS:
        raise _refusal(field, text, "the year is out of range")
    return when


def _instant_ms(when: datetime | date, clock: WallClock) -> int:
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)  # noqa: DTZ001 - local time of the zone
    if when.tzinfo is not None:
        return (when - _AWARE_EPOCH) // _MILLISECOND
    seconds, milliseconds = divmod((when - _EPOCH) // _MILLISECOND, 1000)
    return clock.resolve(seconds) * 1000 + milliseconds


def _refusal(field: str, text: object, advice: str, allowed: str = f"2026-12-24, {_WITH_TIME}") -> CronError:
    found = f"{field}: found {text!r:.60}; {advice}; allowed are {allowed}"
    return CronError(found, field=field, code="syntax")
