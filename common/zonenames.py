"""What a name may have been meant as that is no time zone's: an offset, an abbreviation, a slip of the keyboard."""

import difflib
import re
from importlib import resources

_OFFSET = re.compile(r"(?:UTC|GMT)? ?([+-]) ?([0-9]{1,2})(?::?([0-9]{2}))?", re.IGNORECASE)
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


def _fixed(offset: re.Match[str]) -> str:
    sign, hours, minutes = offset[1], int(offset[2]), int(offset[3] or 0)
    if not hours and not minutes:
        return "did you mean UTC?"
    if minutes or hours > _FURTHEST[sign]:
        return f"only offsets of whole hours have zones of their own; {_UNKNOWN}"
    zone = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    length, side = f"{hours} hour{'s' if hours > 1 else ''}", "ahead of" if sign == "+" else "behind"
    return f"{zone} is {length} {side} UTC, all year round; did you mean {zone}?"


def _nearest(key: str) -> str:
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="ascii").split()
    meant = {name.rpartition("/")[2].lower(): name for name in names} | {name.lower(): name for name in names}
    text = key[:40].lower().replace(" ", "_")
    close = difflib.get_close_matches(text, meant, n=1, cutoff=0.8 if len(text) > _ABBREVIATED else 1)
    return f"did you mean {meant[close[0]]}?" if close else _UNKNOWN
