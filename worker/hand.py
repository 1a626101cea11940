"""The hand: what a worker process holds under leases, and how much more it may take."""

import threading
from collections.abc import Iterable

from oncue.common.clock import monotonic_s
from oncue.common.task import Task


class Hand:
    """Tasks in hand and free threads; shared by reservers, runners, finisher and renewer."""

    def __init__(self, threads: int) -> None:
        self._changed = threading.Condition()
        self._free = threads
        self._held: dict[str, tuple[Task, float]] = {}
        self._closed = False

    def claim(self, most: int) -> int:
        """Waits for free threads and claims up to ``most`` of them for one reservation; 0 once the hand is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._free > 0 or self._closed)
            if self._closed:
                return 0
            claimed = min(self._free, most)
            self._free -= claimed
            return claimed

    def unclaim(self, number: int) -> None:
        """Gives back what a reservation did not fill, or a thread that has run its handler."""
        if number:
            with self._changed:
                self._free += number
                self._changed.notify_all()

    def hold(self, tasks: Iterable[Task], since: float) -> None:
        """Notes reserved tasks; ``since`` is the monotonic second before the call, so no lease is thought too long."""
        with self._changed:
            self._held.update((task.id, (task, since)) for task in tasks)
            self._changed.notify_all()

    def drop(self, tasks: Iterable[Task]) -> None:
        """Notes that tasks are no longer held: their outcome is written, or their lease is lost."""
        with self._changed:
            for task in tasks:
                held = self._held.get(task.id)
                if held is not None and held[0] is task:
                    del self._held[task.id]
            self._changed.notify_all()

    def held(self) -> list[Task]:
        """All tasks in hand."""
        with self._changed:
            return [task for task, _ in self._held.values()]

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
