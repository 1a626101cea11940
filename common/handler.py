"""What is registered for a queue: the function, and how its tasks are run."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oncue.common.errors import BadInput
from oncue.common.retry import RetryPolicy
from oncue.common.task import Task

Isolation = Literal["thread", "process"]
LONGEST_S = 31_536_000.0


@dataclass(frozen=True, slots=True)
class Handler:
    """The function of a queue. ``retry`` overrides, as a whole or field by field, what the configuration says.

    A ``max_size`` above 0 makes it a batch handler. Raises BadInput for values that cannot be used.
    """

    function: Callable[[Any], object]
    retry: RetryPolicy | Mapping[str, Any] = field(default_factory=dict)
    keep_result_s: float = 0.0
    timeout_s: float | None = None
    isolation: Isolation = "thread"
    max_size: int = 0
    max_wait_s: float = 0.0
    raise_on_cancel: bool = False

    def __post_init__(self) -> None:
        """Refuse at the decorator what would otherwise fail in a worker."""
        self.policy(RetryPolicy())
        check_seconds("keep_result_s", self.keep_result_s, zero=True)
        if self.timeout_s is not None:
            check_seconds("timeout_s", self.timeout_s)
        check_seconds("max_wait_s", self.max_wait_s, zero=True)
        if (
            isinstance(self.max_size, bool)
            or not isinstance(self.max_size, int)
            or not 0 <= self.max_size <= 500
        ):
            raise BadInput(f"max_size is {self.max_size!r}; allowed: 1 to 500")
        if not isinstance(self.raise_on_cancel, bool):
            raise BadInput(f"raise_on_cancel is {self.raise_on_cancel!r}; allowed: True, False")
        if self.isolation not in ("thread", "process"):
            raise BadInput(f"isolation is {self.isolation!r}; allowed: thread, process")

    def policy(self, configured: RetryPolicy) -> RetryPolicy:
        """How failures of this queue are treated: what the configuration says, and above it the handler."""
        return self.retry if isinstance(self.retry, RetryPolicy) else configured.changed(self.retry)


def registered(handler: "Callable[[Task], object] | Handler") -> Handler:
    """A plain function with all the usual settings, or the handler itself."""
    return handler if isinstance(handler, Handler) else Handler(handler)


def check_seconds(name: str, value: object, *, zero: bool = False) -> float:
    """``value`` if it is a length of time in seconds; raises BadInput."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= LONGEST_S or not (value or zero):  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
        raise BadInput(f"{name} is {value!r}; allowed: seconds, {'0 or more' if zero else 'above 0'}")
    return float(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
