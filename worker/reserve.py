"""Reserve: take ready tasks under leases, as many as there are free threads, and wait without asking when there are none."""

import logging
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncue.common import record, wait
from oncue.common.anew import begin_anew
from oncue.common.clock import monotonic_s
from oncue.common.errors import BadInput
from oncue.common.faults import Backoff
from oncue.common.shard import Shard
from oncue.common.task import DEFAULT_PRIORITY, Task
from oncue.common.wait import NOTHING, BlockingRead, Nudge
from oncue.worker.hand import Hand
from oncue.worker.outcome import Bury, Outcome, failure

MOST_TASKS = 500
MOST_BYTES = 1 << 20
"""Bounds of one call: tasks, and bytes of their records (one more is given)."""

LOOK_IS_FRESH_S = 0.25
"""How long after a look that found nothing a worker may go to sleep on it.

Half of the time after which a scheduler takes a wake token that nobody fetched for needless (lua/guard.lua).
"""

_FIELDS = 3
_RUN = struct.Struct(">7xHHHHIH")
"""Of a run: attempts, failed, lost, due time, throttled; see lua/include/run.lua."""

_FIRST = (0, 0, 0, 0, 0, 0)
_log = logging.getLogger("oncue.worker")


@dataclass(slots=True)
class Knowledge:
    """Which keys the next reservation needs, as the last answers told; only ever a hint."""

    bands: dict[str, set[int]]
    segments: list[bytes]


class Reserver:
    """One worker process's reservations on one shard. ``reserve_once`` is the work, ``run`` the thread around it."""

    _most_claimed = MOST_TASKS

    def __init__(
        self,
        shard: Shard,
        weights: Mapping[str, float],
        lease_ms: int,
        keep_ms: int,
        hand: Hand,
        start: Callable[[Sequence[Task]], None],
        hand_back: Callable[[], None],
        settle: Callable[[Outcome], None],
        health: Callable[[bool], None] = lambda well: None,
    ) -> None:
        """``weights``: the queues of this shard; ``start`` gets reserved tasks, ``settle`` the outcome of unreadable ones.

        ``hand_back`` releases tasks that were taken ahead of the threads and are not begun.
        """
        self.shard = shard
        self._weights = dict(weights)
        self._lease_ms = lease_ms
        self._keep_ms = keep_ms
        self._hand = hand
        self._start = start
        self._hand_back = hand_back
        self._settle = settle
        self._health = health
        self._knowledge = Knowledge({queue: {DEFAULT_PRIORITY} for queue in weights}, [])
        self._fixed, self._asked = self._know()
        self._nudge = Nudge()
        self._read = BlockingRead(shard.link, shard.keys.timetable, self._nudge)
        self._stopping = threading.Event()
        self._woken_by: bytes | None = None

    def reserve_once(self, most: int) -> list[Task]:
        """Takes up to ``most`` ready tasks; readable ones are returned, unreadable ones settled. Raises redis-py's errors."""
        while True:
            since = monotonic_s()
            keys, args = self._question(min(most, MOST_TASKS))
            first_token, flat, needs, segments = self.shard.call("reserve", keys, args)
            self._knowledge.segments = list(segments)
            for need in needs:
                self._learn(need)
            if flat or not needs:
                return self._held(flat, first_token, since)

    def _question(self, most: int) -> tuple[list[bytes], list[bytes | str | int]]:
        segments = self._knowledge.segments
        keys = [*self._fixed, *map(self.shard.keys.segment, segments)]
        now_ms, queues = self.shard.now_ms(), len(self._weights)
        return keys, [
            *(now_ms, self._lease_ms, most, MOST_BYTES, self._keep_ms, queues),
            *self._asked,
            *segments,
        ]

    def _know(self) -> tuple[list[bytes], list[bytes | str | int]]:
        """The keys and arguments that stay until another band is learned: a woken worker has no time to lose."""
        keys = self.shard.keys
        lists = [
            keys.records,
            keys.runs,
            keys.timetable,
            keys.counts,
            keys.bands,
            keys.served,
            keys.seq,
            keys.armed,
            keys.notify,
            keys.finished,
            keys.errors,
            keys.followers,
        ]
        args: list[bytes | str | int] = []
        for queue, weight in self._weights.items():
            bands = sorted(self._knowledge.bands[queue])
            lists += (keys.wake(queue), *(keys.ready(queue, band) for band in bands))
            args += (queue, str(weight), "".join(map(str, bands)))
        return lists, args

    def _learn(self, need: bytes) -> None:
        if need[:1] == b"=":
            self._knowledge.segments.append(need)
        else:
            self._knowledge.bands[need[1:].decode()].add(int(need[:1]))
            self._fixed, self._asked = self._know()

    def _held(self, flat: Sequence[Any], first_token: int, since: float) -> list[Task]:
        tasks: list[Task] = []
        unreadable: list[Bury] = []
        for number, at in enumerate(range(0, len(flat), _FIELDS)):
            task, error = _task(flat[at : at + _FIELDS], first_token + number)
            if error is None:
                tasks.append(task)
            else:
                unreadable.append(Bury(task, failure(error, self.shard.about_ms())))
        self._hand.hold([*tasks, *(outcome.task for outcome in unreadable)], since)
        for outcome in unreadable:
            _log.error("task %s cannot be read and goes among the dead", outcome.task.id)
            self._settle(outcome)
        return tasks

    def run(self) -> None:
        """Reserves until ``stop``; whatever the server or the network does only makes it begin anew."""
        backoff = Backoff()
        while not self._stopping.is_set():
            claimed = taken = 0
            try:
                claimed = self._claim()
                if not claimed:
                    self._hand_back()
                else:
                    self.shard.link.check(self.shard.keys.timetable)
                    looked_at = monotonic_s()
                    taken = self._take(claimed)
                    self._health(True)
                    backoff = Backoff()
                    if taken < claimed:
                        # No second look: had anything been left, the script would have put a wake token there.
                        self._hand.unclaim(claimed - taken)
                        claimed = taken
                        self._wait(looked_at)
            except Exception as error:  # noqa: BLE001 - a thread that goes on is worth more than one that is right to stop
                self._begin_anew(error, backoff.pause_s())
            finally:
                self._hand.unclaim(claimed - taken)
        self._read.close()

    def _claim(self) -> int:
        """Room for the next reservation. A wake token that meets a full hand goes back: another worker may have time."""
        wake, self._woken_by = self._woken_by, None
        if wake is not None:
            claimed = self._hand.claim_now(self._most_claimed)
            if claimed:
                return claimed
            self.shard.command("RPUSH", wake, 1)
        return self._hand.claim(self._most_claimed)

    def _take(self, claimed: int) -> int:
        """Reserves for so much room and starts what came; the room that is used by it."""
        tasks = self.reserve_once(claimed)
        self._start(tasks)
        return len(tasks)

    def _wait(self, looked_at: float, until: float | None = None) -> None:
        """Sleeps until a wake token comes, until stopped, or until a monotonic second.

        A pause between look and sleep may be long enough for a token to be taken for needless, so an old look is not
        slept on: the caller looks again.
        """
        wakes = [self.shard.keys.wake(queue) for queue in self._weights]
        while not self._stopping.is_set() and monotonic_s() - looked_at < LOOK_IS_FRESH_S:
            self._read.send("BLPOP", *wakes, wait.BLOCK_S)
            reply = self._read.wait(until)
            if reply is not None:
                self._woken_by = None if reply is NOTHING else reply[0]
                return
            looked_at = monotonic_s()

    def _begin_anew(self, error: Exception, pause_s: float) -> None:
        self._health(False)
        begin_anew(self.shard, self._read, error, pause_s, _log)
        self._nudge.wait_s(pause_s)

    def stop(self) -> None:
        """Ends ``run`` at once if it waits, after its call otherwise; close the hand first."""
        self._stopping.set()
        self._nudge.send()


def _task(fields: Sequence[Any], token: int) -> tuple[Task, BadInput | None]:
    task_id, body, run = fields
    attempts, failed, lost, high, low, throttled = _RUN.unpack_from(run) if run else _FIRST
    counters = {
        "attempt": attempts + 1,
        "failed": failed,
        "lost": lost,
        "throttled": throttled,
        "token": token,
    }
    try:
        known = record.unpack(body)
    except BadInput as error:
        # The script has read the header, whatever follows it.
        queue, band = record.queue_and_band(body)
        due_ms = high << 32 | low if run else record.due_of(body)
        return Task(task_id.decode(), queue, None, due_ms, priority=band, **counters), error
    return (
        Task(
            task_id.decode(),
            known.queue,
            known.data,
            high << 32 | low if run else known.due_ms,
            priority=known.band,
            options=known.options,
            **counters,
        ),
        None,
    )
