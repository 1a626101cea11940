"""Durations as people write them, `90m` or `1h30m`: into whole seconds and back into words."""

import re
from decimal import Decimal

from oncue.common.errors import BadInput

LONGEST_S = 100 * 366 * 86_400
"""A century: longer durations are slips of the keyboard."""

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART = re.compile(r"([0-9]{1,12})([wdhms])")
_DURATION = re.compile(r"(?:[0-9]{1,12}[wdhms])+")
_SPOKEN = re.compile(
    r"([0-9]{1,12}(?:[.][0-9]{1,3})?)\s*"
    r"(w(?:eeks?)?|d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])[\s,]*"
)
_MONTHS = re.compile(r"(?<![0-9])([0-9]{1,12})\s*M(?![A-Za-z])")
_LONGEST_TEXT = 60
_ALLOWED = "allowed are whole numbers of w, d, h, m, s, such as 90m or 1h30m"


def seconds_of(text: str) -> int | None:
    """The whole seconds that `text` means, 0 too; None where it is no duration."""
    lower = text.lower()
    # A month to some: a job that runs every minute in its place does harm.
    if "M" in text or not _DURATION.fullmatch(lower):
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(lower))


def read_duration(text: str) -> float:
    """Seconds, from one to a century. Raises BadInput that says what is allowed."""
    seconds = seconds_of(text)
    if seconds is None:
        raise BadInput(f"found {text!r:.60}; {_ALLOWED}{_hint(text)}")
    if not 0 < seconds <= LONGEST_S:
        raise BadInput(f"found {text!r:.60}; allowed are 1s to a century")
    return float(seconds)


def _hint(text: str) -> str:
    meant = meant_duration(text)
    return f"; did you mean {meant}?" if meant else minutes_or_months(text)


def minutes_or_months(text: str) -> str:
    """What to write for `5M`, in a clause for each of the two that it may mean; "" where it may not."""
    found = _MONTHS.search(text)
    if found is None or text.upper().startswith("P"):
        return ""
    months = f'rrule: "FREQ=MONTHLY;INTERVAL={found[1]}"'
    return f"; M might mean minutes or months; write a duration such as {found[1]}m, or for months a rule such as {months}"


def meant_duration(value: object) -> str:
    """The duration that a number of seconds, `5 min`, `1.5h`, `PT5M` or `-5m` was meant as; "" for anything else.

    So for `5M`: a month to some.
    """
    if isinstance(value, bool) or not isinstance(value, int | str) or minutes_or_months(str(value)):
        return ""
    text = str(value).strip().lower().removeprefix("@").removeprefix("every").strip().lstrip("+-")
    if len(text) > _LONGEST_TEXT or not text.isascii():
        return ""
    if text.isdigit():
        text += "s"
    if text.startswith("p"):
        days, _, times = text[1:].partition("t")
        text = f"{days} {times}".strip() if "m" not in days else ""  # there it is a month
    parts = _SPOKEN.findall(text)
    if not parts or _SPOKEN.sub("", text):
        return ""
    seconds = sum(Decimal(number) * _UNITS[unit[0]] for number, unit in parts)
    if seconds != int(seconds) or not 0 < seconds <= LONGEST_S:
        return ""
    if all(number.isdigit() for number, _ in parts):
        return "".join(f"{int(number)}{unit[0]}" for number, unit in parts)
    return _short(int(seconds))


def _short(seconds: int) -> str:
    """`5400` as `1h30m`."""
    text = ""
    for unit in "dhms":
        count, seconds = divmod(seconds, _UNITS[unit])
        text += f"{count}{unit}" if count else ""
    return text


def words_of(seconds: float) -> str:
    """`5400` as `1 hour 30 minutes`."""
    parts = []
    rest = int(seconds)
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    milliseconds = round(seconds % 1 * 1000)
    if milliseconds:
        parts.append(f"{milliseconds} ms")
    return " ".join(parts)
