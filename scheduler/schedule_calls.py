"""The scripts that put, pause, resume and remove schedules: one call each, not repeated; they raise what redis-py raises."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oncue.common.shard import Shard
from oncue.common.walltime import LAST_SECOND
from oncue.scheduler.catch_up import Missed
from oncue.scheduler.definition import Definition, every_ms_of

MOST_SET_BACK_MS = 86_400_000
"""How far a clock is believed to have been set back: what lies further ahead was decided by one that was wrong."""

CREATED, EDITED, SAME, CHANGED_MEANWHILE, OUTDATED, FIRE_FIRST, OTHER_RULES = 1, 2, 0, -1, -2, -3, -4
"""What ``put_schedules`` answers for each schedule; the last one also where a tick was decided about meanwhile."""

RESUME_ANEW = -2
"""What ``resume`` answers where other rules of the zone are in force by now."""

Arguments = list[bytes | str | int]

NO_RULES = ("", "", "")
"""What ``resume`` is told of the rules where nothing was planned by any."""

NO_TICK = ("", "", "")
"""What scripts are told of a next tick where there is none, or none is known."""

_STANDING = ("through", "wall", "moved", "planned", "put_off")


class Origin(NamedTuple):
    """A file and the revision of it that is being put; both "" for what a program puts."""

    file: str = ""
    revision: str = ""


BY_HAND = Origin()


def put_schedules(
    shard: Shard, definitions: Sequence[Definition], origin: Origin, replaces: Mapping[str, bytes]
) -> list[int]:
    """Creates or edits schedules; ``replaces``: the hash to be replaced, b"" for none.

    Each has its next tick after now, or the one whose instant has passed and whose jitter has not. What is there already is
    left as it is.
    """
    keys, now = shard.keys, shard.now_ms()
    client: Any = shard.link.client
    pipeline = client.pipeline(transaction=False)
    for definition in definitions:
        pipeline.hmget(keys.schedule(definition.name), *_STANDING)
    names = [definition.name for definition in definitions]
    pipeline.hmget(keys.schedules, names)
    pipeline.execute_command("ZMSCORE", keys.timetable, *(f"t{name}" for name in names))
    *standing, stored, scores = pipeline.execute()
    fixed = [
        keys.timetable,
        keys.schedules,
        keys.records,
        keys.runs,
        keys.followers,
        keys.armed,
        keys.notify,
        keys.revisions,
        keys.zones,
    ]
    args: Arguments = [now, *origin]
    for definition, texts, text, score in zip(definitions, standing, stored, scores, strict=True):
        fields = {
            field: text.decode(errors="replace") for field, text in zip(_STANDING, texts, strict=True) if text
        }
        name, off = definition.name, "" if definition.config.enabled else "1"
        fixed += (keys.schedule(name), keys.history(name))
        finished = finished_ms(text or b"", fields, None if score is None else int(float(score)))
        tick = definition.told(planned_by(definition, fields, now, finished))
        args += (name, definition.hash, definition.stored(), replaces[name], *tick, off)
        args += (definition.config.timezone, definition.rules, fields.get("through", ""))
    answers: list[int] = shard.call("put_schedule", fixed, args)
    return answers


def remove_schedule(
    shard: Shard,
    name: str,
    known: bytes,
    origin: Origin = BY_HAND,
    *,
    for_good: bool = False,
    moved: str = "",
    home: str = "",
) -> bool:
    """Removes a schedule if its definition has this hash, or any with b"" for the hash.

    With ``moved``, the instant of a move, only what that has left behind; ``home``: the shard that it went to, if any.
    """
    keys = shard.keys
    fixed = (keys.timetable, keys.schedules, keys.followers, keys.revisions)
    own = (keys.schedule(name), keys.history(name), keys.backfilled(name))
    args: Arguments = [shard.now_ms(), name, known, int(for_good), *origin]
    if moved:
        args += (moved, home)
    return bool(shard.call("remove_schedule", [*fixed, *own], args))


def claim_revision(shard: Shard, origin: Origin, order: int | None, replaces: str) -> tuple[int, int]:
    """1 new, and in force from now on; 0 in force already; -1 it was in force and has been replaced since; and its order.

    The first shard gives the order, the others are told it. ``replaces``: the revision that it may replace even if it
    was in force before that, "*" for any.
    """
    args: Arguments = [*origin, replaces, "" if order is None else order]
    claimed, given = shard.call("claim_revision", [shard.keys.revisions], args)
    return claimed, given


def pause(shard: Shard, name: str, by: str, why: str) -> str:
    """Pauses a schedule; the state that it is in now, or "unknown"."""
    keys = shard.keys
    fixed = (keys.timetable, keys.schedules, keys.followers, keys.schedule(name))
    answer: bytes = shard.call("pause", fixed, [shard.now_ms(), name, by, why])
    return answer.decode()


def decided_ms(definition: Definition, through: str | None, wall: str | None) -> int:
    """Up to which instant it has been decided about a schedule's ticks, 0 where about none, from its fields in the store.

    Where rules of its zone changed since, the wall clock shows again what it showed before, or the other way round: the
    later instant counts.
    """
    decided = number_of(through)
    reading, _, zone = (wall or "").partition(" ")
    clock = definition.rule.clock
    if definition.rule.follows_wall and zone == clock.key and reading.isascii() and reading.isdigit():
        decided = max(decided, clock.resolve(min(int(reading), LAST_SECOND)) * 1000)
    return decided


def after(now_ms: int, decided_ms: int) -> int:
    """After which instant a schedule's next tick comes, whose ticks have been decided up to an instant.

    Where the clock has been set back, what has been decided already comes no second time; unless it was far ahead, for
    then it was wrong, and a schedule must not stand still for years.
    """
    return decided_ms if now_ms < decided_ms <= now_ms + MOST_SET_BACK_MS else now_ms


def planned_by(
    definition: Definition, fields: Mapping[str, str], now_ms: int, finished: int | None = None
) -> int | None:
    """The planned instant that comes next once this definition is put, from the schedule's fields in the store.

    ``finished`` is what ``finished_ms`` tells of them.
    """
    # What comes while a schedule is between two shards is made up for.
    since = number_of(fields.get("moved")) or now_ms
    decided = decided_ms(definition, fields.get("through"), fields.get("wall"))
    # What was put off had been due before, and could not be read.
    planned = None if "put_off" in fields else fields.get("planned")
    following = after(min(now_ms, since), decided)
    if definition.rule.from_end:
        kept = number_of(planned)
        return planned_after_finish(definition, following, finished, kept if kept > decided else 0)
    return next_planned(definition, following, decided, planned)


def finished_ms(text: bytes, fields: Mapping[str, str], at_ms: int | None) -> int | None:
    """When the last run ended, from which the next tick counts, as that tick tells; None while a run goes on.

    ``text`` is the stored definition, ``at_ms`` the instant of the tick in the timetable. None, too, where ticks do not count
    from there. Before the first run it is the instant of the creation, or what would have to be one.
    """
    every_ms = every_ms_of(text)
    if every_ms is None or "put_off" in fields:
        return None
    planned = number_of(fields.get("planned"))
    # The end of a run puts a tick into the timetable alone.
    tick = planned if planned > number_of(fields.get("through")) else at_ms
    return None if tick is None else tick - every_ms


def planned_after_finish(
    definition: Definition, after_ms: int, finished: int | None, kept: int = 0
) -> int | None:
    """With `from: end` the planned instant that comes next after an instant, where the last run ended at ``finished``.

    So no edit delays it. What would have come before, by a shorter interval or while it was paused, comes at once; only
    ``kept``, whose instant has passed and whose jitter has not, stays where it is.
    """
    rule = definition.rule
    if finished is None:
        return rule.next_after(after_ms)
    # The end of a run that lies ahead is none: a start or an excluded date has put the tick off.
    tick = rule.after_finish(min(finished, after_ms), after_ms)
    if tick is None or tick > after_ms or tick == kept:
        return tick
    return rule.after_finish(after_ms + 1 - (definition.every_ms or 0), after_ms)


def next_planned(definition: Definition, after_ms: int, decided_ms: int, planned: str | None) -> int | None:
    """The planned instant of the first tick after an instant, ``planned`` being the one that has stood there until now.

    That one stays if its instant has passed, so that jitter alone has kept its run for later, and it is the last one so far
    by this definition too: else it would come by neither. Where less jitter has its run come before now, it is due.
    """
    at = number_of(planned)
    if decided_ms < at <= after_ms and definition.rule.latest_up_to(after_ms, at - 1) == at:
        return at
    return definition.rule.next_after(after_ms)


def number_of(text: str | None) -> int:
    """An instant in ms as a schedule's field in the store has it; 0 where it is absent, or nonsense."""
    return int(text) if text and text.isascii() and text.isdigit() else 0


def resume(
    shard: Shard,
    name: str,
    known: bytes,
    tick: Sequence[int | str],
    rules: Sequence[bytes | str],
    skipped: Sequence[Missed],
    now_ms: int,
    through: str,
    *,
    stay: bool = False,
) -> int:
    """1 resumed, 0 it is not paused, -1 it has to be looked at again, ``RESUME_ANEW``.

    Again, since it is not there, its definition has another hash than this, or its ticks were not decided about ``through``
    that instant.

    ``tick`` is what scripts are told of the next one, ``rules`` the zone, the digest of its rules that this was planned by,
    and what a clock there shows at the last skipped instant. With ``stay`` what was skipped is written down, and it stays
    paused.
    """
    keys = shard.keys
    fixed = (
        keys.timetable,
        keys.schedules,
        keys.records,
        keys.runs,
        keys.followers,
        keys.armed,
        keys.notify,
        keys.zones,
    )
    args: Arguments = [now_ms, name, known, *tick, "1" if stay else "", *rules, through]
    for stretch in skipped:
        args += (stretch.first_ms, stretch.last_ms, stretch.number)
    answer: int = shard.call("resume", [*fixed, keys.schedule(name), keys.history(name)], args)
    return answer


def trigger(
    shard: Shard,
    definition: Definition,
    what: str,
    tasks: Sequence[tuple[int, str, bytes]],
    *,
    forced: bool = False,
) -> list[str] | None:
    """Makes tasks, given as planned instant, id and record; for each "ready", "blocked", "made" or "there".

    "made": by a call before, of the same nonce. None if the definition has changed, was removed or is being moved, and
    none of them is made. ``what``: "triggered" or "backfilled".
    """
    keys, config, name = shard.keys, definition.config, definition.name
    fixed = (
        keys.schedules,
        keys.records,
        keys.runs,
        keys.timetable,
        keys.counts,
        keys.bands,
        keys.seq,
        keys.armed,
        keys.notify,
        keys.followers,
    )
    own = (keys.schedule(name), keys.history(name), keys.backfilled(name))
    lists = (keys.ready(config.queue, config.priority), keys.wake(config.queue))
    args: Arguments = [shard.now_ms(), name, definition.hash, what, definition.overlap, int(forced)]
    for planned_ms, task_id, body in tasks:
        args += (planned_ms, task_id, body)
    former = (keys.claims, *(keys.result(task_id) for _, task_id, _ in tasks))
    answers: list[bytes | int] = shard.call("trigger", [*fixed, *own, *lists, *former], args)
    if answers == [-1]:
        return None
    return [answer.decode() for answer in answers if isinstance(answer, bytes)]
