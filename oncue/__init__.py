"""oncue: delayed tasks and cron schedules on Redis or Valkey; on time, once, whatever dies."""

import threading
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from oncue.app import App
from oncue.common.answers import Bury, Cancelled, Retry, Snooze, Throttled, TimedOut
from oncue.common.errors import (
    AlreadyFinal,
    BadInput,
    ConfigError,
    CronError,
    LeaseLost,
    NotDurable,
    NotFound,
    OncueError,
    StoreUnavailable,
    WrongServer,
    WrongState,
)
from oncue.common.retry import RetryPolicy
from oncue.common.task import DEFAULT_PRIORITY, DEFAULT_QUEUE, NewTask, Task, TaskInfo

if TYPE_CHECKING:
    from oncue.common.cron import Cron
    from oncue.common.interval import Every
    from oncue.common.recurrence import RRule

__all__ = [
    "AlreadyFinal",
    "App",
    "BadInput",
    "Bury",
    "Cancelled",
    "ConfigError",
    "Cron",
    "CronError",
    "Every",
    "LeaseLost",
    "NewTask",
    "NotDurable",
    "NotFound",
    "OncueError",
    "RRule",
    "Retry",
    "RetryPolicy",
    "Snooze",
    "StoreUnavailable",
    "Task",
    "TaskInfo",
    "Throttled",
    "TimedOut",
    "WrongServer",
    "WrongState",
    "cancel",
    "extend",
    "get",
    "reschedule",
    "run_now",
    "schedule_many",
    "schedule_task",
]

_LATER = {
    "Cron": "oncue.common.cron",
    "Every": "oncue.common.interval",
    "RRule": "oncue.common.recurrence",
}
_lock = threading.Lock()
_app: App | None = None


def _default() -> App:
    global _app
    with _lock:
        _app = _app or App()
        return _app


def schedule_task(
    ts: object,
    data: object,
    queue: str = DEFAULT_QUEUE,
    id: str | None = None,
    priority: int = DEFAULT_PRIORITY,
    **settings: Any,
) -> str:
    """``App.schedule_task`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    return _default().schedule_task(ts, data, queue, id, priority, **settings)


def schedule_many(tasks: Iterable[NewTask], *, durability: str | None = None) -> list[str]:
    """``App.schedule_many`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    return _default().schedule_many(tasks, durability=durability)


def cancel(id: str) -> bool:
    """``App.cancel`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    return _default().cancel(id)


def reschedule(id: str, ts: object) -> None:
    """``App.reschedule`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    _default().reschedule(id, ts)


def run_now(id: str) -> None:
    """``App.run_now`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    _default().run_now(id)


def extend(id: str, seconds: float) -> None:
    """``App.extend`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    _default().extend(id, seconds)


def get(id: str) -> TaskInfo:
    """``App.get`` on the server that ONCUE_URL names, or on the running `oncue up` of this user."""
    return _default().get(id)


def __getattr__(name: str) -> Any:
    # Read at first use: a producer that schedules single tasks need not pay for the calendar.
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'oncue' has no attribute {name!r}")
