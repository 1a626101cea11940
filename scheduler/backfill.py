"""Backfill: planned instants of the past that are to run now, each once, unless asked to repeat them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from oncue.common.errors import BadInput, WrongState
from oncue.common.ids import new_nonce
from oncue.common.store import Store
from oncue.common.task import instant
from oncue.scheduler.catch_up import ticks_between
from oncue.scheduler.definition import Definition, tick_id
from oncue.scheduler.fire import task_record
from oncue.scheduler.replan import settle
from oncue.scheduler.schedule_calls import trigger
from oncue.scheduler.standing import Stored, history

MOST = 10_000
"""How many planned instants one backfill may have, and how many are remembered for each schedule."""

STEP = 50
HISTORY = 100
"""How many entries lua/include/note.lua keeps."""


class Backfilled(NamedTuple):
    """The ids of the tasks that were made, and of the instants that had run already; oldest first."""

    made: list[str]
    there: list[str]


def backfill(
    store: Store,
    entry: Stored,
    first_ms: int,
    last_ms: int,
    *,
    forced: bool = False,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> Backfilled:
    """Makes the tasks of the planned instants from ``first_ms`` to ``last_ms``, both included.

    ``told`` hears after each step how many of how many are done. They line up behind each other and behind a run that
    goes on, unless the schedule's overlap is "allow". Raises BadInput, WrongState where the schedule is edited meanwhile,
    and what the store raises.
    """
    definition = entry.read()
    store.persist(entry.shard, partial(settle, entry.shard, {definition.config.timezone}))
    definition = definition.renewed()
    if definition.config.from_end:
        raise BadInput(
            f"schedule {definition.name}: its ticks count from the end of a run, so there are no planned instants in the past"
        )
    if first_ms > last_ms:
        raise BadInput(f"the first instant, {_shown(first_ms)}, is after the last, {_shown(last_ms)}")
    now = store.persist(entry.shard, entry.shard.now_ms)
    last_ms = min(last_ms, now, (entry.number("planned") or now + 1) - 1)
    planned = ticks_between(definition.rule, first_ms, last_ms, MOST + 1)
    if len(planned) > MOST:
        raise BadInput(
            f"there are over {MOST} planned instants from {_shown(first_ms)} on: take them in parts"
        )
    is_known = (lambda at: False) if forced else _Known(entry, history(store, entry.name))
    found = Backfilled([], [tick_id(definition.name, at) for at in planned if is_known(at)])
    wanted = [at for at in planned if not is_known(at)]
    for at in range(0, len(wanted), STEP):
        _make(store, entry, definition, wanted[at : at + STEP], found, now, forced=forced)
        told(min(at + STEP, len(wanted)), len(wanted))
    return Backfilled(found.made, sorted(found.there))


def _make(
    store: Store,
    entry: Stored,
    definition: Definition,
    planned: Sequence[int],
    found: Backfilled,
    now_ms: int,
    *,
    forced: bool,
) -> None:
    rule = definition.rule
    # With it a repeated call knows what it has made before its reply was lost: that is there by its own doing, and not
    # to be made twice though it be forced.
    nonce = new_nonce()
    tasks = [
        (
            at,
            tick_id(definition.name, at),
            task_record(definition, at, now_ms - rule.runs_at(at), nonce=nonce),
        )
        for at in planned
    ]
    call = partial(trigger, entry.shard, definition, "backfilled", tasks, forced=forced)
    answers = store.persist(entry.shard, call)
    if answers is None:
        raise WrongState(
            f"schedule {definition.name} was edited, moved or removed meanwhile: {len(found.made)} ticks were made"
        )
    for (_, task_id, _), answer in zip(tasks, answers, strict=True):
        (found.there if answer == "there" else found.made).append(task_id)


class _Known:
    """Whether a planned instant has had its task, as far as the history tells.

    What is older than a full history, and not older than the schedule, is taken to have run: to run payroll twice is
    worse than to be asked for ``forced``.
    """

    def __init__(self, entry: Stored, events: Sequence[Mapping[str, Any]]) -> None:
        self._ran = {event["planned"] for event in events if event.get("what") in ("fired", "backfilled")}
        planned = [event["planned"] for event in events if event.get("what") != "backfilled"]
        created = entry.number("created")
        is_cut = len(events) >= HISTORY
        self._unknown = range((created or 0) + 1, min(planned, default=0)) if is_cut else range(0)

    def __call__(self, planned_ms: int) -> bool:
        return planned_ms in self._ran or planned_ms in self._unknown


def _shown(ms: int) -> str:
    return instant(ms).isoformat()
