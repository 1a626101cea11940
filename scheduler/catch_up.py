"""Catch up: which of a schedule's due ticks become tasks, and which are missed. Nothing here reads a clock or the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oncue.common.configtypes import ScheduleConfig
from oncue.common.rule import Rule

ON_TIME_MS = 10_000
"""How late a tick may be and still count as on time, for ``catch_up: skip``: a restart of the server takes no longer."""

STEP = 50
"""How many tasks one call makes at most; what is due beyond them stays due."""

MOST_COUNTED = 1000
"""How far missed ticks are counted: a month of minutes would keep a scheduler from its other work."""

MOST_SINGLE = 20
"""Up to so many missed ticks have an entry each in the history, more of them share one."""

LATER = "a later tick was due"
TOO_LATE = "later than catch_up_within"
TOO_MANY = "before what catch_up_max and catch_up_within let run"
SKIPPED = "catch_up: skip"


class Tick(NamedTuple):
    """A planned instant whose task is to be made; ``in_line``: behind the run that goes on, whatever ``overlap`` says."""

    planned_ms: int
    late_ms: int
    in_line: bool


class Missed(NamedTuple):
    """Planned instants from ``first_ms`` to ``last_ms``, ``number`` of them (or more, from MOST_COUNTED on)."""

    first_ms: int
    last_ms: int
    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the ticks that are due, oldest first, and the planned instant that comes next."""

    missed: Sequence[Missed]
    ticks: Sequence[Tick]
    following_ms: int | None


def plan(config: ScheduleConfig, rule: Rule, planned_ms: int, now_ms: int) -> Plan:
    """The plan for all ticks from ``planned_ms``, which is due, to now."""
    if rule.from_end:
        return _after_end(config, rule, planned_ms, now_ms)
    latest = latest_due(rule, planned_ms, now_ms)
    if config.catch_up == "all":
        return _all(config, rule, planned_ms, latest, now_ms)
    tick = Tick(latest, now_ms - rule.runs_at(latest), False)
    missed = [] if latest == planned_ms else missed_ticks(rule, planned_ms, latest, LATER)
    following = rule.next_after(latest)
    if reason := _refusal(config, tick):
        return Plan([*missed, Missed(latest, latest, 1, reason)], [], following)
    return Plan(missed, [tick], following)


def _after_end(config: ScheduleConfig, rule: Rule, planned_ms: int, now_ms: int) -> Plan:
    """The script that ends a run knows neither exclusions nor jitter: it put the tick where it comes at the earliest."""
    every_ms = round((config.every_s or 0) * 1000)
    expected = rule.after_finish(planned_ms - every_ms, planned_ms)
    if expected is None or rule.runs_at(expected) > now_ms:
        return Plan([], [], expected)
    tick = Tick(expected, now_ms - rule.runs_at(expected), False)
    if reason := _refusal(config, tick):
        return Plan([Missed(expected, expected, 1, reason)], [], rule.next_after(now_ms))
    return Plan([], [tick], rule.next_after(now_ms))


def _refusal(config: ScheduleConfig, tick: Tick) -> str:
    within_s = config.catch_up_within_s
    if within_s is not None and tick.late_ms > within_s * 1000:
        return TOO_LATE
    return SKIPPED if config.catch_up == "skip" and tick.late_ms > ON_TIME_MS else ""


def _all(config: ScheduleConfig, rule: Rule, planned_ms: int, latest_ms: int, now_ms: int) -> Plan:
    newest = rule.all_up_to(latest_ms, planned_ms - 1, config.catch_up_max)
    ticks = [Tick(at, now_ms - rule.runs_at(at), len(newest) > 1) for at in newest]
    ticks = [tick for tick in ticks if not _refusal(config, tick)]
    first = ticks[0].planned_ms if ticks else latest_ms + 1
    missed = [] if first == planned_ms else missed_ticks(rule, planned_ms, first, TOO_MANY)
    # Never one alone for the next step: by itself it would not look like one of a line, and overlap could skip it.
    step = STEP + 1 if len(ticks) == STEP + 1 else STEP
    following = ticks[step].planned_ms if len(ticks) > step else rule.next_after(latest_ms)
    return Plan(missed, ticks[:step], following)


def latest_due(rule: Rule, planned_ms: int, now_ms: int) -> int:
    """The last tick that is due by now; ``planned_ms`` itself unless more were missed."""
    latest = rule.latest_up_to(now_ms, planned_ms - 1)
    if latest is not None and latest > planned_ms and rule.runs_at(latest) > now_ms:
        # Jitter keeps it for later; the one before runs before this one is planned.
        latest = rule.latest_up_to(latest - 1, planned_ms - 1)
    return planned_ms if latest is None else latest


def missed_ticks(rule: Rule, first_ms: int, end_ms: int, reason: str) -> list[Missed]:
    """The ticks from ``first_ms``, which is one, to before ``end_ms``: a few one by one, more of them as one stretch."""
    if rule.from_end:
        # The one after it is planned when it has run.
        return [Missed(first_ms, first_ms, 1, reason)]
    ticks = ticks_between(rule, first_ms, end_ms - 1, MOST_COUNTED)
    if len(ticks) <= MOST_SINGLE:
        return [Missed(at, at, 1, reason) for at in ticks]
    last = rule.latest_up_to(end_ms - 1, first_ms - 1) or ticks[-1]
    return [Missed(first_ms, last, len(ticks), reason)]


def ticks_between(rule: Rule, first_ms: int, last_ms: int, most: int) -> list[int]:
    """The planned instants from ``first_ms`` to ``last_ms``, both included, at most so many."""
    ticks: list[int] = []
    tick = rule.next_after(first_ms - 1)
    while tick is not None and tick <= last_ms and len(ticks) < most:
        ticks.append(tick)
        tick = rule.next_after(tick)
    return ticks
