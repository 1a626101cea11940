"""The state machine that the scripts declare is the one that they follow, and the one that docs/task-life.md shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lua import states
from tests.lua.calls import Call
from tests.lua.scripts import Lua
from tests.lua.states import Move, declared
from tests.lua.walk import walk

UNSEEN = {"open_page": {Move("delayed", "ready")}}
"""A task that is due in a page that ought to be open counts as ready for whoever asks, a step before it is."""


def snapshot(lua: Lua, now: int) -> dict[str, str]:
    """The state of every task that there is, however it came there."""
    client, keys = lua.client, lua.keys
    ids = {name.decode() for key in (keys.records, keys.runs) for name in client.hkeys(key)}
    return dict(zip(ids, lua.states(now, *ids), strict=True)) if ids else {}


@pytest.fixture
def observed(lua: Lua, monkeypatch: pytest.MonkeyPatch) -> dict[str, set[Move]]:
    """The moves of every script in a walk through all of them."""
    found: dict[str, set[Move]] = {}
    now = [0]
    run = Call.run

    def watched(call: Call) -> Any:
        if call.name == "locate":
            return run(call)
        now[0] = call.args[0] if call.args and isinstance(call.args[0], int) else now[0]
        before = snapshot(lua, now[0])
        answer = run(call)
        after = snapshot(lua, now[0])
        moves = {Move(before.get(task_id, "none"), after.get(task_id, "none")) for task_id in before | after}
        found.setdefault(call.name, set()).update(move for move in moves if move.before != move.after)
        return answer

    monkeypatch.setattr(Call, "run", watched)
    walk(lua)
    return found


def test_every_script_moves_tasks_as_its_header_says_and_in_no_other_way(
    observed: dict[str, set[Move]],
) -> None:
    strange = {name: moves - declared(name) for name, moves in observed.items() if moves - declared(name)}
    assert strange == {}
    # The walk makes every move that is declared, so that none is declared in vain.
    missing = {
        name: declared(name) - observed.get(name, set()) - UNSEEN.get(name, set())
        for name in states.scripts()
    }
    assert {name: moves for name, moves in missing.items() if moves} == {}


def test_the_page_shows_the_machine_of_the_headers() -> None:
    page = states.PAGE.read_text()
    assert states.rewritten(page) == page, "run `python -m tests.lua.states`"
    assert page.count("<!-- end -->") == 2
