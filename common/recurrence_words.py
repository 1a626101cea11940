"""A recurrence rule in words: one line that a person can hold against what was meant."""

from oncue.common.localtime import wall_text
from oncue.common.phrases import MONTHS, fixed_times, listed
from oncue.common.recurrence_text import Parts, until_moment

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS = {
    "YEARLY": "year",
    "MONTHLY": "month",
    "WEEKLY": "week",
    "DAILY": "day",
    "HOURLY": "hour",
    "MINUTELY": "minute",
}
_NAMED = {
    "BYMONTHDAY": "day of the month",
    "BYYEARDAY": "day of the year",
    "BYWEEKNO": "week of the year",
    "BYHOUR": "hour",
    "BYMINUTE": "minute",
    "BYSECOND": "second",
    "BYSETPOS": "only number",
}


def explain_rule(parts: Parts, first: int, tz: str, gap: str) -> str:
    """The meaning of a rule whose dtstart reads `first` on the clock of `tz`."""
    said = [_pace(parts), *_restrictions(parts)]
    if parts.freq not in ("HOURLY", "MINUTELY") and "BYHOUR" not in parts.numbers:
        said.append(f"at {wall_text(first).partition(' ')[2]}")
    said += [f"from {wall_text(first)} on", *_ends(parts)]
    if parts.elapsed:
        return f"{', '.join(said)}; time zone {tz}; follows elapsed time"
    return f"{', '.join(said)}; time zone {tz}; {fixed_times(gap)}"


def _pace(parts: Parts) -> str:
    unit = _UNITS[parts.freq]
    return f"every {unit}" if parts.interval == 1 else f"every {parts.interval} {unit}s"


def _restrictions(parts: Parts) -> list[str]:
    said = []
    if "BYMONTH" in parts.numbers:
        said.append(f"in {listed(MONTHS[number - 1] for number in parts.numbers['BYMONTH'])}")
    if parts.days:
        said.append(f"on {listed(_day(ordinal, weekday) for ordinal, weekday in parts.days)}")
    said += [
        f"{words} {listed(map(str, parts.numbers[name]))}"
        for name, words in _NAMED.items()
        if name in parts.numbers
    ]
    if any(number < 0 for name in parts.numbers for number in parts.numbers[name]):
        said.append("negative numbers counted from the end")
    return said


def _day(ordinal: int, weekday: int) -> str:
    if ordinal == 0:
        return _WEEKDAYS[weekday]
    if ordinal == -1:
        return f"the last {_WEEKDAYS[weekday]}"
    place = f"number {abs(ordinal)}" + (" from the end" if ordinal < 0 else "")
    return f"{_WEEKDAYS[weekday]} {place}"


def _ends(parts: Parts) -> list[str]:
    if parts.count is not None:
        return [f"{parts.count} time{'s' if parts.count > 1 else ''}"]
    if parts.until is not None:
        moment = until_moment(parts.until)
        return [f"until {moment.isoformat(' ').replace('+00:00', ' UTC')}"]
    return []
