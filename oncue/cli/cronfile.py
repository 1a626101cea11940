"""What `oncue cron` says of definitions: faults, warnings and ticks of those of a file, for which it needs no server."""

import sys
from dataclasses import asdict, replace
from datetime import UTC
from typing import Any

from oncue.cli.options import Given
from oncue.common.clock import host_now_ms
from oncue.common.config import examined
from oncue.common.configtypes import Config, ScheduleConfig
from oncue.common.errors import BadInput, NotFound, WrongState
from oncue.common.instants import after
from oncue.common.localtime import first_ms
from oncue.common.problem import Problem, Refused
from oncue.common.rule import Rule
from oncue.common.task import instant
from oncue.common.timing import Timing

_SHOWN = 5
"""How many ticks a warning comes with."""

_EMPTY = "there is no schedule in it; is it the right file?"
_UNKNOWN = [
    "cron",
    "when",
    "runs",
    "start",
    "end",
    "count",
    "timezone",
    "queue",
    "next",
    "next_run",
    "last",
    "last_task",
    "late_ms",
    "fired",
    "skipped",
    "missed",
    "triggered",
    "backfilled",
    "by",
    "why",
    "source",
]


def check_file(file: str) -> dict[str, Any]:
    """Faults and warnings of a file by itself: neither variables nor flags count. With a warning come the next ticks.

    `-` is stdin. Raises Refused for a file that cannot be read.
    """
    config, problems = examined("stdin", sys.stdin.buffer.read()) if file == "-" else examined(file)
    if any(not problem.line for problem in problems):
        raise Refused(problems)
    schedules = config.schedules
    warnings = [warning for entry in schedules.values() for warning in _warnings(entry)]
    if not problems and (config.emptied or config == Config()):
        warnings.append({"schedule": "", "line": 1, "text": _EMPTY, "ticks": []})
    return {
        "ok": not problems,
        "schedules": len(schedules),
        "problems": [{**asdict(problem), "sentence": problem.sentence} for problem in problems],
        "warnings": warnings,
    }


def _warnings(entry: ScheduleConfig) -> list[dict[str, Any]]:
    # One that is switched off has ticks once somebody resumes it.
    rule = Rule(entry.name, replace(entry, enabled=True).timing)
    found = rule.warnings
    ticks = _ticks(rule, None, _SHOWN) if found else []
    return [{"schedule": entry.name, "line": entry.line, "text": text, "ticks": ticks} for text in found]


def previews(
    given: Given, what: str | None, tz: str | None, start: str | None, count: int
) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Meaning, warnings and next ticks of an expression, or of one or all of the schedules of the file or the store.

    ``start`` is read in the zone of each. Besides, the faults of those schedules of the file that are left out.
    """
    config = given.load()
    if what is not None and (" " in what.strip() or what.startswith("@")):
        return [_preview(Rule("", Timing(cron=what, timezone=tz or config.timezone)), start, count)], []
    if given.path is None:
        return [
            _preview(_rule(entry, tz), start, count, next_ms) for entry, next_ms in _stored(given, what)
        ], []
    faults = [problem for problem in config.invalid if what in (None, problem.schedule)]
    written = [] if what and faults else _written(config, what, given.path)
    return [_preview(_rule(entry, tz), start, count) for entry in written], faults


def explained(timing: Timing, start: str | None, count: int) -> dict[str, Any]:
    """Meaning, warnings and next ticks of one expression. Raises CronError, and BadInput for an option without effect."""
    for flag, value, usual in (("--days", timing.days, "either"), ("--gap", timing.gap, "run")):
        if value != usual and (timing.cron or "").lstrip().lower().startswith("@every"):
            raise BadInput(
                f"{flag} has no effect with @every, which knows neither days nor times of day; remove it"
            )
    return _preview(Rule("", timing), start, count)


def _written(config: Config, name: str | None, path: str) -> list[ScheduleConfig]:
    if name is None:
        return list(config.schedules.values())
    if name not in config.schedules:
        known = ", ".join(config.schedules) or "none"
        raise NotFound(f"there is no schedule {name} in {path}; it has: {known}")
    return [config.schedules[name]]


def _stored(given: Given, name: str | None) -> list[tuple[ScheduleConfig, int | None]]:
    """The schedules with their next planned instants."""
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        found = app.schedules.list() if name is None else [app.schedules.get(name)]
    if name is not None and found[0].config is None:
        raise WrongState(f"schedule {name} is invalid: {found[0].reason}")
    return [
        (entry.config, entry.next_ms)
        for entry in found
        if entry.config is not None and (name or entry.state != "removed")
    ]


def _rule(entry: ScheduleConfig, tz: str | None) -> Rule:
    return Rule(entry.name, replace(entry, timezone=tz or entry.timezone).timing)


def _preview(rule: Rule, start: str | None, count: int, next_ms: int | None = None) -> dict[str, Any]:
    return {
        "name": rule.name,
        "cron": rule.written,
        "timezone": rule.timing.timezone,
        "meaning": rule.explain(),
        "warnings": rule.warnings,
        "ticks": _ticks(rule, start, count, next_ms if rule.from_end else None),
        "estimated": rule.from_end,
    }


def _ticks(rule: Rule, start: str | None, count: int, next_ms: int | None = None) -> list[str]:
    """The next ticks, as the clock of the rule's zone shows them; ``next_ms`` is the first where it is known."""
    if start is None and next_ms is not None:
        first = instant(next_ms)
        ticks = [first, *after(rule.next_after, first, count - 1)]
    else:
        # A tick at the instant that somebody names counts, as it does for a backfill.
        since_ms = host_now_ms() if start is None else first_ms("--from", start, rule.clock) - 1
        ticks = after(rule.next_after, instant(since_ms).astimezone(UTC), count)
    return [tick.astimezone(rule.clock.zone).isoformat(timespec="seconds") for tick in ticks]


def invalid_rows(given: Given) -> list[dict[str, Any]]:
    """The schedules that the file gets wrong, as rows of a list; none where no file is named."""
    faults: dict[str, list[str]] = {}
    for problem in given.load().invalid:
        faults.setdefault(problem.schedule, []).append(problem.sentence)
    return [
        {
            "name": name,
            **dict.fromkeys(_UNKNOWN),
            "state": "invalid",
            "valid": False,
            "reason": "; ".join(sentences),
        }
        for name, sentences in sorted(faults.items())
    ]
