"""When a schedule runs, as plain values: the part of its definition that settles its ticks."""

from typing import Literal

import msgspec


class Timing(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Exactly one of `cron`, `every_s` and `rrule` is given; `common/rule.py` says what all of them mean together.

    `anchor`, `start`, `end` and `dtstart` are ISO 8601, without an offset local time of `timezone`. `exclude` has dates, ranges
    (`2026-12-24/2026-12-26`), cron expressions, and names of `calendars`, whose entries are dates, ranges and cron
    expressions. Encoded as JSON, what is not given takes no place.
    """

    timezone: str = "UTC"
    cron: str | None = None
    every_s: float | None = None
    anchor: str | None = None
    from_end: bool = False
    rrule: str | None = None
    dtstart: str | None = None
    days: Literal["either", "both"] = "either"
    gap: Literal["run", "skip"] = "run"
    jitter_s: float = 0.0
    start: str | None = None
    end: str | None = None
    count: int | None = None
    exclude: tuple[str, ...] = ()
    on_excluded: Literal["skip", "next_workday", "previous_workday"] = "skip"
    calendars: dict[str, tuple[str, ...]] = {}
    enabled: bool = True
