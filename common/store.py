"""What producers ask of the store: schedule, look up, cancel, reschedule. One call for many, in bounded chunks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import msgspec

from oncue.common import record, result, waiting
from oncue.common.clock import Clock, sleep_s
from oncue.common.due import LAST_MS
from oncue.common.errors import AlreadyFinal, BadInput, NotFound, WrongState
from oncue.common.keys import opens_at, page_of, shard_of
from oncue.common.link import COMMAND_TIMEOUT_S, Link
from oncue.common.settle import Settling, cancelling, rescheduling
from oncue.common.shard import Shard
from oncue.common.task import TaskInfo, instant
from oncue.common.writing import CHUNK, Placed, Writing, written

MOST_PAGES = 10_000
"""How many pages a producer remembers, a week of them: half a megabyte."""

LAST_CALL_S = 3 * COMMAND_TIMEOUT_S + 1.0
"""How long the last try of a call may take: a pause, to connect, to be answered, and to send again what was sent ahead."""

T = TypeVar("T")
Progress = Callable[[int], object]
"""Told, after each step of long work, how many tasks are dealt with so far."""
Step = Callable[[Shard, Sequence[str]], Callable[[], dict[str, str]]]
"""For some tasks of a shard the call, to be repeated until it answers: what became of each, or "unknown"."""


def quiet(done: int) -> None:
    """The progress that nobody watches."""


def unknown_task(task_id: str) -> NotFound:
    """What is said of an id that no shard knows."""
    return NotFound(f"there is no task {task_id}: it never was, or it finished some time ago")


def _dead(task_id: str) -> WrongState:
    return WrongState(f"{task_id} is among the dead: redrive or purge it before using its id again")


class Store:
    """All shards of one namespace. No I/O in the constructor; safe to use from many threads."""

    def __init__(
        self,
        link: Link,
        namespace: str,
        shards: int = 1,
        *,
        patience_s: float = 20.0,
        keep_finished_ms: int = 60_000,
        clock: Clock | None = None,
    ) -> None:
        """``patience_s`` is how long a call goes on trying while the server is away.

        With the last call, begun at its end, it must stay below ``keep_finished_ms``: within that time the store knows
        a repeated call again even when its task has been done meanwhile. Raises BadInput otherwise.
        """
        longest_s = patience_s + LAST_CALL_S
        if longest_s * 1000 >= keep_finished_ms:
            raise BadInput(
                f"finished tasks must be remembered for more than {longest_s:g} s, in which a call may be repeated, not"
                f" for {keep_finished_ms / 1000:g} s: a repetition after that could run a task twice"
            )
        self.link = link
        self.shards = [Shard(link, namespace, number, clock) for number in range(shards)]
        self.patience_s = patience_s
        self.keep_finished_ms = keep_finished_ms

    def shard(self, queue: str) -> Shard:
        """The shard that a queue lives in."""
        return self.shards[shard_of(queue, len(self.shards))] if len(self.shards) > 1 else self.shards[0]

    def now_ms(self, queue: str) -> int:
        """The time of the server that holds ``queue``; raises StoreUnavailable."""
        shard = self.shard(queue)
        return self.persist(shard, shard.now_ms)

    def persist(self, shard: Shard, action: Callable[[], T]) -> T:
        """``action()`` on a server that is fit for it, repeated while it is away; raises StoreUnavailable in the end."""
        return self.link.call(action, self.patience_s, sleep_s, shard.keys.timetable)

    def schedule(self, tasks: Sequence[Placed]) -> None:
        """Writes tasks; those whose id is there already stay as they are. Raises WrongState for the id of a dead one."""
        by_shard: dict[int, list[Placed]] = {}
        for task in tasks:
            by_shard.setdefault(self.shard(task.queue).number, []).append(task)
        for number, mine in by_shard.items():
            shard = self.shards[number]
            with closing(Writing(shard, mine, self.persist(shard, shard.now_ms))) as writing:
                while chunk := writing.next:
                    # The last try must not come later after the first one than that of any other call.
                    patience_s = self.patience_s - writing.waited_s
                    answers = self.link.call(writing.answers, patience_s, sleep_s, shard.keys.timetable)
                    if min(answers) < 0:
                        raise _dead(chunk[answers.index(-1)].id)

    def schedule_one(self, task: Placed) -> None:
        """As ``schedule``, for a single task, with less ado."""
        shard = self.shard(task.queue)
        if self.persist(shard, partial(_schedule_one, shard, task)) < 0:
            raise _dead(task.id)

    def get(self, task_id: str) -> TaskInfo:
        """What is known of a task; raises NotFound."""
        for shard in self.shards:
            (found,) = self.persist(shard, partial(waiting.locate, shard, [task_id], whole=True))
            if found:
                return info(
                    task_id, self._with_result(shard, task_id, found) if found[0] == b"done" else found
                )
        # Only now: in another shard there may be a later task of this id.
        for shard in self.shards:
            if found := self._with_result(shard, task_id, []):
                return info(task_id, found)
        raise unknown_task(task_id)

    def known(self, shard: Shard, ids: Sequence[str], *, whole: bool) -> Iterator[TaskInfo]:
        """What a shard knows of tasks, in replies of bounded size and no sooner than it is wanted; raises StoreUnavailable.

        Unknown ones are left out. Without ``whole`` neither data nor errors are read.
        """
        at = 0
        while left := ids[at:]:
            answers = self.persist(shard, partial(waiting.locate, shard, left, whole=whole))
            yield from (info(task_id, found) for task_id, found in zip(left, answers, strict=False) if found)
            at += len(answers)

    def _with_result(self, shard: Shard, task_id: str, found: list[Any]) -> list[Any]:
        """Of a done task; a result may be kept for longer than the mark of its task, and says by itself that it is done."""
        value = self.persist(shard, lambda: shard.command("GET", shard.keys.result(task_id)))
        kept = None if value is None else result.read(value, shard.now_ms())
        if value is None or (kept is None and not found):
            return found
        return [*(found or [b"done", 0, 0, b"", 0, 0, 0, b"", b"", b"", 0]), kept]

    def cancel(self, task_id: str) -> bool:
        """True: cancelled, it will not run. False: too late, it is done, dead, or running and told. Raises NotFound."""
        (answer,) = self.cancel_many([task_id]).values()
        if answer == "unknown":
            raise unknown_task(task_id)
        return answer == "cancelled"

    def cancel_many(self, ids: Iterable[str], progress: Progress = quiet) -> dict[str, str]:
        """Cancels waiting tasks in bounded steps; for each "cancelled", or why not: a state, or "unknown"."""
        return self.each(ids, partial(Settling, cancelling(self.keep_finished_ms)), progress)

    def reschedule(self, task_id: str, due_ms: int) -> None:
        """Gives a waiting task another due time.

        Raises NotFound, WrongState (it runs or is blocked), AlreadyFinal, and BadInput where it would expire before.
        """
        (answer,) = self._rescheduled([task_id], due_ms, quiet).values()
        if answer == "unknown":
            raise unknown_task(task_id)
        if answer == "blocked":
            raise WrongState(f"task {task_id} waits for another task to end, not for a time")
        if answer == "leased":
            raise WrongState(f"task {task_id} is running: only a waiting task can be given another time")
        if answer.startswith("expires:"):
            expires = instant(int(answer.removeprefix("expires:")))
            raise BadInput(
                f"task {task_id} expires at {expires.isoformat()} and cannot be given the time {instant(due_ms).isoformat()}:"
                " allowed is any until it expires"
            )
        if answer != "moved":
            raise AlreadyFinal(
                f"task {task_id} is {answer} already: only a waiting task can be given another time"
            )

    def reschedule_many(self, ids: Iterable[str], due_ms: int, progress: Progress = quiet) -> dict[str, str]:
        """Moves waiting tasks in bounded steps; for each "moved", or why not: a state, "expires" (before), or "unknown"."""
        answers = self._rescheduled(ids, due_ms, progress)
        return {task_id: answer.partition(":")[0] for task_id, answer in answers.items()}

    def _rescheduled(self, ids: Iterable[str], due_ms: int, progress: Progress) -> dict[str, str]:
        return self.each(ids, partial(Settling, rescheduling(due_ms)), progress)

    def each(
        self, ids: Iterable[str], step: Step, progress: Progress = quiet, size: int = CHUNK
    ) -> dict[str, str]:
        """What ``step`` answers for each task, asked for up to ``size`` at a time; "unknown" to every shard: unknown."""
        wanted = list(dict.fromkeys(ids))
        answers = dict.fromkeys(wanted, "unknown")
        for at in range(0, len(wanted), size):
            left = wanted[at : at + size]
            # An id does not say in which shard its task is: each is asked for what the ones before did not know.
            for shard in self.shards:
                answers |= self.persist(shard, step(shard, left)) if left else {}
                left = [task_id for task_id in left if answers[task_id] == "unknown"]
            progress(min(at + size, len(wanted)))
        return answers

    def now_anywhere_ms(self) -> int:
        """The time of the first shard's server, for what concerns no queue; raises StoreUnavailable."""
        return self.persist(self.shards[0], self.shards[0].now_ms)

    def counts(self) -> dict[str, dict[str, int]]:
        """For each queue how many tasks are in each state; done and cancelled count all there ever were. O(queues)."""
        totals: dict[str, dict[str, int]] = {}
        for shard in self.shards:
            for field, number in self.persist(shard, shard.counts).items():
                queue, _, state = field.decode().rpartition(":")
                totals.setdefault(queue, {})[state] = int(number)
        return totals


def _schedule_one(shard: Shard, task: Placed) -> int:
    keys, page = shard.keys, page_of(task.due_ms)
    # Which script is asked is all that this clock decides, so it need not be exact.
    is_ahead = opens_at(page) > shard.about_ms()
    if is_ahead and page in shard.pages:
        needed = (keys.records, keys.runs, keys.counts, keys.seq, keys.page(page))
        former = (keys.result(task.id),) if record.has_nonce(task.record) else ()
        answer: int = shard.call("schedule_one", (*needed, *former), (task.id, task.record))
        if answer >= 0:
            shard.confirm((task.id,))
            return answer
    (answer,) = written(shard, (task,))
    if is_ahead:
        if len(shard.pages) >= MOST_PAGES:
            shard.pages.clear()
        shard.pages.add(page)
    return answer


def info(task_id: str, found: Sequence[Any]) -> TaskInfo:
    """A task as users see it, from what lua/locate.lua answers for it."""
    state, due_ms, band, queue, attempts, failed, lost, body, failure, reason, throttled, *kept = found
    failures = [_error(line) for line in failure.split(b"\n") if line]
    return TaskInfo(
        id=task_id,
        state=state.decode(),
        queue=queue.decode(errors="backslashreplace") if queue else None,
        priority=band if queue else None,
        due=instant(min(due_ms, LAST_MS)) if queue else None,
        data=_data(body),
        attempts=attempts,
        failed=failed,
        lost=lost,
        error=failures[0] if failures else None,
        history=tuple(failures),
        reason=reason.decode() or None,
        throttled=throttled,
        result=kept[0] if kept else None,
    )


def _data(body: bytes) -> Any:
    try:
        return record.unpack(body).data if body else None
    except BadInput:
        # Whoever asks is told of the task all the same; its error says why it is among the dead.
        return None


def _error(failure: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(failure, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        message = f"what is stored as its last error cannot be read ({error})"
        return {"type": "BadInput", "message": message, "traceback": "", "at_ms": 0}
