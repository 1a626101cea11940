"""Put: a definition takes the place of another one, after what was due by that one, and in the shard of its queue."""

from functools import partial

from oncue.common.errors import WrongState
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.catch_up import missed_ticks
from oncue.scheduler.definition import Definition
from oncue.scheduler.fire import Fire
from oncue.scheduler.move import HANDED_OVER, arrive, hand_over
from oncue.scheduler.replan import settle
from oncue.scheduler.schedule_calls import BY_HAND, FIRE_FIRST, Origin, after, decided_ms, put_schedules
from oncue.scheduler.schedule_calls import resume as call_resume
from oncue.scheduler.standing import Stored, find

_ATTEMPTS = 5


def bring(store: Store, entry: Stored, home: Shard, known: bytes, origin: Origin = BY_HAND) -> bool:
    """Moves a schedule of this hash (any with b"") to the shard where it is going to be put, if it is in another one.

    False where it is not there any more, or the file is outdated. Raises WrongState if what is due cannot be fired.
    """
    if entry.shard is home:
        return True
    for _ in range(_ATTEMPTS):
        code, told = store.persist(entry.shard, partial(hand_over, entry, known, origin))
        if code == HANDED_OVER:
            if arrive(store, entry, home, told):
                return True
        elif code == FIRE_FIRST:
            store.persist(entry.shard, partial(_fire_first, entry.shard, [entry.name]))
        else:
            return False
    raise _cannot_be_fired(entry.name)


def put(
    store: Store,
    shard: Shard,
    definitions: list[Definition],
    origin: Origin = BY_HAND,
    replaces: bytes = b"*",
) -> list[int]:
    """``put_schedules``, after what was due before has been fired by the definition that it came from.

    Raises WrongState if that cannot be done.
    """
    store.persist(shard, partial(settle, shard, {entry.config.timezone for entry in definitions}))
    definitions = [entry.renewed() for entry in definitions]
    answers = dict.fromkeys((entry.name for entry in definitions), FIRE_FIRST)
    for _ in range(_ATTEMPTS):
        late = [entry for entry in definitions if answers[entry.name] == FIRE_FIRST]
        found = store.persist(shard, partial(put_schedules, shard, late, origin, replaces))
        answers |= {entry.name: answer for entry, answer in zip(late, found, strict=True)}
        if FIRE_FIRST not in found:
            return [answers[entry.name] for entry in definitions]
        store.persist(
            shard, partial(_fire_first, shard, [name for name in answers if answers[name] == FIRE_FIRST])
        )
    raise _cannot_be_fired(late[0].name)


def _cannot_be_fired(name: str) -> WrongState:
    return WrongState(f"schedule {name} has a tick that is due and cannot be fired: it stays as it was")


def _fire_first(shard: Shard, names: list[str]) -> None:
    """Fires what is due, by the definitions that are there, and writes down what those that are paused have skipped."""
    now = shard.now_ms()
    entries = [entry for name in names for entry in find(shard, name)]
    due = [(f"t{entry.name}".encode(), entry.at_ms) for entry in entries if entry.at_ms is not None]
    Fire(shard, patience_ms=0)(due, [])
    for entry in entries:
        if entry.state == "paused":
            resume(entry, entry.read(), now, stay=True)


def resume(entry: Stored, definition: Definition, now_ms: int, *, stay: bool = False) -> int:
    """One call of lua/resume.lua, with what was skipped while the schedule was paused."""
    settle(entry.shard, {definition.config.timezone})
    definition = definition.renewed()
    planned = entry.number("planned")
    skipped = []
    if planned is not None and planned <= now_ms:
        skipped = missed_ticks(definition.rule, planned, now_ms + 1, "paused")
    decided = decided_ms(definition, entry.fields.get("through"), entry.fields.get("wall"))
    after_ms = after(now_ms, decided)
    return call_resume(entry.shard, definition, skipped, now_ms, after_ms, stay=stay)
