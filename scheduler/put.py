"""Put: a definition takes the place of another one, after what was due by that one, and in the shard of its queue."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from oncue.common.errors import BadInput, CronError, WrongState
from oncue.common.shard import Shard
from oncue.common.store import Store
from oncue.scheduler.catch_up import Missed, missed_ticks
from oncue.scheduler.definition import Definition
from oncue.scheduler.fire import Fire
from oncue.scheduler.move import HANDED_OVER, arrive, forget_left, hand_over
from oncue.scheduler.replan import replan, settle
from oncue.scheduler.schedule_calls import (
    BY_HAND,
    FIRE_FIRST,
    NO_RULES,
    NO_TICK,
    OTHER_RULES,
    RESUME_ANEW,
    Origin,
    after,
    decided_ms,
    finished_ms,
    planned_after_finish,
    put_schedules,
)
from oncue.scheduler.schedule_calls import resume as call_resume
from oncue.scheduler.standing import Stored, find

_ATTEMPTS = 5
_AGAIN = {FIRE_FIRST, OTHER_RULES}
_Instants = tuple[int | None, int | None]


def bring(store: Store, entry: Stored, home: Shard, known: bytes, origin: Origin = BY_HAND) -> bool:
    """Moves a schedule of this hash (any with b"") to the shard where it is going to be put, if it is in another one.

    False where it is not there any more, or the file is outdated, or with a hash, if another one stands there. Raises
    WrongState if what is due cannot be fired.
    """
    if entry.shard is home:
        return True
    there = store.persist(home, partial(find, home, entry.name))
    if entry.moved and any(other.moved == entry.moved for other in there):
        # The original of a move that goes on to where this copy stands. To bring the copy back as well would have each of
        # the two movers forget the one that the other keeps.
        return True
    if any(other.shard is home for other in forget_left(store, entry.name)) and known:
        return False
    store.persist(entry.shard, partial(_take_up, entry.shard, [entry.name]))
    backlog = _Backlog(store, entry.shard)
    for _ in range(_ATTEMPTS):
        while True:
            code, told = store.persist(entry.shard, partial(hand_over, entry, known, origin))
            if code != FIRE_FIRST:
                break
            backlog.fire([entry.name])
        if code != HANDED_OVER:
            return False
        if arrive(store, entry, home, told):
            return True
    raise WrongState(
        f"schedule {entry.name} is put again and again while it is moved: look at it, and try again"
    )


def put(
    store: Store,
    shard: Shard,
    definitions: list[Definition],
    replaces: Mapping[str, bytes],
    origin: Origin = BY_HAND,
) -> list[int]:
    """``put_schedules``, after what was due before has been fired by the definition that it came from.

    Raises WrongState if that cannot be done.
    """
    zones = {entry.config.timezone for entry in definitions}
    answers = dict.fromkeys((entry.name for entry in definitions), FIRE_FIRST)
    store.persist(shard, partial(_take_up, shard, list(answers)))
    backlog = _Backlog(store, shard)
    while late := [entry for entry in definitions if answers[entry.name] in _AGAIN]:
        store.persist(shard, partial(settle, shard, zones))
        late = [entry.renewed() for entry in late]
        found = store.persist(shard, partial(put_schedules, shard, late, origin, replaces))
        answers |= {entry.name: answer for entry, answer in zip(late, found, strict=True)}
        backlog.fire([name for name in answers if answers[name] == FIRE_FIRST])
    return [answers[entry.name] for entry in definitions]


def _take_up(shard: Shard, names: Sequence[str]) -> None:
    """Brings ticks back that were put off by who could not read them, where that can be done here."""
    client: Any = shard.link.client
    pipeline = client.pipeline(transaction=False)
    for name in names:
        pipeline.hget(shard.keys.schedule(name), "state")
    states = pipeline.execute()
    replan(shard, [name for name, state in zip(names, states, strict=True) if state == b"invalid"])


class _Backlog:
    """What is due of some schedules in a shard: however much it is, it is fired, as long as each step brings it further."""

    def __init__(self, store: Store, shard: Shard) -> None:
        self._store, self._shard = store, shard
        self._found: dict[str, _Instants] = {}
        self._idle: Counter[str] = Counter()

    def fire(self, names: Sequence[str]) -> None:
        """One step; raises WrongState of a schedule that stood where it stands for several of them."""
        found = self._store.persist(self._shard, partial(_fire_first, self._shard, names)) if names else {}
        for name, instants in found.items():
            self._idle[name] = self._idle[name] + 1 if self._found.get(name) == instants else 0
            if self._idle[name] == _ATTEMPTS:
                raise WrongState(
                    f"schedule {name} has a tick that is due and cannot be fired: it stays as it was"
                )
        self._found |= found


def _fire_first(shard: Shard, names: Sequence[str]) -> dict[str, _Instants]:
    """Fires what is due, by the definitions that are there, and writes down what those that are paused have skipped.

    The instants that it has found, of the tick in the timetable and of the one that is kept.
    """
    now = shard.now_ms()
    entries = [entry for name in names for entry in find(shard, name)]
    due = [(f"t{entry.name}".encode(), entry.at_ms) for entry in entries if entry.at_ms is not None]
    Fire(shard, patience_ms=0)(due, [])
    for entry in entries:
        if entry.state == "paused":
            _write_down(entry, now)
    return {entry.name: (entry.at_ms, entry.number("planned")) for entry in entries}


def _write_down(entry: Stored, now_ms: int) -> None:
    """What a paused schedule has skipped; of one that cannot be read here that is its next tick, all that is known of it."""
    try:
        definition = entry.read()
    except (BadInput, CronError):
        planned = entry.number("planned")
        skipped = [] if planned is None else [Missed(planned, planned, 1, "paused")]
        through = entry.fields.get("through", "")
        call_resume(
            entry.shard, entry.name, entry.hash, NO_TICK, NO_RULES, skipped, now_ms, through, stay=True
        )
    else:
        resume(entry, definition, now_ms, stay=True)


def resume(entry: Stored, definition: Definition, now_ms: int, *, stay: bool = False) -> int:
    """What lua/resume.lua answers, told what was skipped while the schedule was paused, by the rules that are in force."""
    answer = RESUME_ANEW
    while answer == RESUME_ANEW:
        settle(entry.shard, {definition.config.timezone})
        answer = _resume(entry, definition.renewed(), now_ms, stay=stay)
    return answer


def _resume(entry: Stored, definition: Definition, now_ms: int, *, stay: bool) -> int:
    planned = entry.number("planned")
    skipped = []
    if planned is not None and planned <= now_ms:
        skipped = missed_ticks(definition.rule, planned, now_ms + 1, "paused")
    through = entry.fields.get("through", "")
    decided = decided_ms(definition, through, entry.fields.get("wall"))
    # What was skipped is not made up for: the next one comes an interval from now.
    finished = None if skipped else finished_ms(entry.text, entry.fields, entry.at_ms)
    tick = definition.told(planned_after_finish(definition, after(now_ms, decided), finished))
    wall = definition.wall(max(stretch.last_ms for stretch in skipped)) if skipped else ""
    rules = (definition.config.timezone, definition.rules, wall)
    return call_resume(
        entry.shard, entry.name, definition.hash, tick, rules, skipped, now_ms, through, stay=stay
    )
