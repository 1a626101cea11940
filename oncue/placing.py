"""From what a producer asks for to what is written: checked here, before the first byte goes anywhere."""

from dataclasses import dataclass
from typing import Any

from oncue.common import ids, record
from oncue.common.due import due_ms
from oncue.common.errors import BadInput
from oncue.common.handler import check_seconds
from oncue.common.keys import queue_name
from oncue.common.retry import RetryPolicy, storable
from oncue.common.store import Store
from oncue.common.task import NewTask, instant
from oncue.common.writing import Placed


@dataclass(frozen=True, slots=True)
class Settings:
    """What an app needs of a configuration (``oncue.common.config`` reads and checks it)."""

    store: Store
    max_data_bytes: int

    def durable(self, text: str) -> "Settings":
        """The same with a store that waits for the durability of each write; raises BadInput."""
        from oncue.common import durability

        return Settings(durability.confirmed(self.store, durability.durability(text)), self.max_data_bytes)


def placed(settings: Settings, task: NewTask, task_id: str, claim: bytes = b"") -> Placed:
    """A task as it is written, with that id and field of claims; raises BadInput and StoreUnavailable."""
    store, queue, band = settings.store, queue_name(task.queue), task.priority
    if isinstance(band, bool) or not isinstance(band, int) or not 0 <= band <= 9:
        raise BadInput(f"a priority of {band!r} is not understood: give 0 to 9, 9 runs first")
    due = due_ms(task.ts, store.now_ms(queue) if task.ts is None else 0)
    nonce = b""
    expires = 0 if task.expires is None else due_ms(task.expires, 0)
    if task.expires is not None and expires < due:
        raise BadInput(
            f"the task would expire at {instant(expires).isoformat()}, before it is due at {instant(due).isoformat()}:"
            " allowed is its due time or any later one"
        )
    if task.id is not None:
        ids.checked(task_id)
    if task.id is not None or expires or claim:
        nonce = ids.new_nonce()
    data = record.encoded(task.data, settings.max_data_bytes)
    options = _options(task) if task.retry or task.timeout_s is not None else None
    body = record.pack(due, band, queue, data, nonce, options, expires_ms=expires, claim=claim)
    return Placed(task_id, body, due, band, queue)


def _options(task: NewTask) -> dict[str, Any]:
    """What the record carries beside its data; raises BadInput."""
    retry = task.retry
    options: dict[str, Any] = {}
    if retry:
        options["retry"] = retry.storable() if isinstance(retry, RetryPolicy) else storable(retry)
    if task.timeout_s is not None:
        options["timeout_s"] = check_seconds("timeout_s", task.timeout_s)
    return options
