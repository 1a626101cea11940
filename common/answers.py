"""What a handler raises to say what is to become of its task, where returning or failing does not say it."""

from oncue.common.clock import host_now_ms
from oncue.common.due import due_ms
from oncue.common.errors import BadInput


class Answer(Exception):
    """Base of the answers that are no failures of the handler's own code."""


class Later(Answer):
    """Base of the answers that delay the task: by ``delay_s`` from now, or until ``at``."""

    def __init__(self, delay_s: float | None = None, *, at: object = None, reason: str = "") -> None:
        """``at``: epoch seconds, an aware datetime or an ISO 8601 string. Raises BadInput for both, or for nonsense."""
        super().__init__(reason)
        if delay_s is not None and at is not None:
            raise BadInput("give delay_s or at, not both")
        if delay_s is not None and not 0 <= delay_s < 1e10:
            raise BadInput(f"delay_s is {delay_s!r}; allowed: seconds, 0 or more")
        self.delay_s = delay_s
        self.at_ms = None if at is None else due_ms(at, host_now_ms())
        self.reason = reason

    def due_ms(self, now_ms: int) -> int | None:
        """The instant that was asked for, or None: then the policy says it."""
        return self.at_ms if self.delay_s is None else now_ms + round(self.delay_s * 1000)


class Retry(Later):
    """The attempt has failed and counts as such; the next one comes after ``delay_s``, or by the policy."""


class Throttled(Later):
    """Somebody else asks for patience (a rate limit): later, counted apart from failures."""


class Snooze(Later):
    """Later, and not counted as an attempt at all. A delay or an instant has to be given."""

    def __init__(self, delay_s: float | None = None, *, at: object = None) -> None:
        if delay_s is None and at is None:
            raise BadInput("a snooze needs delay_s or at")
        super().__init__(delay_s, at=at)


class Bury(Answer):
    """No further attempt can help: among the dead at once."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Interrupt(BaseException):
    """Base of what ends a handler from outside: no Exception, so that `except Exception` in a handler lets it pass."""


class Cancelled(Interrupt):
    """The task is not wanted any more: it ends as cancelled."""


class TimedOut(Interrupt):
    """The handler ran longer than its ``timeout_s``. Counts as a failed attempt."""


class HandBack(Interrupt):
    """The worker stops: the task goes back as it came, for another one."""
