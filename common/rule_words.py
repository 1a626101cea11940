"""The limits of a schedule in words, to go after what its expression means."""

from oncue.common.duration import words_of
from oncue.common.localtime import read_date
from oncue.common.timing import Timing

_FEW = 4
_MOVED = {
    "skip": "",
    "next_workday": ", which run on the next workday instead",
    "previous_workday": ", which run on the previous workday instead",
}


def explain_limits(timing: Timing) -> str:
    """Start, end, count, exclusions and jitter, each after a semicolon; nothing where there are none."""
    said = []
    if timing.exclude:
        said.append(f"not on {_entries(timing)}{_MOVED[timing.on_excluded]}")
    if timing.jitter_s:
        said.append(f"up to {words_of(timing.jitter_s)} later, settled by its name and instant")
    if not timing.enabled:
        said.append("switched off")
    return explain_bounds(timing) + "".join(f"; {words}" for words in said)


def explain_bounds(timing: Timing) -> str:
    """Start, end and count, each after a semicolon."""
    said = []
    if timing.start is not None:
        said.append(f"from {timing.start} on")
    if timing.end is not None:
        said.append(f"until {timing.end}")
    if timing.count is not None:
        said.append(f"{timing.count} time{'s' if timing.count > 1 else ''}")
    return "".join(f"; {words}" for words in said)


def _entries(timing: Timing) -> str:
    shown = [_entry(entry, timing) for entry in timing.exclude[:_FEW]]
    more = len(timing.exclude) - _FEW
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _entry(entry: str, timing: Timing) -> str:
    if entry in timing.calendars:
        return f"the dates of calendar {entry}"
    return entry.replace("/", " to ") if read_date(entry[:10]) is not None else f"the dates of '{entry}'"
