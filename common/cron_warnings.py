"""What a cron expression may say but seldom means: one sentence each, with what to write instead."""

from itertools import pairwise

from oncue.common.cron_expression import Expression
from oncue.common.cron_fields import DAY_OF_MONTH, Field, Step

_PACES = {"second": "s", "minute": "m", "hour": "h", "day-of-month": "d"}


def warn_of(expression: Expression, seed: str, days: str) -> list[str]:
    """All warnings of `expression`, in the order of its fields. `seed` is the schedule's name, if it has one."""
    if expression.every:
        return []
    fields = expression.fields
    warnings = [warning for field in fields for warning in _steps(field)]
    warnings += [warning for fine, coarse in pairwise(fields[:3]) for warning in _flood(fine, coarse)]
    if not expression.elapsed:
        warnings += [_full_range(field) for field in fields[:3] if field.full]
    if days != "both":
        warnings += _both_days(expression, "runs (OR); set days: both for AND")
    if not seed and any("h" in _without_names(field) for field in fields):
        warnings.append("H is spread by the schedule's name, and there is none: all such schedules coincide")
    return warnings


def warn_of_excluded(expression: Expression) -> list[str]:
    """The warnings of an expression whose dates are excluded."""
    return _both_days(
        expression,
        "is excluded (OR); for AND write one field, such as mon#1 for the first Monday of the month",
    )


def _without_names(field: Field) -> str:
    text = field.text.lower()
    for name in field.kind.names:
        text = text.replace(name, "")
    return text


def _steps(field: Field) -> list[str]:
    return [_uneven(field, step) for step in field.steps if _is_uneven(field, step)]


def _is_uneven(field: Field, step: Step) -> bool:
    cycle = field.kind.cycle
    if step.alone:
        return step.size != cycle
    return step.to_the_end and (step.size > 1 if cycle == 0 else cycle % step.size != 0)


def _uneven(field: Field, step: Step) -> str:
    kind = field.kind
    told = f"{kind.name} field: the step {step.size} of {field.text!r}"
    pace = f"; for an even pace write @every {step.size}{_PACES[kind.name]}" if kind.name in _PACES else ""
    if step.alone:
        return f"{told} leads to one value only{pace}"
    if kind is DAY_OF_MONTH:
        return f"{told} starts anew on the 1st of every month{pace}"
    return f"{told} does not divide {kind.cycle}, so one is shorter{pace}"


def _flood(fine: Field, coarse: Field) -> list[str]:
    """`* 3 * * *`: people mean once, and get sixty."""
    if fine.text != "*" or not coarse.text.replace(",", "").isdigit():
        return []
    name, times = fine.kind.name, fine.kind.cycle
    return [
        f"{name} field: * runs {times} times in {coarse.kind.name} {coarse.text}; write 0 to run once per {coarse.kind.name}"
    ]


def _full_range(field: Field) -> str:
    name, text = field.kind.name, field.text
    return (
        f"{name} field: {text!r} is the whole field but no star, so the schedule has fixed times, and a clock change "
        "makes it skip or merge ticks; write * to follow elapsed time"
    )


def _both_days(expression: Expression, either: str) -> list[str]:
    _, _, _, day_of_month, _, day_of_week = expression.fields
    if not (_restricted(day_of_month) and _restricted(day_of_week)):
        return []
    both = f"day-of-month {day_of_month.text!r} and day-of-week {day_of_week.text!r}"
    if day_of_month.starred or day_of_week.starred:
        return [f"{both} are both restricted: as one starts with *, a day must match both"]
    return [f"{both} are both restricted: a day that matches either {either}"]


def _restricted(field: Field) -> bool:
    return not (field.starred and field.full)
