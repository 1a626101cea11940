"""Finish: outcomes go to the store in groups; while one call is on its way, the next group gathers."""

import logging
import math
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from redis.exceptions import OutOfMemoryError

from oncue.common.clock import monotonic_s
from oncue.common.faults import FAULTS, Backoff, is_passing
from oncue.common.shard import KeyTable, Shard, slot
from oncue.common.wait import Nudge
from oncue.worker.hand import Hand
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Release, Retry

MOST_OUTCOMES = 500
MOST_BYTES = 4 << 20
"""How much of results and errors one call carries: five hundred of the largest would stop the server for a second."""

_log = logging.getLogger("oncue.worker")


class Finisher:
    """The one thread that writes outcomes."""

    def __init__(self, shard_of: Callable[[str], Shard], hand: Hand, keep_finished_ms: int) -> None:
        self._shard_of = shard_of
        self._hand = hand
        self._keep_ms = keep_finished_ms
        self._outcomes: queue.SimpleQueue[Outcome | list[Outcome] | None] = queue.SimpleQueue()
        self._nudge = Nudge()
        self._ends_at = math.inf
        self._thread = threading.Thread(target=self._run, name="oncue-finisher", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def settle(self, outcome: Outcome | list[Outcome]) -> None:
        """Takes an outcome, or those of a batch, to be written."""
        self._outcomes.put(outcome)

    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def stop(self, patience_s: float = 5.0) -> None:
        """Ends the thread after what was settled so far; with a server that is away, after ``patience_s``.

        Outcomes that were not written by then are lost: those leases end by themselves.
        """
        self._ends_at = monotonic_s() + patience_s
        self._nudge.send()
        self._outcomes.put(None)
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            group: list[Outcome] = []
            more = self._gather(group)
            for shard, kind, outcomes in sorted_out(group, self._shard_of):
                self._write(shard, kind, outcomes)

    def _gather(self, group: list[Outcome]) -> bool:
        outcome = self._outcomes.get()
        while outcome is not None:
            if isinstance(outcome, list):
                group += outcome
            else:
                group.append(outcome)
            if len(group) >= MOST_OUTCOMES:
                return True
            try:
                outcome = self._outcomes.get_nowait()
            except queue.Empty:
                return True
        return False

    def _write(self, shard: Shard, kind: type, outcomes: list[Any]) -> None:
        """Writes until the server has answered: a repeated call changes nothing, and without an answer the lease ends."""
        backoff = Backoff()
        while True:
            try:
                answers = write(shard, kind, outcomes, self._keep_ms)
                break
            except FAULTS as error:
                pause_s = backoff.pause_s()
                # A server that is out of memory will take the outcome when it has some: to finish a task frees memory.
                is_hopeless = not is_passing(error) and not isinstance(error, OutOfMemoryError)
                if is_hopeless or monotonic_s() >= self._ends_at:
                    _log.error("%s: %d outcomes are lost", shard.link.named(error), len(outcomes))
                    answers = [1] * len(outcomes)
                    break
                _log.warning("%s; trying again in %.0f ms", shard.link.named(error), pause_s * 1000)
                shard.link.reset()
                self._nudge.wait_s(pause_s)
            except Exception:  # noqa: BLE001 - said below
                # Nobody has thought of this one. The next outcomes must be written all the same; of these the leases
                # end.
                _log.exception("a fault of the worker's own: %d outcomes are lost", len(outcomes))
                answers = [1] * len(outcomes)
                break
        for outcome, answer in zip(outcomes, answers, strict=True):
            # Not in hand any more: the renewer has said so, or the handler itself has given the task back.
            if not answer and self._hand.holds(outcome.task):
                _log.warning("task %s: its lease was lost before its outcome came", outcome.task.id)
        self._hand.drop([outcome.task for outcome in outcomes])


def sorted_out(
    outcomes: Sequence[Outcome], shard_of: Callable[[str], Shard]
) -> list[tuple[Shard, type, list[Any]]]:
    """Outcomes by shard and kind, cut where they carry many bytes: each group is one call."""
    found: dict[tuple[int, type], tuple[Shard, type, list[Any]]] = {}
    for outcome in outcomes:
        shard = shard_of(outcome.task.queue)
        kind = type(outcome)
        found.setdefault((shard.number, kind), (shard, kind, []))[2].append(outcome)
    return [(shard, kind, lot) for shard, kind, group in found.values() for lot in _cut(kind, group)]


def _cut(kind: type, outcomes: list[Any]) -> Iterator[list[Any]]:
    """The same in lots of up to ``MOST_BYTES``, or of one that is larger."""
    begin = size = 0
    if (carried := _CARRIED.get(kind)) is not None:
        for at, outcome in enumerate(outcomes):
            own = len(carried(outcome))
            size += own
            if size > MOST_BYTES and at > begin:
                yield outcomes[begin:at]
                begin, size = at, own
    yield outcomes[begin:]


_CARRIED: Mapping[type, Callable[[Any], bytes]] = {
    Done: attrgetter("result"),
    Retry: attrgetter("error"),
    Bury: attrgetter("error"),
}
"""What outcomes bring along beside their tasks."""


def write(shard: Shard, kind: type, outcomes: list[Any], keep_ms: int) -> list[int]:
    """One group of outcomes in one call; for each 1, or 0 if its lease is lost. Raises redis-py's errors."""
    return _CALLS[kind](shard, outcomes, keep_ms)


def complete(shard: Shard, outcomes: Sequence[Done], keep_ms: int) -> list[int]:
    """Tasks are done; for each 1, or 0 if its lease is lost."""
    keys = shard.keys
    kept = [(at, outcome) for at, outcome in enumerate(outcomes, 1) if outcome.keep_ms]
    args: list[bytes | str | int] = [shard.now_ms(), keep_ms, len(kept)]
    for at, outcome in kept:
        args += (at, outcome.result, outcome.keep_ms)
    for outcome in outcomes:
        task = outcome.task
        args += (task.id, task.token, task.queue, task.priority)
    results = [keys.result(outcome.task.id) for _, outcome in kept]
    answers: list[int] = shard.call("complete", [*ends(shard), *results], args)
    return answers


def abandon(shard: Shard, outcomes: Sequence[Abandon], keep_ms: int) -> list[int]:
    """Tasks are cancelled; for each 1, or 0 if its lease is lost."""
    args: list[bytes | str | int] = [shard.now_ms(), keep_ms]
    for outcome in outcomes:
        task = outcome.task
        args += (task.id, task.token, task.queue, task.priority)
    answers: list[int] = shard.call("abandon", ends(shard), args)
    return answers


def ends(shard: Shard) -> Sequence[bytes]:
    """The keys that the end of a task needs."""
    keys = shard.keys
    first = (keys.runs, keys.timetable, keys.counts, keys.records, keys.finished, keys.errors)
    return (*first, keys.armed, keys.notify, keys.followers)


def retry(shard: Shard, outcomes: Sequence[Retry], keep_ms: int) -> list[int]:
    """Tasks are delayed again, or cancelled where that is wished; for each 1, or 0 if its lease is lost."""
    keys = shard.keys
    now = shard.now_ms()
    table = KeyTable(
        keys.runs,
        keys.timetable,
        keys.counts,
        keys.records,
        keys.bands,
        keys.errors,
        keys.armed,
        keys.notify,
        keys.finished,
        keys.followers,
    )
    args: list[bytes | str | int] = [now, keep_ms]
    for outcome in outcomes:
        task, due = outcome.task, outcome.due_ms
        at = table.add(*slot(keys, now, due, task.priority, task.queue, alone=True))
        args += (task.id, task.token, task.queue, task.priority, due, outcome.error, at, outcome.counted)
    answers: list[int] = shard.call("retry", table.keys, args)
    return answers


def bury(shard: Shard, outcomes: Sequence[Bury], keep_ms: int) -> list[int]:
    """Tasks are dead; for each 1, or 0 if its lease is lost."""
    keys = shard.keys
    first = (keys.runs, keys.timetable, keys.counts, keys.dead, keys.errors)
    fixed = (*first, keys.records, keys.dead_bytes, keys.armed, keys.notify, keys.followers)
    args: list[bytes | str | int] = [shard.now_ms()]
    for outcome in outcomes:
        task = outcome.task
        args += (task.id, task.token, task.queue, task.priority, outcome.error, outcome.counted)
    answers: list[int] = shard.call("bury", fixed, args)
    return answers


def release(shard: Shard, outcomes: Sequence[Release], keep_ms: int) -> list[int]:
    """Tasks are ready again as if never reserved, or cancelled where that is wished; for each 1, or 0 if its lease is lost."""
    keys = shard.keys
    lists: list[bytes] = []
    args: list[bytes | str | int] = [shard.now_ms(), keep_ms]
    # The last one first: each goes to the head, so the first of them comes out in front.
    for outcome in reversed(outcomes):
        task = outcome.task
        lists += (keys.ready(task.queue, task.priority), keys.wake(task.queue))
        args += (task.id, task.token, task.queue, task.priority)
    first = (keys.runs, keys.timetable, keys.counts, keys.records, keys.bands, keys.errors)
    fixed = (*first, keys.armed, keys.notify, keys.finished, keys.followers)
    answers: list[int] = shard.call("release", [*fixed, *lists], args)
    return answers[::-1]


_CALLS: Mapping[type, Callable[[Shard, list[Any], int], list[int]]] = {
    Done: complete,
    Retry: retry,
    Bury: bury,
    Abandon: abandon,
    Release: release,
}
