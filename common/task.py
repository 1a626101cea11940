"""What users hand in, and what they get to see: new tasks, tasks in a handler's hands, and what the store knows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 5

State = Literal["delayed", "ready", "leased", "done", "dead", "cancelled"]


def instant(ms: int) -> datetime:
    """The UTC datetime of an instant in ms since the epoch."""
    return datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)


@dataclass(slots=True)
class NewTask:
    """A task to be scheduled; ``ts`` and ``data`` as ``schedule_task`` takes them."""

    ts: object
    data: object
    queue: str = DEFAULT_QUEUE
    id: str | None = None
    priority: int = DEFAULT_PRIORITY


class Task:
    """A task in a handler's hands. ``attempt`` counts from 1; ``due_ms`` is when this attempt was due."""

    __slots__ = ("attempt", "data", "due_ms", "failed", "id", "lost", "options", "priority", "queue", "token")

    def __init__(
        self,
        id: str,
        queue: str,
        data: Any,
        due_ms: int,
        *,
        attempt: int = 1,
        failed: int = 0,
        lost: int = 0,
        priority: int = DEFAULT_PRIORITY,
        token: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.id = id
        self.queue = queue
        self.data = data
        self.due_ms = due_ms
        self.attempt = attempt
        self.failed = failed
        self.lost = lost
        self.priority = priority
        self.token = token
        self.options = options or {}

    @property
    def due(self) -> datetime:
        """When the task was due, in UTC."""
        return instant(self.due_ms)

    @property
    def schedule(self) -> str | None:
        """The name of the schedule whose tick this is, if it is one."""
        name: str | None = self.options.get("schedule")
        return name

    @property
    def planned_at(self) -> datetime | None:
        """The tick's planned instant, in UTC, if this is one: earlier than ``due`` after a time without schedulers."""
        planned = self.options.get("planned_ms")
        return None if planned is None else instant(planned)

    def __repr__(self) -> str:
        return f"Task({self.id!r}, queue={self.queue!r}, attempt={self.attempt})"


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What the store knows of a task.

    A done or cancelled task is remembered for a while (``keep_finished_s``) with neither queue nor data nor due time.
    ``attempts`` counts reservations, ``failed`` the handler's failures, ``lost`` leases that ended unanswered;
    ``error`` is the last failure: type, message, traceback, at_ms.
    """

    id: str
    state: State
    queue: str | None
    priority: int | None
    due: datetime | None
    data: Any
    attempts: int
    failed: int
    lost: int
    error: dict[str, Any] | None
