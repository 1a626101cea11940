"""What users hand in, and what they get to see: new tasks, tasks in a handler's hands, and what the store knows."""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol

from oncue.common.errors import BadInput, WrongState
from oncue.common.retry import RetryPolicy

DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 5
MOST_EXTENSION_S = 86_400
_lock = threading.Lock()

State = Literal["delayed", "ready", "leased", "done", "dead", "cancelled", "blocked"]


Left = Literal["done", "released", "lost"]
"""How a task can leave its worker's hand while its handler still runs."""


def extension_ms(seconds: float) -> int:
    """How long a lease is to last from now on, in ms; raises BadInput."""
    if not 0 < seconds <= MOST_EXTENSION_S:
        raise BadInput(f"a lease cannot be extended by {seconds!r} s; allowed: above 0 to {MOST_EXTENSION_S}")
    return math.ceil(seconds * 1000)


def instant(ms: int) -> datetime:
    """The UTC datetime of an instant in ms since the epoch."""
    return datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)


class Grip(Protocol):
    """What speaks for the leases of tasks in hand; each raises LeaseLost and StoreUnavailable."""

    def extend(self, task: "Task", lease_ms: int) -> None:
        """The lease lasts at least so long from now."""

    def release(self, task: "Task") -> None:
        """The task goes back."""

    def key(self, task: "Task", name: str) -> str:
        """A key of the handler's own on the task's shard."""

    def pipeline(self, task: "Task") -> Any:
        """A pipeline for the handler's writes."""

    def commit(self, task: "Task", pipeline: Any) -> list[Any]:
        """The task is done, with these writes."""


@dataclass(slots=True)
class NewTask:
    """A task to be scheduled; ``ts`` and ``data`` as ``schedule_task`` takes them."""

    ts: object
    data: object
    queue: str = DEFAULT_QUEUE
    id: str | None = None
    priority: int = DEFAULT_PRIORITY
    retry: RetryPolicy | Mapping[str, Any] | None = None
    timeout_s: float | None = None
    expires: object = None


class Failed(Exception):
    """A failure that a handler has put in words of its own."""


class _Wish(threading.Event):
    """Set when the task is not wanted any more; calls ``action`` then, under the lock of this module."""

    action: Callable[[], object] | None = None

    def set(self) -> None:
        super().set()
        if self.action is not None:
            self.action()


class Task:
    """A task in a handler's hands. ``attempt`` counts from 1; ``due_ms`` is when this attempt was due.

    ``left``: by what it is in this worker's hand no more, though its handler may still run; the outcome does not count then.
    """

    __slots__ = (
        *("attempt", "data", "due_ms", "failed", "id", "lost", "options", "priority", "queue", "throttled"),
        *("token", "failure", "left", "_cancelled", "_grip"),
    )

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
        throttled: int = 0,
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
        self.throttled = throttled
        self.options = options or {}
        # Made when somebody looks: an Event costs more than the rest of a task.
        self._cancelled: _Wish | bool = False
        self._grip: Grip | None = None
        self.failure: BaseException | None = None
        self.left: Left | None = None

    @property
    def cancelled(self) -> threading.Event:
        """Set once somebody has cancelled the task while it runs; known with the next renewal of its lease."""
        with _lock:
            return self._wish()

    def _wish(self) -> _Wish:
        if isinstance(self._cancelled, bool):
            wished, self._cancelled = self._cancelled, _Wish()
            if wished:
                self._cancelled.set()
        return self._cancelled

    def on_cancel(self, action: Callable[[], object] | None) -> None:
        """``action`` is called once the task is cancelled, or at once if it is: short, and from any thread.

        None takes it back; it is not called any more then.
        """
        with _lock:
            wish = self._wish()
            wish.action = action
            if action is not None and wish.is_set():
                action()

    def wish_cancel(self) -> None:
        """Tells the handler that the task is not wanted any more."""
        with _lock:
            if isinstance(self._cancelled, bool):
                self._cancelled = True
            else:
                self._cancelled.set()

    def fail(self, error: BaseException | str) -> None:
        """This task alone has failed, whatever becomes of the others of its batch; an answer may be given, too."""
        self.failure = error if isinstance(error, BaseException) else Failed(error)

    def hold_by(self, grip: "Grip") -> None:
        """Notes who can speak for the lease of this task."""
        self._grip = grip

    def extend(self, seconds: float) -> None:
        """Makes the lease last for at least ``seconds`` from now, for a time in which the worker cannot renew it.

        Raises BadInput, LeaseLost and StoreUnavailable; WrongState outside of a worker.
        """
        wanted_ms = extension_ms(seconds)
        self._held().extend(self, wanted_ms)

    def release(self) -> None:
        """Gives the task back as if it had never been reserved; what the handler does afterwards does not count.

        Raises LeaseLost and StoreUnavailable; WrongState outside of a worker.
        """
        self._held().release(self)

    def key(self, name: str) -> str:
        """A key of the handler's own, on the shard of its task: what ``commit`` writes has to be there."""
        return self._held().key(self, name)

    def commit(self, pipeline: Any) -> list[Any]:
        """Ends the task as done, together with the writes that wait in a pipeline of redis-py; returns their answers.

        With a lost lease nothing is written. A command that the server refuses fails the attempt; those before it stay.
        The pipeline is not executed otherwise, and its keys are made by ``key``. Raises BadInput, LeaseLost and
        StoreUnavailable; WrongState outside of a worker.
        """
        return self._held().commit(self, pipeline)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A pipeline to write into, committed at the end of the block; see ``commit``. An exception commits nothing."""
        pipeline = self._held().pipeline(self)
        yield pipeline
        self.commit(pipeline)

    def _held(self) -> "Grip":
        if self._grip is None:
            raise WrongState(f"task {self.id} is in no worker's hands: only a running task has a lease")
        return self._grip

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
        """The tick's planned instant, in UTC, if this is one; ``jitter`` and a standstill make the run come later."""
        planned = self.options.get("planned_ms")
        return None if planned is None else instant(planned)

    @property
    def late_by(self) -> timedelta | None:
        """How long after its instant in the timetable the tick became a task, if this is one: much after a standstill."""
        late = self.options.get("late_ms")
        return None if late is None else timedelta(milliseconds=late)

    def __repr__(self) -> str:
        return f"Task({self.id!r}, queue={self.queue!r}, attempt={self.attempt})"


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What the store knows of a task.

    A done or cancelled task is remembered for a while (``keep_finished_s``) with neither queue nor data nor due time.
    ``attempts`` counts reservations, ``failed`` the handler's failures, ``lost`` leases that ended unanswered,
    ``throttled`` runs that were put off by a rate limit; ``error`` is the last failure: type, message, traceback, at_ms.
    ``history`` holds the failures that are kept, at most ten, the last first. ``reason`` says why a task is cancelled
    where nobody asked for that ("expired", "purged"), and "cancel wished" of one that runs where somebody did. ``result``
    is what the handler returned, for as long as its ``keep_result_s`` says.
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
    reason: str | None = None
    throttled: int = 0
    result: Any = None
    history: tuple[dict[str, Any], ...] = ()
