"""A cron expression in words: one line that a person can hold against what was meant."""

from collections.abc import Iterable, Sequence

from oncue.common.cron_expression import Expression
from oncue.common.cron_fields import Field, Mark
from oncue.common.duration import words_of
from oncue.common.phrases import MONTHS, fixed_times, listed

_WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
# More times of day than these are told by their fields.
_FEW = 6


def explain(expression: Expression, tz: str, days: str, gap: str) -> str:
    """The meaning of `expression` in the time zone `tz`, in English, without a final full stop."""
    if expression.every:
        return f"every {words_of(expression.every)} of elapsed time, counted from 1970-01-01T00:00:00Z"
    second, minute, hour, day_of_month, month, day_of_week = expression.fields
    both = days == "both" or day_of_month.starred or day_of_week.starred
    parts = [_times(second, minute, hour), _days(day_of_month, day_of_week, both)]
    if not month.full:
        parts.append(f"in {listed(_runs(month.values, MONTHS, 1))}")
    elapsed = "follows elapsed time: at clock changes skipped times do not run, repeated times run twice"
    changes = elapsed if expression.elapsed else fixed_times(gap)
    return f"{', '.join(parts)}; time zone {tz}; {changes}"


def _times(second: Field, minute: Field, hour: Field) -> str:
    if len(second.values) * len(minute.values) * len(hour.values) <= _FEW:
        return f"at {listed(_times_of_day(second, minute, hour))}"
    fields = [minute, hour] if second.values == {0} else [second, minute, hour]
    finest, *coarser = [_pace(fields[0]), *(_named(field) for field in fields[1:])]
    if finest.startswith("every "):
        # "every minute" needs no "of every hour".
        coarser = [words for words in coarser if not words.startswith("every ")]
    return " of ".join([finest, *coarser])


def _times_of_day(second: Field, minute: Field, hour: Field) -> list[str]:
    seconds = [f":{value:02d}" for value in sorted(second.values)] if second.values != {0} else [""]
    return [
        f"{h:02d}:{m:02d}{s}" for h in sorted(hour.values) for m in sorted(minute.values) for s in seconds
    ]


def _pace(field: Field) -> str:
    """The finest field: an even step is told as a pace."""
    values = sorted(field.values)
    step = values[1] - values[0] if len(values) > 1 else 0
    if step > 1 and values == list(range(0, field.kind.cycle, step)) and field.kind.cycle % step == 0:
        return f"every {step} {field.kind.name}s"
    return _named(field)


def _named(field: Field) -> str:
    name = field.kind.name
    if field.full:
        return f"every {name}"
    return f"{name}{'s' if len(field.values) > 1 else ''} {listed(_runs(field.values))}"


def _days(day_of_month: Field, day_of_week: Field, both: bool) -> str:
    told = [words for words in (_dates(day_of_month), _weekdays(day_of_week)) if words]
    if not told or (not both and len(told) < 2):
        return "every day"
    return "on " + (" if it is also " if both else " or on ").join(told)


def _dates(field: Field) -> str:
    if field.full:
        return ""
    plural = "s" if len(field.values) > 1 else ""
    plain = [f"day{plural} {listed(_runs(field.values))} of the month"] if field.values else []
    return listed(plain + [_mark(mark) for mark in field.marks])


def _weekdays(field: Field) -> str:
    if field.full:
        return ""
    return listed(_runs(field.values, _WEEKDAYS) + [_mark(mark) for mark in field.marks])


def _mark(mark: Mark) -> str:
    weekday = _WEEKDAYS[mark.day % 7]
    return {
        "last": "the last day of the month",
        "last-workday": "the last Monday-to-Friday day of the month",
        "nearest-workday": f"the Monday-to-Friday day nearest to day {mark.day} of the month",
        "last-weekday": f"the last {weekday} of the month",
        "nth-weekday": f"the {_ORDINALS[mark.nth]} {weekday} of the month",
    }[mark.kind]


def _runs(values: Iterable[int], names: Sequence[str] = (), low: int = 0) -> list[str]:
    """Values in order, with runs of three and more drawn together: 1, 2, 3, 7 is 1-3, 7. `names` start at `low`."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return [text for run in runs for text in _run([names[v - low] if names else str(v) for v in run])]


def _run(words: list[str]) -> list[str]:
    return [f"{words[0]}-{words[-1]}"] if len(words) > 2 else words
