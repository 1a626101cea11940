"""``App.schedules``: list, create, change, pause, resume, trigger, backfill and remove schedules at run time."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from oncue import worksettings
from oncue.common import ids, record
from oncue.common.configtypes import ScheduleConfig
from oncue.common.due import due_ms
from oncue.common.errors import BadInput, NotFound, WrongState
from oncue.common.givenschedule import schedule_of, unknown_setting
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.common.task import DEFAULT_QUEUE
from oncue.scheduler import backfill as backfills
from oncue.scheduler import schedule_calls, standing
from oncue.scheduler.backfill import Backfilled
from oncue.scheduler.definition import Definition, defined, short
from oncue.scheduler.fire import task_record
from oncue.scheduler.move import forget_left
from oncue.scheduler.put import bring, put, resume
from oncue.scheduler.standing import ScheduleInfo, Stored

_ATTEMPTS = 5
_SETTINGS = {field.name for field in fields(ScheduleConfig)} - {"name", "line", "written"}


class Schedules:
    """The schedules in the store, by name.

    Every method raises NotFound for a schedule that is not there, StoreUnavailable and WrongServer. Refused input
    (BadInput, CronError) leaves everything as it was.
    """

    def __init__(self, store: Store, max_data_bytes: int) -> None:
        self._store = store
        self._max_data_bytes = max_data_bytes

    def get(self, name: str) -> ScheduleInfo:
        """How a schedule stands."""
        return standing.info(self._stored(name))

    def history(self, name: str) -> list[dict[str, Any]]:
        """What became of its last 100 or so planned instants, the newest decision first: see ``standing.history``."""
        return standing.history(self._store, _name(name))

    def create(self, name: str, **settings: Any) -> ScheduleInfo:
        """Creates a schedule. ``settings`` are named like the fields of ``ScheduleConfig``: cron, timezone, queue, ...

        ``command=[...]`` or ``http={...}``, and what goes with them in the file, make it one without a handler. Raises
        WrongState if there is one of that name.
        """
        usual = {"cron": None, "timezone": "UTC", "queue": DEFAULT_QUEUE, "data": None}
        definition = self._defined(_name(name), usual, settings)
        shard = self._store.shard(definition.config.queue)
        for other in self._store.shards:
            if other is not shard and self._is_in(other, name):
                raise WrongState(f"there is a schedule {name} already; change it, or remove it first")
        (answer,) = put(self._store, shard, [definition], {name: b""})
        if answer == schedule_calls.CHANGED_MEANWHILE and self._stored(name).hash != definition.hash:
            raise WrongState(f"there is a schedule {name} already; change it, or remove it first")
        others = [other for other in self._store.shards if other is not shard]
        # Back again, since what moves the other way leaves its old shard when it stands in one that was looked at.
        if answer == schedule_calls.CREATED and any(
            self._is_in(one, name) for one in (*others, *others[::-1])
        ):
            call = partial(schedule_calls.remove_schedule, shard, name, definition.hash, for_good=True)
            self._store.persist(shard, call)
            raise WrongState(
                f"a schedule {name} was made or moved at the same moment: look at it, and try again"
            )
        return self.get(name)

    def change(self, name: str, **settings: Any) -> ScheduleInfo:
        """Changes some settings of a schedule, the others stay; its next tick comes after now, or is one that jitter has
        kept for later until now.

        A schedule that came from a file is on its own afterwards, until a newer revision of that file has it, or
        `oncue cron apply`. Raises WrongState if it cannot be read (create it anew), or is edited at the same moment.
        """
        entry = self._usable(name)
        before = entry.read().config
        definition = self._defined(name, {key: getattr(before, key) for key in _SETTINGS}, settings)
        shard = self._store.shard(definition.config.queue)
        answer = schedule_calls.CHANGED_MEANWHILE
        if bring(self._store, entry, shard, entry.hash):
            (answer,) = put(self._store, shard, [definition], {name: entry.hash})
            if entry.moved:
                forget_left(self._store, name)
        if answer == schedule_calls.CHANGED_MEANWHILE and self._stored(name).hash != definition.hash:
            raise WrongState(f"schedule {name} was edited at the same moment: look at it, and try again")
        return self.get(name)

    def pause(self, name: str, *, by: str = "", why: str = "") -> ScheduleInfo:
        """No more ticks until ``resume``, whatever is edited or loaded meanwhile; its tasks go on.

        Raises WrongState if it is finished, invalid or removed.
        """
        entry = self._stored(name)
        call = partial(schedule_calls.pause, entry.shard, name, by[:200], why[:1000])
        state = self._store.persist(entry.shard, call)
        if state != "paused":
            raise WrongState(f"schedule {name} is {state}: there is nothing to pause")
        return self.get(name)

    def resume(self, name: str) -> ScheduleInfo:
        """Goes on with the next tick; those that came meanwhile count as skipped. Raises WrongState if it is not paused."""
        for _ in range(_ATTEMPTS):
            entry = self._stored(name)
            if entry.state != "paused":
                raise WrongState(f"schedule {name} is {entry.state}, not paused")
            definition = entry.read()
            now = self._store.persist(entry.shard, entry.shard.now_ms)
            answer = self._store.persist(entry.shard, partial(resume, entry, definition, now))
            if answer >= 0:
                return self.get(name)
        raise WrongState(f"schedule {name} is edited again and again: try later")

    def trigger(self, name: str) -> str:
        """Makes a task now, beside the ticks, and returns its id.

        It waits (state "blocked") for a run that goes on, unless the schedule's overlap is "allow" and its ticks do not
        count from the end of a run.
        """
        task_id = f"{short(_name(name))}+{ids.new_id()}"
        for _ in range(_ATTEMPTS):
            entry = self._usable(name)
            definition = entry.read()
            now = self._store.persist(entry.shard, entry.shard.now_ms)
            body = task_record(definition, now, 0, due_ms=now)
            call = partial(
                schedule_calls.trigger, entry.shard, definition, "triggered", [(now, task_id, body)]
            )
            if self._store.persist(entry.shard, call) is not None:
                return task_id
        raise WrongState(f"schedule {name} is edited or moved again and again: try later")

    def backfill(
        self,
        name: str,
        start: object,
        end: object,
        *,
        forced: bool = False,
        told: Callable[[int, int], None] = lambda done, of: None,
    ) -> Backfilled:
        """Makes the tasks of the planned instants from ``start`` to ``end``, both included and at most now.

        The instants are given as ``schedule_task`` takes them. One that has had its task is left out unless ``forced``.
        ``told`` hears now and then how many of how many are done. Raises WrongState where the schedule is edited meanwhile.
        """
        entry = self._usable(name)
        first_ms, last_ms = due_ms(start, 0), due_ms(end, 0)
        return backfills.backfill(self._store, entry, first_ms, last_ms, forced=forced, told=told)

    def remove(self, name: str, *, for_good: bool = False) -> None:
        """Removes a schedule; its tasks go on. Its history stays, unless ``for_good``."""
        places = {self._stored(name).shard}
        for _ in range(_ATTEMPTS):
            for shard in places:
                call = partial(schedule_calls.remove_schedule, shard, name, b"", for_good=for_good)
                self._store.persist(shard, call)
            # After that, since one that is on its way leaves its old shard when it stands in the new one already.
            others = self._store.shards if len(self._store.shards) > 1 else ()
            places = {shard for shard in others if self._is_in(shard, name, removed=for_good)}

    # Last, since it takes the name of the type from those that come after it.
    def list(self) -> list[ScheduleInfo]:
        """All schedules by name, faulty and removed ones too."""
        return standing.infos(self._store)

    def _defined(self, name: str, before: dict[str, Any], given: dict[str, Any]) -> Definition:
        known = _SETTINGS | worksettings.KEYS
        for key in given.keys() - known:
            raise unknown_setting(key, given[key], known)
        settings = before | worksettings.described(given, before)
        record.encoded(settings["data"], self._max_data_bytes)
        if isinstance(settings["data"], bytes | bytearray | memoryview):
            raise BadInput(f"schedule {name}: its data is bytes; allowed: what JSON can hold")
        return defined(schedule_of(settings | {"name": name}), "")

    def _stored(self, name: str) -> Stored:
        return standing.stored(self._store, _name(name))

    def _usable(self, name: str) -> Stored:
        entry = self._stored(name)
        if entry.state == "removed":
            raise NotFound(f"schedule {name} was removed")
        return entry

    def _is_in(self, shard: Shard, name: str, *, removed: bool = False) -> bool:
        found = self._store.persist(shard, partial(standing.find, shard, name))
        return any(removed or entry.state != "removed" for entry in found)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name or len(name) > 128:
        raise BadInput(f"{name!r:.200} is no name of a schedule: give a text of 1 to 128 characters")
    return name
