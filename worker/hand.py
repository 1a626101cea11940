"""The hand: what a worker process holds under leases, and how much more it may take.

A reservation costs a round trip, so where handlers are short the hand takes tasks ahead of the free threads: as many as
the threads have run in the last 10 ms. With slow handlers that is none. If the handlers turn slow while tasks lie ahead,
these are handed back after 50 ms, for a worker that has time.
"""

import threading
from collections.abc import Iterable

from oncue.common.clock import monotonic_s
from oncue.common.task import Task

AHEAD_S = 0.01
MOST_AHEAD = 1000
STALLED_S = 0.05


class Hand:
    """Tasks in hand and room for more; shared by reservers, runners, finisher and renewer."""

    def __init__(self, threads: int) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._threads = threads
        self._ahead = 0
        self._claimed = 0
        self._ran = 0
        self._measured_at = monotonic_s()
        self._held: dict[str, tuple[Task, float]] = {}
        self._closed = False

    def claim(self, most: int) -> int:
        """Waits for room and claims up to ``most`` tasks of it for one reservation.

        0: nothing more is to be reserved now. The hand is closed, or no handler has ended for a while with tasks lying
        ahead of the threads: these should be handed back.
        """
        with self._changed:
            while not self._closed:
                if self._has_room():
                    self._measure()
                    claimed = min(self._room(), most)
                    self._claimed += claimed
                    return claimed
                is_ahead = self._claimed > self._threads
                if not self._changed.wait(STALLED_S if is_ahead else None) and is_ahead:
                    self._ahead = 0
                    return 0
            return 0

    def claim_now(self, most: int) -> int:
        """As ``claim``, without waiting: 0 where there is no room."""
        with self._changed:
            claimed = 0 if self._closed else max(0, min(self._room(), most))
            self._claimed += claimed
            return claimed

    def _room(self) -> int:
        return self._threads + self._ahead - self._claimed

    def _has_room(self) -> bool:
        # With tasks ahead it waits until half of them are used up: fewer, larger reservations.
        return self._room() >= max(1, self._ahead // 2)

    def _measure(self) -> None:
        now = monotonic_s()
        elapsed = now - self._measured_at
        if elapsed >= AHEAD_S / 2:
            self._ahead = min(MOST_AHEAD, int(self._ran / elapsed * AHEAD_S))
            # While it is not worth more than the threads themselves, it is not worth anything.
            if self._ahead < self._threads:
                self._ahead = 0
            self._ran, self._measured_at = 0, now

    def unclaim(self, number: int) -> None:
        """Gives back room that a reservation did not fill, or that handed-back tasks leave."""
        if number:
            with self._changed:
                self._claimed -= number
                self._changed.notify_all()

    def ran(self) -> None:
        """Notes that a handler has ended."""
        with self._changed:
            self._claimed -= 1
            self._ran += 1
            if self._has_room():
                self._changed.notify_all()

    def hold(self, tasks: Iterable[Task], since: float) -> None:
        """Notes reserved tasks; ``since`` is the monotonic second before the call, so no lease is thought too long."""
        with self._changed:
            was_empty = not self._held
            self._held.update((task.id, (task, since)) for task in tasks)
            if was_empty:
                self._changed.notify_all()

    def drop(self, tasks: Iterable[Task]) -> None:
        """Notes that tasks are no longer held: their outcome is written, or their lease is lost."""
        with self._changed:
            for task in tasks:
                held = self._held.get(task.id)
                if held is not None and held[0] is task:
                    del self._held[task.id]
            if not self._held:
                self._changed.notify_all()

    def held(self) -> list[Task]:
        """All tasks in hand."""
        with self._changed:
            return [task for task, _ in self._held.values()]

    def holds(self, task: Task) -> bool:
        """Whether this very reservation is in hand."""
        with self._changed:
            held = self._held.get(task.id)
            return held is not None and held[0] is task

    def older_than(self, age_s: float) -> list[Task]:
        """The tasks whose lease was taken or renewed longer ago."""
        limit = monotonic_s() - age_s
        with self._changed:
            return [task for task, since in self._held.values() if since <= limit]

    def renewed(self, tasks: Iterable[Task], since: float) -> None:
        """Notes renewed leases of tasks that are still held."""
        with self._changed:
            for task in tasks:
                if task.id in self._held and self._held[task.id][0] is task:
                    self._held[task.id] = (task, since)

    def wait_for_tasks(self) -> float | None:
        """Waits until something is held; the monotonic second of its oldest lease, or None once closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._held or self._closed)
            return min((since for _, since in self._held.values()), default=None)

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Waits until nothing is held any more."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, timeout_s)

    def close(self) -> None:
        """No more claims; who waits for one is let go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
