"""The dead letters: tasks that have failed for good, until somebody redrives or purges them, or they go with age."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from oncue.common import ids, waiting
from oncue.common.due import due_ms
from oncue.common.errors import BadInput, NotFound, WrongState
from oncue.common.keys import queue_name
from oncue.common.shard import KeyTable, Shard
from oncue.common.store import Progress, Store, info, quiet
from oncue.common.task import TaskInfo

STEP = 100
"""How many dead tasks one call reads or changes: each may bring 64 KiB of failures and its data."""

_NO_END = 1 << 48


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead tasks are meant: of a queue, with a type of last error, buried within a stretch of time (ms)."""

    queue: str | None = None
    error: str | None = None
    from_ms: int = 0
    to_ms: int = _NO_END

    def fits(self, task: TaskInfo) -> bool:
        """Whether a dead task is meant; its burial is not looked at."""
        if self.queue is not None and task.queue != self.queue:
            return False
        return self.error is None or (task.error or {}).get("type") == self.error


class DeadPage(NamedTuple):
    """Some dead tasks, and where the next page begins; ``cursor`` is None at the end."""

    tasks: list[TaskInfo]
    cursor: str | None


class Place(NamedTuple):
    """A place in the order of burials, in all shards alike: behind this instant and id."""

    instant: int
    id: str


def chosen(queue: str | None, error: str | None, from_ts: object, to_ts: object) -> Filter:
    """A filter of what users give: times as ``schedule_task`` takes them, None for no bound. Raises BadInput."""
    if queue is not None:
        queue_name(queue)
    return Filter(
        queue,
        error,
        0 if from_ts is None else due_ms(from_ts, 0),
        _NO_END if to_ts is None else due_ms(to_ts, 0),
    )


class DeadLetters:
    """The dead of an app; ``app.dead``. Safe to use from many threads."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._given = store

    def list(
        self,
        *,
        queue: str | None = None,
        error: str | None = None,
        from_ts: object = None,
        to_ts: object = None,
        newest_first: bool = True,
        cursor: str | None = None,
        limit: int = 100,
    ) -> DeadPage:
        """A page of dead tasks in the order of their burials, each with its failures.

        ``error`` is the type of the last error, such as "ValueError"; the times bound the burial. A filter is applied
        while reading, so a page may come from far behind its beginning. Raises BadInput and StoreUnavailable.
        """
        if not 1 <= limit <= 10_000:
            raise BadInput(f"a limit of {limit!r} is not understood: give 1 to 10000")
        wanted = chosen(queue, error, from_ts, to_ts)
        place = _read(cursor) if cursor is not None else _start(wanted, newest_first)
        found: list[TaskInfo] = []
        for at, task in self._all(wanted, newest_first, place):
            if len(found) == limit:
                return DeadPage(found, f"{place.instant}:{place.id}")
            found.append(task)
            place = at
        return DeadPage(found, None)

    def get(self, id: str) -> TaskInfo:
        """A dead task; raises NotFound, and WrongState if it is not dead."""
        task = self._given().get(ids.checked(id))
        if task.state != "dead":
            raise WrongState(f"task {id} is {task.state}, not dead")
        return task

    def redrive(self, id: str, queue: str | None = None) -> None:
        """Makes a dead task ready once more, with no attempts counted, in its queue or another.

        Raises NotFound, WrongState (not dead) and BadInput.
        """
        store = self._given()
        due = store.now_anywhere_ms()
        for shard in store.shards:
            answer = store.persist(shard, partial(_redriven, store, shard, [ids.checked(id)], queue, due))[id]
            if answer == "ready":
                return
            if answer != "unknown":
                raise WrongState(f"task {id} is {answer}, not dead")
        raise NotFound(f"there is no task {id}: it never was, or it finished some time ago")

    def redrive_many(
        self,
        *,
        queue: str | None = None,
        error: str | None = None,
        from_ts: object = None,
        to_ts: object = None,
        to_queue: str | None = None,
        progress: Progress = quiet,
    ) -> int:
        """Makes all dead tasks that a filter means ready once more, the oldest first; returns how many.

        Each step of some tasks happens whole or not at all; ``progress`` is told after each. What dies meanwhile stays.
        """

        def step(store: Store, shard: Shard, chunk: Sequence[str], now: int) -> int:
            answers = _redriven(store, shard, chunk, to_queue, now)
            return sum(answer == "ready" for answer in answers.values())

        return self._each(chosen(queue, error, from_ts, to_ts), step, progress)

    def purge(self, id: str) -> None:
        """Forgets a dead task for good; it counts as cancelled. Raises NotFound, and WrongState if it is not dead."""
        store = self._given()
        for shard in store.shards:
            if store.persist(shard, partial(_purge, store, shard, [ids.checked(id)], 0)):
                return
        self.get(id)

    def purge_many(
        self,
        *,
        queue: str | None = None,
        error: str | None = None,
        from_ts: object = None,
        to_ts: object = None,
        progress: Progress = quiet,
    ) -> int:
        """Forgets all dead tasks that a filter means, the oldest first; returns how many. As ``redrive_many``."""
        return self._each(chosen(queue, error, from_ts, to_ts), _purge, progress)

    def _each(
        self, wanted: Filter, step: Callable[[Store, Shard, Sequence[str], int], int], progress: Progress
    ) -> int:
        store, done = self._given(), 0
        for shard in store.shards:
            now = store.persist(shard, shard.now_ms)
            # What is buried from now on would be met again and again: a redriven task may die at once.
            bounded = Filter(wanted.queue, wanted.error, wanted.from_ms, min(wanted.to_ms, now))
            chunk: list[str] = []
            for _, task in _of_shard(store, shard, bounded, False, _start(bounded, False)):
                chunk.append(task.id)
                if len(chunk) == STEP:
                    done += store.persist(shard, partial(step, store, shard, chunk, now))
                    progress(done)
                    chunk = []
            if chunk:
                done += store.persist(shard, partial(step, store, shard, chunk, now))
                progress(done)
        return done

    def _all(self, wanted: Filter, newest: bool, place: Place) -> Iterator[tuple[Place, TaskInfo]]:
        import heapq

        store = self._given()
        each = [_of_shard(store, shard, wanted, newest, place) for shard in store.shards]
        return heapq.merge(*each, key=lambda found: found[0], reverse=newest)


def _start(wanted: Filter, newest: bool) -> Place:
    return Place(wanted.to_ms if newest else wanted.from_ms, "")


def _read(cursor: str) -> Place:
    instant, _, task_id = cursor.partition(":")
    if not instant.isascii() or not instant.isdigit() or not task_id:
        raise BadInput(f"{cursor!r:.60} is no cursor: give one that a page has brought")
    return Place(int(instant), task_id)


def _of_shard(
    store: Store, shard: Shard, wanted: Filter, newest: bool, place: Place
) -> Iterator[tuple[Place, TaskInfo]]:
    order = "newest" if newest else "oldest"
    while flat := store.persist(shard, partial(_listed, shard, order, place)):
        names = [name.decode() for name in flat[::2]]
        known = store.persist(shard, partial(waiting.locate, shard, names, whole=True))
        for name, score, found in zip(names, flat[1::2], known, strict=True):
            place = Place(int(float(score)), name)
            if not wanted.from_ms <= place.instant <= wanted.to_ms:
                return
            # It may have been redriven between the two calls.
            if found and found[0] == b"dead" and wanted.fits(task := info(name, found)):
                yield place, task


def _listed(shard: Shard, order: str, place: Place) -> list[bytes]:
    found: list[bytes] = shard.call("list_dead", [shard.keys.dead], [order, place.instant, place.id, STEP])
    return found


def _purge(store: Store, shard: Shard, chunk: Sequence[str], now: int) -> int:
    keys = shard.keys
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.dead, keys.dead_bytes, keys.errors)
    args: list[bytes | str | int] = [shard.now_ms(), store.keep_finished_ms, *chunk]
    return sum(shard.call("purge", (*first, keys.finished, keys.armed, keys.notify), args))


def _redriven(
    store: Store, shard: Shard, chunk: Sequence[str], queue: str | None, due: int
) -> dict[str, str]:
    """For each task "ready", or what it is instead."""
    keys = shard.keys
    first = (keys.records, keys.runs, keys.timetable, keys.counts, keys.bands, keys.seq, keys.dead)
    table = KeyTable(*first, keys.dead_bytes, keys.errors, keys.armed, keys.notify)
    now = max(shard.now_ms(), due)
    args: list[bytes | str | int] = [now, due]
    asked: list[str] = []
    answers = dict.fromkeys(chunk, "unknown")
    for task_id, found in zip(chunk, waiting.locate(shard, chunk), strict=True):
        if found and found[3]:
            if queue is not None and store.shard(queue_name(queue)) is not shard:
                raise BadInput(
                    f"queue {queue} lives in another shard than task {task_id}, which cannot change it"
                )
            asked.append(task_id)
            args += _slot(shard, table, task_id, queue or found[3].decode(), found[2])
        elif found:
            answers[task_id] = found[0].decode()
    told: list[bytes] = shard.call("redrive", table.keys, args) if asked else []
    return answers | {task_id: answer.decode() for task_id, answer in zip(asked, told, strict=True)}


def _slot(shard: Shard, table: KeyTable, task_id: str, queue: str, band: int) -> tuple[Any, ...]:
    return task_id, queue, band, table.add(shard.keys.ready(queue, band), shard.keys.wake(queue))
