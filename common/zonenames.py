"""What a name may have been meant as that is no time zone's: an offset, an abbreviation, a slip of the keyboard."""

import difflib
import re
from functools import lru_cache
from importlib import resources

# Not Etc/GMT+2, whose sign is the other way round.
_OFFSET = re.compile(r"(?:(?:Etc/)?UTC|GMT)? ?([+-]) ?([0-9]{1,2})(?::?([0-9]{2}))?", re.IGNORECASE)
_PLACES = {
    "AEDT": ("Australia/Sydney",),
    "AEST": ("Australia/Sydney",),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "CDT": ("America/Chicago", "America/Havana"),
    "CEST": ("Europe/Berlin",),
    "CST": ("America/Chicago", "Asia/Shanghai", "America/Havana"),
    "EDT": ("America/New_York",),
    "EEST": ("Europe/Helsinki", "Europe/Kyiv"),
    "HKT": ("Asia/Hong_Kong",),
    "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "JST": ("Asia/Tokyo",),
    "KST": ("Asia/Seoul",),
    "MDT": ("America/Denver",),
    "MSK": ("Europe/Moscow",),
    "NZDT": ("Pacific/Auckland",),
    "NZST": ("Pacific/Auckland",),
    "PDT": ("America/Los_Angeles",),
    "PST": ("America/Los_Angeles",),
    "SGT": ("Asia/Singapore",),
    "WEST": ("Europe/Lisbon",),
    "Z": ("UTC",),
}
# Etc has zones from 12 hours behind UTC to 14 ahead.
_FURTHEST = {"-": 12, "+": 14}
_UNKNOWN = "write the name of a place in the zone, as the IANA time zone database has it"
# Abbreviations are all alike: the nearest one lies on another continent.
_ABBREVIATED = 4
_MOST_COMPARED = 48
"""Different names of a file that are compared with all others: each takes milliseconds, and it may have thousands."""

_compared: dict[str, str] = {}


def advice(key: str) -> str:
    """What to write instead of a name that is not known, in a clause that ends with "did you mean ...?" where that is clear."""
    if key.lower() == "local":
        return f"zones are the schedule's own, never the host's; {_UNKNOWN}"
    if offset := _OFFSET.fullmatch(key):
        return _fixed(offset)
    if places := _PLACES.get(key.upper()):
        *others, last = places
        several = f"{key} is short for several times, such as those of {', '.join(others)} and {last}; write one of these"
        return several if others else f"did you mean {last}?"
    return _nearest(key)


def begin_file() -> None:
    """Forgets which names have been compared: those of another file may be as many."""
    _compared.clear()


def _fixed(offset: re.Match[str]) -> str:
    sign, hours, minutes = offset[1], int(offset[2]), int(offset[3] or 0)
    if not hours and not minutes:
        return "did you mean UTC?"
    if minutes:
        return f"only offsets of whole hours have zones of their own; {_UNKNOWN}"
    if hours > _FURTHEST[sign]:
        return f"zones reach from 12 hours behind UTC to 14 hours ahead; {_UNKNOWN}"
    zone = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    length, side = f"{hours} hour{'s' if hours > 1 else ''}", "ahead of" if sign == "+" else "behind"
    return f"{zone} is {length} {side} UTC, all year round; did you mean {zone}?"


def _nearest(key: str) -> str:
    text = key[:40].lower().replace(" ", "_")
    found = _compared.get(text)
    if found is None:
        if len(_compared) >= _MOST_COMPARED:
            return _UNKNOWN
        # Not looked up again: another thread may begin a file meanwhile.
        found = _compared[text] = _close_to(text)
    return found


def _close_to(text: str) -> str:
    # Of two numbers neither is a slip of the other.
    is_exact = len(text) <= _ABBREVIATED or any(char.isdigit() for char in text)
    names = _names()
    close = difflib.get_close_matches(text, names, n=1, cutoff=1 if is_exact else 0.8)
    return f"did you mean {names[close[0]]}?" if close else _UNKNOWN


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """The names of all zones by what may be meant as them: places alone, and letters of any size."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    return {name.rpartition("/")[2].lower(): name for name in names} | {name.lower(): name for name in names}
