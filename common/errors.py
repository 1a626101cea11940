"""Every error that oncue raises on purpose: one sentence for people, one class for programs."""

from collections.abc import Sequence


class OncueError(Exception):
    """Base of all errors of oncue; its text is one plain sentence and never holds a secret."""


class BadInput(OncueError, ValueError):
    """A value given by the caller cannot be used; nothing was written."""


class ConfigError(OncueError, ValueError):
    """A configuration file, variable or flag cannot be used; the text names file, line and key."""


class CronError(OncueError, ValueError):
    """A schedule expression is refused; the text names the field and shows what is allowed.

    `field` is the name of the field ("minute", "day-of-month", "time zone", or "" for the whole expression);
    `code` is one of type, alias, field-count, syntax, name, range, order, step, never, zone.
    """

    def __init__(self, text: str, *, field: str = "", code: str = "syntax") -> None:
        super().__init__(text)
        self.field = field
        self.code = code


class StoreUnavailable(OncueError):
    """The server could not be reached, or did not answer in time; the outcome may be unknown."""


class NotDurable(StoreUnavailable):
    """Written, but not confirmed in time to be as durable as the call wants. The tasks are there and run.

    ``ids`` are those of the call's tasks, in order, and ``id`` is the first: what ``get`` does not find has not been
    written, or is lost, and can be scheduled again with that id.
    """

    def __init__(self, text: str, ids: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.ids = tuple(ids)

    @property
    def id(self) -> str:
        """The id of a single task."""
        return self.ids[0]


class WrongServer(OncueError):
    """The server answers but cannot be used as it is set up (eviction policy, version, replica)."""


class NotFound(OncueError, LookupError):
    """No task of that id exists, or it finished longer ago than finished tasks are kept."""


class AlreadyFinal(OncueError):
    """The task is done, dead or cancelled already."""


class WrongState(OncueError):
    """The task exists, but its state does not allow what was asked."""


class LeaseLost(OncueError):
    """The lease expired, or another holder has the task: what was asked changed nothing."""
