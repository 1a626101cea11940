"""How long a failed task waits before it runs again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from oncue.common.errors import BadInput

Backoff = Literal["exponential", "fixed"]

_LARGEST_EXPONENT = 1023  # 2.0 ** 1024 is not a float; far past any `max_s` anyway


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a task is tried, and how long it waits in between.

    `first_s` and `max_s` are seconds. `max_attempts` counts the first run too, so 1 means no retry. `jitter` is a
    share of the wait, 0 to 1. Raises `BadInput` when the values cannot go together.
    """

    max_attempts: int = 5
    backoff: Backoff = "exponential"
    first_s: float = 1.0
    max_s: float = 3600.0
    jitter: float = 0.25

    def __post_init__(self) -> None:
        """Refuse what would give a negative wait or no attempt at all."""
        if self.max_attempts < 1:
            raise BadInput(f"max_attempts is {self.max_attempts}; allowed: 1 or more")
        if self.backoff not in ("exponential", "fixed"):
            raise BadInput(f"backoff is {self.backoff!r}; allowed: exponential, fixed")
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
        # Jitter only shortens: then `max_s` is a true upper bound, and waits that reached it still spread out.
        return self._full_delay_s(attempt) * (1 - self.jitter * random())

    def _full_delay_s(self, attempt: int) -> float:
        if self.backoff == "fixed":
            return self.first_s
        return min(self.first_s * 2.0 ** min(attempt - 1, _LARGEST_EXPONENT), self.max_s)
