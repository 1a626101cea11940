"""The app: where producers schedule and where handlers are registered."""

import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oncue.common import ids
from oncue.common.due import due_ms
from oncue.common.errors import NotDurable
from oncue.common.ids import checked_all
from oncue.common.keys import queue_name
from oncue.common.store import Progress, Store, quiet
from oncue.common.task import DEFAULT_PRIORITY, DEFAULT_QUEUE, NewTask, TaskInfo
from oncue.placing import Settings, placed
from oncue.registry import Registry, Retrying

if TYPE_CHECKING:
    from oncue.common.claims import While
    from oncue.common.deadletters import DeadLetters
    from oncue.common.listing import Page
    from oncue.schedules_api import Schedules


class App(Registry):
    """Schedules tasks and holds the handlers of a program. No I/O before the first call; safe to use from many threads.

    What is not given here comes from the file named by ONCUE_CONFIG and from the ONCUE_ variables; without any URL, a
    running `oncue up` of the same user is found.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        namespace: str | None = None,
        shards: int | None = None,
        username: str | None = None,
        password: str | None = None,
        password_file: str | None = None,
        max_data_bytes: int | None = None,
        keep_finished_s: float | None = None,
    ) -> None:
        """The settings of the same names (docs/configuration.md), over those of the file and of variables.

        They are checked at the first call that needs the server; that raises ConfigError or BadInput for what it
        cannot use.
        """
        given = {
            "url": url,
            "namespace": namespace,
            "shards": shards,
            "username": username,
            "password": password,
            "password_file": password_file,
            "max_data_bytes": max_data_bytes,
            "keep_finished_s": keep_finished_s,
        }
        super().__init__()
        self.given: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self._lock = threading.Lock()
        self._settings: Settings | None = None

    def schedule_task(
        self,
        ts: object,
        data: object,
        queue: str = DEFAULT_QUEUE,
        id: str | None = None,
        priority: int = DEFAULT_PRIORITY,
        *,
        retry: Retrying | None = None,
        timeout_s: float | None = None,
        expires: object = None,
        debounce: str | None = None,
        max_wait_s: float | None = None,
        unique: str | None = None,
        unique_while: "While" = "waiting",
        unique_for_s: float | None = None,
        durability: str | None = None,
    ) -> str:
        """Schedules one task and returns its id; once it has returned, the task runs.

        ``ts``: epoch seconds (int or float), an aware datetime, an ISO 8601 string with an offset, or None for now; the
        past means now. ``data``: JSON values, or bytes kept as they are. ``priority``: 0 to 9, 9 first. An ``id`` of a
        task that still waits or runs leaves that task as it is. ``retry``: fields of a RetryPolicy for this task alone,
        over those of its handler and its queue; ``timeout_s``: how long one run of it may take.

        ``expires``: a time like ``ts``; not begun by then, the task is dropped as cancelled, with that reason.
        ``debounce``: a key of the queue: one task of that key waits, and each call gives it a new time and its own
        data, but no later than ``max_wait_s`` after the first, and a retry no earlier than its own. ``unique``: a key
        too: while a task of it waits (or runs, with ``unique_while="running"``, or for ``unique_for_s`` from its
        scheduling on, even if it is done), nothing is scheduled. Both return the id of the task that is there then.
        ``durability``: "replicas:N" or "aof": returns when N replicas have the task, or when it is on the server's disk.
        Raises BadInput, WrongState (the id of a dead task; with a key also of one that runs or has another key),
        StoreUnavailable (repeat the call with the same id), NotDurable (see docs/tasks.md) and WrongServer.
        """
        settings = self._settings or self._ready()
        if durability is not None:
            settings = settings.durable(durability)
        new = NewTask(ts, data, queue, id, priority, retry, timeout_s, expires)
        new_id = ids.new_id() if id is None else id
        if debounce is not None or unique is not None:
            from oncue.common.claims import Claim

            claim = Claim(debounce, max_wait_s, unique, unique_while, unique_for_s)
            return claim.schedule(
                settings.store, placed(settings, new, new_id, claim.field(queue_name(queue)))
            )
        task = placed(settings, new, new_id)
        settings.store.schedule_one(task)
        return task.id

    def schedule_many(self, tasks: Iterable[NewTask], *, durability: str | None = None) -> list[str]:
        """Schedules tasks in chunks and returns their ids, in order; raises as ``schedule_task``.

        All tasks are checked before the first is written. After an error some chunks may have been written, and none is
        from then on unless the server gave no answer: repeat the call with ids of your own to be sure of each, after
        NotDurable with its ``ids`` for those that ``get`` does not find.
        """
        settings = self._ready()
        if durability is not None:
            settings = settings.durable(durability)
        wanted = list(tasks)
        fresh = iter(ids.new_ids(sum(task.id is None for task in wanted)))
        tasks_placed = [
            placed(settings, task, next(fresh) if task.id is None else task.id) for task in wanted
        ]
        all_ids = [task.id for task in tasks_placed]
        try:
            settings.store.schedule(tasks_placed)
        except NotDurable as error:
            raise NotDurable(str(error), all_ids) from None
        return all_ids

    def cancel(self, id: str) -> bool:
        """Cancels a task. True: it will not run. False: too late, it runs, is done or dead. Raises NotFound.

        A running task is told all the same: its worker learns it with the next renewal of the lease, and the handler
        sees ``task.cancelled``. Should it fail, or its worker die, it ends as cancelled.
        """
        return self._ready().store.cancel(ids.checked(id))

    def cancel_many(self, ids: Iterable[str], progress: Progress = quiet) -> dict[str, str]:
        """Cancels tasks in bounded steps; for each "cancelled", or why not: its state, or "unknown".

        ``progress`` is told after each step how many are dealt with.
        """
        return self._ready().store.cancel_many(checked_all(ids), progress)

    def reschedule(self, id: str, ts: object) -> None:
        """Gives a waiting task another time, ``ts`` as ``schedule_task`` takes it. A retry that waits counts too.

        Raises NotFound, WrongState if it runs or is blocked, AlreadyFinal if it is done, dead or cancelled, and BadInput
        for a time after that at which it expires.
        """
        store = self._ready().store
        store.reschedule(ids.checked(id), self._instant(store, ts))

    def reschedule_many(self, ids: Iterable[str], ts: object, progress: Progress = quiet) -> dict[str, str]:
        """Gives tasks one other time, in bounded steps.

        For each "moved", or why not: its state, "expires" (before that time), or "unknown".
        """
        store = self._ready().store
        return store.reschedule_many(checked_all(ids), self._instant(store, ts), progress)

    def run_now(self, id: str) -> None:
        """Makes a waiting task due now; raises as ``reschedule``."""
        self.reschedule(id, None)

    def run_now_many(self, ids: Iterable[str], progress: Progress = quiet) -> dict[str, str]:
        """Makes waiting tasks due now; as ``reschedule_many``."""
        return self.reschedule_many(ids, None, progress)

    @staticmethod
    def _instant(store: Store, ts: object) -> int:
        return due_ms(ts, store.now_anywhere_ms() if ts is None else 0)

    def extend(self, id: str, seconds: float) -> None:
        """Makes the lease of a running task last for at least ``seconds`` from now; its worker keeps the task.

        For a worker that cannot renew it. Should that die, the task waits as long. Raises NotFound, WrongState if the
        task waits, AlreadyFinal if it is done, dead or cancelled, BadInput and StoreUnavailable.
        """
        from oncue.common.lease import extend

        extend(self._ready().store, ids.checked(id), seconds)

    def get(self, id: str) -> TaskInfo:
        """What is known of a task; raises NotFound."""
        return self._ready().store.get(ids.checked(id))

    @property
    def dead(self) -> "DeadLetters":
        """The tasks that have failed for good: to be listed, redriven and purged."""
        # Imported at first use: producers and workers never need it.
        from oncue.common.deadletters import DeadLetters

        return DeadLetters(lambda: self._ready().store)

    @property
    def schedules(self) -> "Schedules":
        """The schedules in the store: list, create, change, pause, resume, trigger, backfill, remove."""
        # Imported at first use: a producer that schedules single tasks need not pay for the calendar.
        from oncue.schedules_api import Schedules

        settings = self._ready()
        return Schedules(settings.store, settings.max_data_bytes)

    @property
    def store(self) -> Store:
        """The store behind the app, made at first use."""
        return self._ready().store

    def _ready(self) -> Settings:
        settings = self._settings
        if settings is None:
            with self._lock:
                settings = self._settings = self._settings or self._from_surroundings()
        return settings

    def _from_surroundings(self) -> Settings:
        # Imported at first use: a program that only registers handlers need not pay for the file reader.
        from oncue.common.config import load
        from oncue.common.opened import opened

        config = load(None, os.environ, self.given)
        return Settings(opened(config), config.max_data_bytes)

    def use(self, store: Store, max_data_bytes: int) -> None:
        """Takes a store that somebody else has opened: a command with its flags, or a test."""
        self._settings = Settings(store, max_data_bytes)

    def close(self) -> None:
        """Closes the connections; the next call opens new ones."""
        if self._settings is not None:
            self._settings.store.link.close()

    # The last: below it the word would no longer mean the type.
    def list(
        self,
        *,
        queue: str | None = None,
        state: str | None = None,
        from_ts: object = None,
        to_ts: object = None,
        key: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
        with_data: bool = True,
    ) -> "Page":
        """Tasks in pages and in no order: ``limit`` of them or some more, fewer where much was looked at in vain.

        The times bound when a task is due. Who follows the cursors until None has met every task that was there all
        the while, some perhaps twice. Finished ones have no queue any more. ``key``: those of a unique or debounced key
        of the queue alone. Without ``with_data`` neither data nor errors are read, and are None. All tasks are looked
        at, unless a key is given, whatever else the filter says. Raises BadInput and StoreUnavailable.
        """
        from oncue.common import listing

        meant, store = listing.wanted(queue, state, from_ts, to_ts), self._ready().store
        if key is not None:
            return listing.of_key(store, meant, key, whole=with_data)
        return listing.page(store, meant, cursor, limit, whole=with_data)
