"""Durations as people write them, `90m` or `1h30m`: into whole seconds and back into words."""

import re

from oncue.common.errors import BadInput

LONGEST_S = 100 * 366 * 86_400
"""A century: longer durations are slips of the keyboard."""

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART = re.compile(r"([0-9]{1,12})([wdhms])")
_DURATION = re.compile(r"(?:[0-9]{1,12}[wdhms])+")
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
    if text.isascii() and text.isdigit():
        return f"; did you mean {text}s?"
    if seconds_of(text.lower()) is not None:
        return f"; M might mean months, which take a cron expression; did you mean {text.lower():.60}?"
    return ""


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
