"""The dead letters: tasks that have failed for good, until somebody redrives or purges them, or they go with age."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from oncue.common import deadcalls, waiting
from oncue.common.due import due_ms
from oncue.common.errors import BadInput, NotFound, WrongState
from oncue.common.ids import checked, checked_all
from oncue.common.keys import queue_name
from oncue.common.settle import Settling
from oncue.common.shard import Shard
from oncue.common.store import Progress, Step, Store, quiet, unknown_task
from oncue.common.task import TaskInfo

STEP = 100
"""How many dead tasks one call changes, and reads the ids of."""

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
        task = self._given().get(checked(id))
        if task.state != "dead":
            raise WrongState(f"task {id} is {task.state}, not dead")
        return task

    def redrive(self, id: str, queue: str | None = None) -> None:
        """Makes a dead task ready once more, with no attempts counted, in its queue or another.

        Raises NotFound, WrongState (not dead) and BadInput.
        """
        (answer,) = self.redrive_ids([id], queue).values()
        if answer != "redriven":
            raise _refusal(id, answer)

    def redrive_ids(
        self, ids: Iterable[str], queue: str | None = None, progress: Progress = quiet
    ) -> dict[str, str]:
        """``redrive`` for many, in bounded steps; for each "redriven", or what it is instead: a state, or "unknown".

        Into a queue of another shard than one of them: refused with BadInput before anything is redriven. ``progress``
        is told after each step how many are dealt with.
        """
        store, wanted = self._given(), checked_all(ids)
        if queue is not None:
            for shard in _others(store, queue):
                for at in range(0, len(wanted), STEP):
                    self._refuse_elsewhere(store, shard, wanted[at : at + STEP], queue)
        step = partial(Settling, deadcalls.redriving(store, queue, store.now_anywhere_ms()))
        return store.each(wanted, step, progress, STEP)

    @staticmethod
    def _refuse_elsewhere(store: Store, shard: Shard, chunk: Sequence[str], queue: str) -> None:
        for task_id, found in zip(
            chunk, store.persist(shard, partial(waiting.locate, shard, chunk)), strict=True
        ):
            if found and found[0] == b"dead":
                raise deadcalls.elsewhere(queue, task_id)

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
        ``to_queue`` as in ``redrive_ids``.
        """
        store, wanted = self._given(), chosen(queue, error, from_ts, to_ts)
        shards = store.shards
        if to_queue is not None:
            for shard in _others(store, to_queue):
                if found := next(_to_change(store, shard, wanted), None):
                    raise deadcalls.elsewhere(to_queue, found.id)
            shards = [store.shard(to_queue)]
        step = partial(Settling, deadcalls.redriving(store, to_queue, store.now_anywhere_ms()))
        return self._each(shards, wanted, step, "redriven", progress)

    def purge(self, id: str) -> None:
        """Forgets a dead task for good; it counts as cancelled. Raises NotFound, and WrongState if it is not dead."""
        (answer,) = self.purge_ids([id]).values()
        if answer != "purged":
            raise _refusal(id, answer)

    def purge_ids(self, ids: Iterable[str], progress: Progress = quiet) -> dict[str, str]:
        """``purge`` for many, in bounded steps; for each "purged", or what it is instead: a state, or "unknown"."""
        store = self._given()
        return store.each(checked_all(ids), deadcalls.purging(store.keep_finished_ms), progress, STEP)

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
        store = self._given()
        step = deadcalls.purging(store.keep_finished_ms)
        return self._each(store.shards, chosen(queue, error, from_ts, to_ts), step, "purged", progress)

    def _each(
        self, shards: Sequence[Shard], wanted: Filter, step: Step, meant: str, progress: Progress
    ) -> int:
        store, done = self._given(), 0
        for shard in shards:
            # What is buried from now on would be met again and again: a redriven task may die at once.
            bounded = replace(wanted, to_ms=min(wanted.to_ms, store.persist(shard, shard.now_ms)))
            found = _to_change(store, shard, bounded)
            while chunk := [task.id for task in islice(found, STEP)]:
                answers = store.persist(shard, step(shard, chunk))
                done += sum(answer == meant for answer in answers.values())
                progress(done)
        return done

    def _all(self, wanted: Filter, newest: bool, place: Place) -> Iterator[tuple[Place, TaskInfo]]:
        import heapq

        store = self._given()
        each = [_of_shard(store, shard, wanted, newest, place, whole=True) for shard in store.shards]
        return heapq.merge(*each, key=lambda found: found[0], reverse=newest)


def _start(wanted: Filter, newest: bool) -> Place:
    return Place(wanted.to_ms if newest else wanted.from_ms, "")


def _read(cursor: str) -> Place:
    instant, _, task_id = cursor.partition(":")
    if not instant.isascii() or not instant.isdigit() or not task_id:
        raise BadInput(f"{cursor!r:.60} is no cursor: give one that a page has brought")
    return Place(int(instant), task_id)


def _to_change(store: Store, shard: Shard, wanted: Filter) -> Iterator[TaskInfo]:
    # Of what somebody died their errors tell; without that question nothing large has to be read.
    whole = wanted.error is not None
    for _, task in _of_shard(store, shard, wanted, False, _start(wanted, False), whole=whole):
        yield task


def _of_shard(
    store: Store, shard: Shard, wanted: Filter, newest: bool, place: Place, *, whole: bool
) -> Iterator[tuple[Place, TaskInfo]]:
    order = "newest" if newest else "oldest"
    while flat := store.persist(shard, partial(_listed, shard, order, place)):
        places = [
            Place(int(float(score)), name.decode()) for name, score in zip(flat[::2], flat[1::2], strict=True)
        ]
        meant = {at.id: at for at in places if wanted.from_ms <= at.instant <= wanted.to_ms}
        for task in store.known(shard, [*meant], whole=whole):
            # It may have been redriven between the two calls.
            if task.state == "dead" and wanted.fits(task):
                yield meant[task.id], task
        if len(meant) < len(places):
            return
        place = places[-1]


def _listed(shard: Shard, order: str, place: Place) -> list[bytes]:
    found: list[bytes] = shard.call("list_dead", [shard.keys.dead], [order, place.instant, place.id, STEP])
    return found


def _others(store: Store, queue: str) -> list[Shard]:
    """The shards that a queue does not live in."""
    home = store.shard(queue_name(queue))
    return [shard for shard in store.shards if shard is not home]


def _refusal(task_id: str, answer: str) -> NotFound | WrongState:
    if answer == "unknown":
        return unknown_task(task_id)
    if answer == "dead":
        return WrongState(f"task {task_id} cannot be read: it stays among the dead until it is purged")
    return WrongState(f"task {task_id} is {answer}, not dead")
