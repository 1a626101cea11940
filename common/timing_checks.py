"""What the settings of a schedule allow beside each other: one sentence for each that would have no effect or no sense."""

from typing import NoReturn

from oncue.common.duration import words_of
from oncue.common.errors import CronError
from oncue.common.recurrence_text import MAX_COUNT, read_parts
from oncue.common.timing import Timing

MAX_CATCH_UP = 10_000
MAX_JITTER_S = 86_400
_KINDS = {"cron": "cron", "every_s": "every", "rrule": "rrule"}
# What belongs to some kinds alone: the key that the file has for it, and those kinds.
_BELONGS = {
    "anchor": ("anchor", ("every",)),
    "from_end": ("from", ("every",)),
    "dtstart": ("dtstart", ("rrule",)),
    "days": ("days", ("cron",)),
    "gap": ("gap", ("cron", "rrule")),
}
_CHOICES = {
    "days": ("either", "both"),
    "gap": ("run", "skip"),
    "on_excluded": ("skip", "next_workday", "previous_workday"),
}
_USUAL = Timing()


def kind_of(timing: Timing) -> str:
    """`cron`, `every` or `rrule`. Raises CronError where not exactly one is given."""
    given = [key for name, key in _KINDS.items() if getattr(timing, name) is not None]
    if not given:
        _refuse(
            "cron", "is missing; allowed: a cron expression in quotes, or every: 90m, or rrule: FREQ=WEEKLY"
        )
    if len(given) > 1:
        _refuse(given[1], f"{given[0]} is given too; give exactly one of {', '.join(_KINDS.values())}")
    return given[0]


def check(timing: Timing, kind: str) -> None:
    """Raises CronError, whose field is the key to mend, for settings that do not go together."""
    for name, allowed in _CHOICES.items():
        if getattr(timing, name) not in allowed:
            _refuse(name, f"found {getattr(timing, name)!r:.40}; allowed: {', '.join(allowed)}")
    for name, (key, kinds) in _BELONGS.items():
        if kind not in kinds and getattr(timing, name) != getattr(_USUAL, name):
            _refuse(key, f"goes with {' and '.join(kinds)} alone; this schedule has {kind}")
    if kind == "rrule" and timing.dtstart is None:
        read_parts(timing.rrule)  # told first: the text may hold the DTSTART that is missing beside it
        _refuse("dtstart", "is missing; an rrule needs its first instant; write dtstart: 2026-01-05T09:00")
    if timing.on_excluded != "skip" and not timing.exclude:
        _refuse("on_excluded", "has no effect without exclude")
    if not 0 <= timing.jitter_s <= MAX_JITTER_S:
        _refuse("jitter", f"found {words_of(timing.jitter_s)}; allowed are 1s to 1d")
    _check_end(timing)
    _check_count(timing)


def _check_end(timing: Timing) -> None:
    if not timing.from_end:
        return
    if timing.anchor is not None:
        _refuse("anchor", "has no effect with from: end, which counts from the last finish")
    if timing.on_excluded != "skip":
        _refuse(
            "on_excluded",
            "has no effect with from: end; a run on an excluded date waits for the first other one",
        )


def _check_count(timing: Timing) -> None:
    count = timing.count
    if count is None:
        return
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_COUNT:
        _refuse("count", f"found {count!r:.40}; allowed are 1 to {MAX_COUNT}; for more write end")
    if timing.from_end:
        _refuse("count", "cannot be told with from: end, whose instants are not known beforehand; write end")
    if timing.start is None and timing.dtstart is None:
        _refuse("count", "needs an instant to count from; add start: 2026-01-05")


def _refuse(key: str, text: str) -> NoReturn:
    raise CronError(f"{key}: {text}", field=key, code="range")
