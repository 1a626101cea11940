"""What happens after a failure: how often a task is tried, how long it waits, and what ends it among the dead."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal

from oncue.common.errors import BadInput

Backoff = Literal["exponential", "fixed"]
Errors = type[BaseException] | tuple[type[BaseException], ...]

LARGEST_COUNT = 60_000
"""The store counts in two bytes."""

_LARGEST_EXPONENT = 1023  # 2.0 ** 1024 is not a float; far past any `max_s` anyway


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a task is tried, and how long it waits in between.

    `first_s` and `max_s` are seconds. `max_attempts` counts failed runs, so 1 means no retry. The first `immediate`
    retries come at once, then `backoff` begins: by name, or the waits themselves in seconds, the last one repeated.
    `jitter` is a share of the wait, 0 to 1. `max_lost` and `max_throttled` are how many lost leases and how many
    throttlings are borne; one more ends the task.

    `retry_for`, `bury_for` and `throttle_for` sort errors by class. Where `retry_for` is given, an error of another
    class is permanent, as are those of `bury_for`: the task is buried at once. `before_bury(task, error)` is called
    in the worker before that. Raises `BadInput` when the values cannot go together.
    """

    max_attempts: int = 5
    backoff: Backoff | tuple[float, ...] = "exponential"
    first_s: float = 1.0
    max_s: float = 3600.0
    jitter: float = 0.25
    immediate: int = 0
    max_lost: int = 5
    max_throttled: int = 100
    retry_for: Errors = ()
    bury_for: Errors = ()
    throttle_for: Errors = ()
    before_bury: Callable[[Any, BaseException], object] | None = None

    IN_CODE: ClassVar = ("retry_for", "bury_for", "throttle_for", "before_bury")
    """What only code can say: neither a file nor a task's record can."""

    def __post_init__(self) -> None:
        """Refuse what would give a negative wait or no attempt at all."""
        for name, least in (("max_attempts", 1), ("immediate", 0), ("max_lost", 0), ("max_throttled", 0)):
            _check_count(name, getattr(self, name), least)
        for name in ("retry_for", "bury_for", "throttle_for"):
            _check_errors(name, getattr(self, name))
        if self.before_bury is not None and not callable(self.before_bury):
            raise BadInput(f"before_bury is {self.before_bury!r}; allowed: a function of task and error")
        if not isinstance(self.backoff, str):
            object.__setattr__(self, "backoff", _waits(self.backoff))
        elif self.backoff not in ("exponential", "fixed"):
            raise BadInput(f"backoff is {self.backoff!r}; allowed: exponential, fixed, or waits in seconds")
        if not 0 <= self.jitter <= 1:
            raise BadInput(f"jitter is {self.jitter}; allowed: 0 to 1")
        if not 0 <= self.first_s <= self.max_s < float("inf"):
            raise BadInput(
                f"first_s is {self.first_s} and max_s is {self.max_s}; allowed: 0 <= first_s <= max_s"
            )

    def delay_s(self, attempt: int, random: Callable[[], float]) -> float:
        """Return the seconds to wait after failed attempt number `attempt` (1 is the first run).

        `random` returns a float in [0, 1). Raises `BadInput` for an attempt below 1.
        """
        if attempt < 1:
            raise BadInput(f"attempt is {attempt}; allowed: 1 or more")
        return 0.0 if attempt <= self.immediate else self.backoff_s(attempt - self.immediate, random)

    def backoff_s(self, times: int, random: Callable[[], float]) -> float:
        """The wait before trying again when that has been waited for ``times`` times, the coming one included."""
        # Jitter only shortens: then `max_s` is a true upper bound, and waits that reached it still spread out.
        return self._full_delay_s(times) * (1 - self.jitter * random())

    def _full_delay_s(self, times: int) -> float:
        if not isinstance(self.backoff, str):
            return self.backoff[min(times, len(self.backoff)) - 1]
        if self.backoff == "fixed":
            return self.first_s
        return min(self.first_s * 2.0 ** min(times - 1, _LARGEST_EXPONENT), self.max_s)

    def changed(self, values: Mapping[str, Any]) -> "RetryPolicy":
        """This policy with other values for some of its fields; raises BadInput."""
        unknown = sorted(set(values) - {field.name for field in fields(self)})
        if unknown:
            raise BadInput(f"a retry policy has no {unknown[0]!r}: it has {', '.join(_names())}")
        try:
            return replace(self, **values)
        except TypeError as error:
            raise BadInput(f"a retry policy cannot be made of {dict(values)!r} ({error})") from None

    def storable(self) -> dict[str, Any]:
        """What differs from the default, as JSON can hold it; raises BadInput for what only code can say."""
        usual = RetryPolicy()
        given = {
            name: getattr(self, name) for name in _names() if getattr(self, name) != getattr(usual, name)
        }
        return storable(given)


def storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a policy for one task, checked; raises BadInput for what a record cannot hold."""
    in_code = [name for name in values if name in RetryPolicy.IN_CODE]
    if in_code:
        raise BadInput(f"a task cannot carry {in_code[0]}: give it to the handler")
    RetryPolicy().changed(values)
    return dict(values)


def _names() -> list[str]:
    return [field.name for field in fields(RetryPolicy)]


def _check_count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_COUNT:
        shown = (
            f"{least} or more" if isinstance(value, int) and value < least else f"{least} to {LARGEST_COUNT}"
        )
        raise BadInput(f"{name} is {value!r}; allowed: {shown}")


def _check_errors(name: str, value: object) -> None:
    classes = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in classes):
        raise BadInput(f"{name} is {value!r}; allowed: an exception class, or a tuple of them")


def _waits(waits: object) -> tuple[float, ...]:
    found = tuple(waits) if isinstance(waits, list | tuple) else ()
    if not found or not all(
        isinstance(wait, int | float) and not isinstance(wait, bool) and math.isfinite(wait) and wait >= 0
        for wait in found
    ):
        raise BadInput(f"backoff is {waits!r}; allowed: exponential, fixed, or waits in seconds")
    return tuple(map(float, found))
