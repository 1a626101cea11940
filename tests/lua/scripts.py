"""The scripts on one shard: `lua.schedule(NOW, task).run()`, and what their callers make of such calls."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from oncue.common.keys import opens_at, page_of
from tests.lua.calls import Call, Head, head
from tests.lua.contents import Contents
from tests.lua.instants import LEASE, NOW
from tests.lua.schedule_calls import ScheduleCalls
from tests.lua.tasks import Asked, Held, Reserved, Task


class Lua(Contents, ScheduleCalls):
    """Calls as schedulers, workers and producers make them, one after the other; nothing here reads a clock."""

    def debounced(self, now: int, task: Task, wait: int = 0) -> str:
        """As producers call it, until the task stands where it ought to; its id."""
        due, old = task.due, None
        latest = now + wait if wait else 0
        while True:
            what, value = self.debounce(now, task, latest, due, old).run()
            if what in (b"id", b"taken"):
                return str(value.decode())
            if what == b"due":
                due = int(value)
            elif what == b"page":
                self.open_whole_page(now, int(value[1:]))
            else:
                at, band, queue = value[1:].decode().split(":")
                old = Task("", int(at), queue, int(band))

    def reserved(self, answer: Any) -> Reserved:
        first, flat, needs, references = answer
        found = []
        for n, at in enumerate(range(0, len(flat), 3)):
            task_id, record, run = flat[at : at + 3]
            name = record[13 : 13 + record[12]].decode()
            attempts, failed, lost, throttled = struct.unpack_from(">7xHHH6xH", run) if run else (0, 0, 0, 0)
            due = int.from_bytes(run[13:19] if run else record[5:11], "big")
            counted = attempts, failed, lost, due, throttled
            found.append(Held(task_id.decode(), first + n, name, record[11], *counted))
        return Reserved(found, needs, references)

    def take(
        self,
        now: int,
        *asked: Asked,
        most: int = 10,
        most_bytes: int = 1 << 20,
        lease: int = LEASE,
        segments: Sequence[bytes] = (),
    ) -> Reserved:
        """One reserve call."""
        return self.reserved(
            self.reserve(now, *asked, most=most, most_bytes=most_bytes, lease=lease, segments=segments).run()
        )

    def take_all(self, now: int, *asked: Asked, most: int = 1000) -> list[Held]:
        """Reserve calls as a worker makes them, each declaring what the one before asked for, until no token is left."""
        asked = asked or (Asked(),)
        found: list[Held] = []
        known: set[bytes] = set()
        while True:
            got = self.take(now, *asked, most=most, segments=sorted(known))
            found += got.tasks
            known = {*got.needs, *got.references}
            tokens = [self.client.lpop(self.keys.wake(queue.name)) for queue in asked]
            if not any(tokens):
                return found

    def schedule_alone(self, now: int, task: Task) -> int:
        """What a producer does with one task: the short way, and the other where that does not do."""
        if opens_at(page_of(task.due)) > now:
            answer = int(self.schedule_one(task).run())
            if answer >= 0:
                return answer
        return int(self.schedule(now, task).run()[0])

    def one(self, task_id: str, **options: Any) -> Held:
        """A task that has just been scheduled for NOW and reserved."""
        self.schedule(NOW, Task(task_id, **options)).run()
        (held,) = self.take_all(NOW, Asked(options.get("queue", "q")))
        return held

    def promote_due(self, now: int) -> Head:
        """What a scheduler does at a due time, until no task in the timetable is due. Returns the head."""
        known = head(self.survey().run()[1])
        while True:
            due = [member for member, at in known if at <= now and member[:1] in b"+="]
            if not due:
                return known
            slots = sorted({self.queue_and_band(member) for member in due})
            buckets = [member for member in due if member[:1] == b"="]
            known = head(self.promote(now, slots, *buckets).run())

    def open_whole_page(self, now: int, page: int) -> Head:
        """Opens a page as a scheduler does: each call declares what the one before asked for."""
        needs: list[bytes] = []
        while True:
            needs, flat = self.open_page(now, page, *needs).run()
            if not needs and f"p{page}".encode() not in flat:
                return head(flat)

    def cancel_wherever(self, now: int, task_id: str) -> str:
        """Cancels by the true due time, opening what has to be opened first."""
        return self._wherever(now, task_id, lambda task: self.cancel(now, task))

    def reschedule_wherever(self, now: int, task_id: str, due: int) -> str:
        """Moves by the true due time, opening what has to be opened first."""
        return self._wherever(now, task_id, lambda task: self.reschedule(now, due, task))

    def _wherever(self, now: int, task_id: str, call: Callable[[Task], Call]) -> str:
        (found,) = self.locate(now, task_id).run()
        task = Task(task_id)
        if found and found[3]:
            task = Task(task_id, found[1], found[3].decode(), found[2])
        while True:
            (answer,) = call(task).run()
            if answer[:1] != b"p":
                return str(answer.decode())
            self.open_whole_page(now, int(answer[1:]))
