"""Steps of a model of a shard: tasks that line up behind each other, of one schedule."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING

from hypothesis.stateful import RuleBasedStateMachine

from tests.lua.support import Asked, Held, Lua, Task
from tests.lua.wander import CHANCE, step
from tests.lua.ways import WAYS

if TYPE_CHECKING:
    from tests.lua.test_model import Model

NAME, QUEUE, BAND = "line", "a", 9
LONGEST = 6
"""How many wait in the line: each of them takes a round of work at the end of a walk."""
REMEMBERED = 16


class Line(RuleBasedStateMachine):
    """The schedule by hand: each task waits for the end of the last one before it that has not ended."""

    lua: Lua
    now: int
    model: Model
    numbers: count[int]
    last = ""
    line: list[str]
    old: list[Held]

    def _given(self, given: list[Held]) -> None:
        raise NotImplementedError

    def _cancel(self, ids: list[str]) -> None:
        raise NotImplementedError

    def _answer(self, held: Held, op: str, due: int) -> None:
        raise NotImplementedError

    @step()
    def trigger(self) -> None:
        if sum(known.state == "blocked" for known in self.model.tasks.values()) >= LONGEST:
            return
        self.lua.put_schedule(NAME, None).run()
        task = Task(f"l:{next(self.numbers)}", self.now, QUEUE, BAND)
        behind = next((one for one in reversed(self._before()) if self.model.is_in_flight(one)), "")
        call = self.lua.trigger(self.now, NAME, task, queue=QUEUE, band=BAND)
        assert call.run() == [b"blocked" if behind else b"ready"]
        assert call.run() == [b"there"]
        if behind:
            self.line = self._lined_up(task.id, behind)
        self.model.lined_up(task, behind)
        self.last = task.id

    def _before(self) -> list[str]:
        return [*self.line] if self.line[-1:] == [self.last] else [*self.line, self.last]

    def _lined_up(self, task_id: str, behind: str) -> list[str]:
        before = self._before()
        del before[before.index(behind) + 1 :]
        while not self.model.is_in_flight(before[0]):
            del before[0]
        line = [*before, task_id]
        return [line[0], *line[1:][1 - REMEMBERED :]]

    @step(op=sorted(WAYS))
    def work_on_the_line(self, op: str) -> None:
        self._given(self.lua.take(self.now, Asked(QUEUE, 1, str(BAND))).tasks)
        before = {known.behind for known in self.model.tasks.values() if known.state == "blocked"}
        for held in [held for held in self.old if held.id in before]:
            self._answer(held, op, self.now + 1000)

    @step(chance=CHANCE)
    def leave_the_line(self, chance: Random) -> None:
        blocked = [task_id for task_id, known in self.model.tasks.items() if known.state == "blocked"]
        self._cancel(chance.sample(blocked, min(1, len(blocked))))

    def forget_the_line(self) -> None:
        """The schedule goes; its tasks stay."""
        self.lua.remove_schedule(NAME, for_good=True).run()
