"""Fire: a tick of a schedule becomes a task, once, whoever of the schedulers is first."""

import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redis.exceptions import RedisError

from oncue.common import record
from oncue.common.connections import raised
from oncue.common.faults import is_passing
from oncue.common.pages import Head, head_of
from oncue.common.settle import Settling, cancelling
from oncue.common.shard import Request, Shard
from oncue.common.task import instant
from oncue.scheduler import unread
from oncue.scheduler.catch_up import MOST_COUNTED, Missed, Plan, Tick, plan
from oncue.scheduler.definition import Definition, tick_id
from oncue.scheduler.foreign import is_understood
from oncue.scheduler.known import Known, planned_ms
from oncue.scheduler.replan import replan

KINDS = b"t"
_DONE, _CANCEL_FIRST, _REPLAN_FIRST = 1, 2, 3
_log = logging.getLogger("oncue.fire")

_Due = tuple[Definition, int]
"""A definition, and the instant of its tick in the timetable in ms."""
_Answer = tuple[int, list[bytes], list[bytes], bytes]
"""What lua/fire.lua answers."""


class _Attempt(NamedTuple):
    """What one call is to do: the tick in the timetable at ``at_ms`` as it was planned at ``now_ms``."""

    definition: Definition
    at_ms: int
    now_ms: int
    wanted: Plan


class Fire:
    """The duty, with the definitions that it has read."""

    def __init__(
        self, shard: Shard, keep_finished_ms: int = 60_000, patience_ms: int = unread.PATIENCE_MS
    ) -> None:
        """``keep_finished_ms``: how long a task is remembered that a later tick has replaced.

        ``patience_ms``: how long a due tick that cannot be read here is left to others.
        """
        self._shard = shard
        self._keep_ms = keep_finished_ms
        self._known = Known(shard)
        self._unread = unread.Unread(shard, self._known, patience_ms)

    def prepare(self, head: Head) -> None:
        """Reads ahead the definitions of ticks that are near, so that at their instant only one call is left."""
        self._known.look_ahead(
            member[1:].decode() for member, _ in head if member[:1] == KINDS and is_understood(member)
        )

    def begin_anew(self) -> None:
        """After a time in which others may have taken the ticks of this process for nobody's."""
        self._known.forget_all()

    def __call__(self, due: Sequence[tuple[bytes, int]], head: Head) -> Head:
        """Fires due ticks, given with their instants in the timetable in ms. The newest head."""
        ticks = {member[1:].decode(): at for member, at in due}
        found = self._known.get(ticks)
        ticks |= {name: self._unread.released(name, ticks[name]) for name in found}
        left = [(definition, ticks[name]) for name, definition in found.items()]
        faults: list[Exception] = []
        while left:
            left, head = self._fire(left, head, faults)
        head = self._unread({name: at for name, at in ticks.items() if name not in self._known}, head)
        if faults:
            # Only now: what is wrong with one schedule keeps no other from its ticks.
            raise faults[0]
        return head

    def _fire(self, due: Sequence[_Due], head: Head, faults: list[Exception]) -> tuple[list[_Due], Head]:
        """What has to be fired once more, since it was edited after it was read, and the newest head."""
        answered = self._answered(due, faults)
        newest, overtaken = answered[-1][1][1] if answered else None, []
        for attempt, answer in answered:
            code, became = answer[0], answer[2]
            if code in (_CANCEL_FIRST, _REPLAN_FIRST):
                try:
                    code, newest, became, _ = self._again(attempt, answer)
                except Exception as error:
                    if is_passing(error):
                        # The others would meet it too, each after a wait of its own.
                        raise
                    faults.append(error)
                    continue
            if code == _DONE:
                _report(attempt.definition.name, attempt.wanted, became)
            else:
                overtaken.append(attempt)
        return self._edited(overtaken), head if newest is None else head_of(newest)

    def _answered(self, due: Sequence[_Due], faults: list[Exception]) -> list[tuple[_Attempt, _Answer]]:
        """What the script answers for each of these that can be planned; errors go to ``faults``."""
        planned = self._known.planned(definition for definition, _ in due)
        attempts: list[_Attempt] = []

        def requests() -> Iterator[Request]:
            for definition, at_ms in due:
                now = self._shard.now_ms()
                try:
                    at = planned_ms(definition, at_ms, raised(planned.get(definition.name)) or b"")
                    wanted = plan(definition.config, definition.rule, at, now)
                    attempt = _Attempt(definition, at_ms, now, wanted)
                    request = self._request(attempt)
                except RedisError as error:
                    faults.append(error)
                except Exception as error:  # noqa: BLE001 - the ticks behind this one have to come, whatever it is
                    self._known.give_up(definition, error)
                else:
                    attempts.append(attempt)
                    yield request

        answers = self._shard.call_in_a_row("fire", requests())
        faults += [answer for answer in answers if isinstance(answer, RedisError)]
        pairs = zip(attempts, answers, strict=True)
        return [(attempt, answer) for attempt, answer in pairs if not isinstance(answer, RedisError)]

    def _again(self, attempt: _Attempt, answer: _Answer) -> _Answer:
        """The answer once that is done which had to be first."""
        # Each of it once: a line may have its end, and beside it what was made while overlap was "allow".
        done: set[bytes] = set()
        while answer[0] in (_CANCEL_FIRST, _REPLAN_FIRST) and answer[3] not in done:
            done.add(answer[3])
            if answer[0] == _CANCEL_FIRST:
                # Between this and the next call another scheduler may fire, or a worker may reserve the task: each
                # call finds out for itself.
                Settling(cancelling(self._keep_ms), self._shard, [answer[3].decode()])()
            else:
                # Where that moves it the next call says so.
                replan(self._shard, [attempt.definition.name])
            answer = self._shard.call("fire", *self._request(attempt))
        return answer

    def _edited(self, attempts: Sequence[_Attempt]) -> list[_Due]:
        """Those whose definition is another one now than was known: without another look they would be fired late."""
        for attempt in attempts:
            self._known.forget(attempt.definition.name)
        found = self._known.get([attempt.definition.name for attempt in attempts])
        pairs = [(found.get(attempt.definition.name), attempt) for attempt in attempts]
        return [
            (again, one.at_ms)
            for again, one in pairs
            if again and again.planned_by != one.definition.planned_by
        ]

    def _request(self, attempt: _Attempt) -> Request:
        definition, at_ms, now_ms, wanted = attempt
        keys, config, name = self._shard.keys, definition.config, definition.name
        fixed = (
            keys.timetable,
            keys.schedules,
            keys.records,
            keys.runs,
            keys.counts,
            keys.bands,
            keys.seq,
            keys.armed,
            keys.notify,
            keys.followers,
            keys.finished,
            keys.zones,
        )
        own = (keys.schedule(name), keys.history(name))
        lists = (keys.ready(config.queue, config.priority), keys.wake(config.queue))
        following = definition.told(wanted.following_ms)
        args: list[bytes | str | int] = [now_ms, name, at_ms, definition.hash, *following]
        args += (
            definition.overlap,
            self._keep_ms,
            config.timezone,
            definition.rules,
            _wall(definition, wanted),
        )
        for missed in wanted.missed:
            args += ("missed", missed.first_ms, missed.reason, missed.last_ms, missed.number)
        for tick in wanted.ticks:
            args += ("line" if tick.in_line else "fire", tick.planned_ms, tick_id(name, tick.planned_ms))
            args += (task_record(definition, tick.planned_ms, tick.late_ms), tick.late_ms)
        return [*fixed, *own, *lists], args


def _wall(definition: Definition, wanted: Plan) -> str:
    decided = [tick.planned_ms for tick in wanted.ticks] + [missed.last_ms for missed in wanted.missed]
    return definition.wall(max(decided)) if decided else ""


def task_record(
    definition: Definition, planned_ms: int, late_ms: int, due_ms: int | None = None, nonce: bytes = b""
) -> bytes:
    """The record of a tick's task; it is due when the tick runs, unless said otherwise."""
    config = definition.config
    options: dict[str, object] = {"schedule": definition.name, "planned_ms": planned_ms}
    options["late_ms"] = max(0, late_ms)
    if config.retry:
        options["retry"] = config.retry
    data = record.encoded(config.data, 1 << 30)
    due = definition.rule.runs_at(planned_ms) if due_ms is None else due_ms
    return record.pack(due, config.priority, config.queue, data, nonce, options)


def _report(name: str, wanted: Plan, became: Sequence[bytes]) -> None:
    for missed in wanted.missed:
        _log.warning("schedule %s: %s", name, _missed(missed))
    for tick, outcome in zip(wanted.ticks, became[len(wanted.missed) :], strict=True):
        if outcome == b"skipped":
            _log.info("schedule %s: the tick of %s is skipped: a run goes on", name, _shown(tick.planned_ms))
        elif wanted.missed:
            _log.warning(
                "schedule %s: the tick of %s runs %s late", name, _shown(tick.planned_ms), _late(tick)
            )


def _missed(missed: Missed) -> str:
    if missed.number == 1:
        return f"the tick of {_shown(missed.first_ms)} is missed: {missed.reason}"
    number = f"{missed.number}{' or more' if missed.number >= MOST_COUNTED else ''}"
    return f"{number} ticks are missed, from {_shown(missed.first_ms)} to {_shown(missed.last_ms)}: {missed.reason}"


def _shown(ms: int) -> str:
    return instant(ms).isoformat()


def _late(tick: Tick) -> str:
    return f"{tick.late_ms / 1000:.3f} s"
