"""Steps of a model of a shard: tasks that line up behind each other, of one schedule."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING

from hypothesis.stateful import RuleBasedStateMachine, invariant

from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Held, Task
from tests.lua.wander import CHANCE, step
from tests.lua.ways import WAYS

if TYPE_CHECKING:
    from tests.lua.test_model import Model

NAME, QUEUE, BAND = "line", "a", 9
LONGEST = 20
"""How many wait in the line: each of them takes a round of work at the end of a walk."""
TICK = b"t" + NAME.encode()


class Line(RuleBasedStateMachine):
    """The schedule by hand: each task waits for the end of the last one before it that has not ended."""

    lua: Lua
    now: int
    model: Model
    numbers: count[int]
    line: list[str]
    old: list[Held]
    tick_follows = False
    """Whether the next tick was put behind the line, and may still be there."""

    def _given(self, given: list[Held]) -> None:
        raise NotImplementedError

    def _cancel(self, ids: list[str]) -> None:
        raise NotImplementedError

    def _answer(self, held: Held, op: str, due: int) -> None:
        raise NotImplementedError

    @step(number=[1, 1, 1, LONGEST])
    def trigger(self, number: int) -> None:
        self.lua.put_schedule(NAME, None).run()
        for _ in range(min(number, LONGEST - len(self._blocked()))):
            task = Task(f"l:{next(self.numbers)}", self.now, QUEUE, BAND)
            behind = self._end()
            call = self.lua.trigger(self.now, NAME, task, queue=QUEUE, band=BAND)
            assert call.run() == [b"blocked" if behind else b"ready"]
            assert call.run() == [b"there"]
            self.model.lined_up(task, behind)
            self.line.append(task.id)

    def _end(self) -> str:
        """The last that has not ended; a dead one that was redriven is of the line if nothing was made after it."""
        for task_id in reversed(self.line):
            known = self.model.tasks.get(task_id)
            if (
                known
                and self.model.is_in_flight(task_id)
                and (task_id == self.line[-1] or not known.is_redriven)
            ):
                return task_id
        return ""

    def _blocked(self) -> list[str]:
        return [task_id for task_id, known in self.model.tasks.items() if known.state == "blocked"]

    @step(op=sorted(WAYS))
    def work_on_the_line(self, op: str) -> None:
        self._given(self.lua.take(self.now, Asked(QUEUE, 1, str(BAND))).tasks)
        before = {known.behind for known in self.model.tasks.values() if known.state == "blocked"}
        for held in [held for held in self.old if held.id in before]:
            self._answer(held, op, self.now + 1000)

    @step(chance=CHANCE)
    def leave_the_line(self, chance: Random) -> None:
        blocked = self._blocked()
        self._cancel(chance.sample(blocked, min(1, len(blocked))))

    @step(stay=range(LONGEST // 2))
    def leave_the_line_from_its_end(self, stay: int) -> None:
        self._cancel(self._blocked()[stay:][::-1])

    @step(every=[None, 1000])
    def edit_the_schedule(self, every: int | None) -> None:
        self.lua.remove_schedule(NAME).run()
        assert TICK not in self.lua.timetable()
        self.lua.put_schedule(NAME, self.now + 5000, every=every).run()
        self.tick_follows = every is not None and self._end() != ""
        assert (TICK in self.lua.timetable()) != self.tick_follows

    @invariant()
    def a_tick_that_follows_the_line_stands_behind_its_end(self) -> None:
        if self.tick_follows and self._end():
            text = self.lua.client.hget(self.lua.keys.followers, self._end())
            assert text[6:] == TICK
        elif self.tick_follows:
            assert TICK in self.lua.timetable()
            self.tick_follows = False

    def forget_the_line(self) -> None:
        """The schedule goes; its tasks stay."""
        self.lua.remove_schedule(NAME, for_good=True).run()
