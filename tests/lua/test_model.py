"""Random walks beside a plain model: counts agree after every step, no task is lost, early or given twice, and when all
is finished and forgotten nothing is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from oncue.common.keys import page_of
from tests.lua.audit import audit, leftovers
from tests.lua.instants import KEEP, LEASE, NOW
from tests.lua.line import LONGEST, Line
from tests.lua.scripts import Lua
from tests.lua.tasks import Asked, Held, Task
from tests.lua.wander import CHANCE, step, wander
from tests.lua.ways import WAYS
from tests.support.servers import Server

QUEUES = ("a", "7.b")
ALLOWED_LOST = 1
LONG_WALKS = (1, 2)


@dataclass
class Known:
    """What the model knows of one task."""

    task: Task
    due: int
    state: str = "waiting"
    token: int = 0
    ends: int = 0
    lost: int = 0
    failed: int = 0
    throttled: int = 0
    forgotten_at: int = 0
    answered: str = ""
    attempts: int = 0
    wished: bool = False
    purged: bool = False
    expired: bool = False
    latest: int = 0
    claims: bool = False
    behind: str = ""
    is_redriven: bool = False

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has cancelled it: it has not expired, and was not purged."""
        return self.state == "cancelled" and not self.expired and not self.purged

    def is_dropped(self, now: int) -> bool:
        """Whether a reservation drops it, should it come upon it."""
        expired = self.attempts == 0 and 0 < self.task.expires < now
        return self.state == "waiting" and expired


@dataclass
class Model:
    tasks: dict[str, Known] = field(default_factory=dict)
    totals: dict[tuple[str, str], int] = field(default_factory=dict)

    def ended(self, known: Known, state: str) -> None:
        known.state = state
        key = known.task.queue, state
        self.totals[key] = self.totals.get(key, 0) + 1
        self.let_go(known)

    def lined_up(self, task: Task, behind: str) -> None:
        state = "blocked" if behind else "waiting"
        self.tasks[task.id] = Known(task, task.due, state, behind=behind)
        if behind:
            # If it was redriven, it is of the line again.
            self.tasks[behind].is_redriven = False

    def is_in_flight(self, task_id: str) -> bool:
        known = self.tasks.get(task_id)
        return known is not None and known.state in ("waiting", "leased", "blocked")

    def let_go(self, ended: Known) -> None:
        for known in self._behind(ended):
            known.state = "waiting"

    def passed_over(self, blocked: Known) -> None:
        """What stands behind it moves up in the line."""
        for known in self._behind(blocked):
            known.behind = blocked.behind

    def _behind(self, one: Known) -> list[Known]:
        return [
            known for known in self.tasks.values() if known.state == "blocked" and known.behind == one.task.id
        ]

    def numbers(self, queue: str) -> dict[str, int]:
        """Tasks by state; done and cancelled count all that there ever were."""
        numbers = {state: number for (name, state), number in self.totals.items() if name == queue}
        for known in self.tasks.values():
            if known.task.queue == queue and known.state in ("waiting", "blocked", "leased", "dead"):
                numbers[known.state] = numbers.get(known.state, 0) + 1
        return numbers


INSTANTS = (-5000, 0, 1, 999, 1000, 1000, 20_000, 61_000, 150_000, 150_000, 600_000)
PAUSES = (1, 499, 1000, 5000, LEASE, 60_000, 120_000)
BOTH = (True, False)


class ShardMachine(Line):
    """One shard, one clock, and a model of it."""

    server: Server
    namespaces = count()

    def __init__(self) -> None:
        super().__init__()
        self.lua = Lua(self.client(), f"model{next(self.namespaces)}")
        self.now = NOW
        self.model = Model()
        self.numbers = count()
        self.old: list[Held] = []
        self.line: list[str] = []

    @classmethod
    def client(cls) -> object:
        raise NotImplementedError

    # ---- producers

    @step(
        offset=INSTANTS,
        size=[1, 3, 9, 9, 12, 80],
        queue=QUEUES,
        band=[0, 5, 9],
    )
    def schedule(self, offset: int, size: int, queue: str, band: int) -> None:
        # Whole seconds, so that tasks of different calls share instants.
        self._schedule((self.now + offset) // 1000 * 1000, size, queue, band)

    @step(size=[9, 10, 14], late=range(1, 10), chance=CHANCE)
    def late_tasks_beside_a_bucket(self, size: int, late: int, chance: Random) -> None:
        """Of one instant, but scheduled when it is over and no scheduler has come yet; some are cancelled at once."""
        due = self.now + 1000
        self._schedule(due, size, "a", 5)
        self.now = due
        self._schedule(due, late, "a", 5)
        newest = [*self.model.tasks][-size - late :]
        self._cancel(chance.sample(newest, chance.randint(0, size)))

    def _schedule(self, due: int, size: int, queue: str, band: int) -> None:
        new = [Task(f"t:{next(self.numbers)}", due, queue, band) for _ in range(size)]
        call = self.lua.schedule(self.now, *new)
        assert call.run() == [1] * size
        assert call.run() == [0] * size
        for task in new:
            self.model.tasks[task.id] = Known(task, due)

    @step(number=range(3), offset=INSTANTS, queue=QUEUES)
    def schedule_chosen_id(self, number: int, offset: int, queue: str) -> None:
        nonce = next(self.numbers).to_bytes(8, "big")
        task = Task(f"mine:{number}", max(0, self.now + offset), queue, 5, b"x", nonce)
        before = self.model.tasks.get(task.id)
        expected = 1 if not self._is_there(task.id) else -1 if before and before.state == "dead" else 0
        assert self.lua.schedule_alone(self.now, task) == expected
        if expected == 1:
            self.model.tasks[task.id] = Known(task, task.due)

    def _is_there(self, task_id: str) -> bool:
        """Whether an id is in use, so that no other task can have it."""
        known = self.model.tasks.get(task_id)
        return known is not None and known.state in ("waiting", "leased", "dead")

    @step(number=range(2), offset=INSTANTS, life=[0, 1, 1000, 70_000])
    def schedule_what_expires(self, number: int, offset: int, life: int) -> None:
        due = max(self.now, self.now + offset)
        task = Task(f"t:{next(self.numbers)}", due, QUEUES[number], 5, b"x", b"12345678", due + life)
        assert self.lua.schedule_alone(self.now, task) == 1
        self.model.tasks[task.id] = Known(task, task.due)

    @step(key="xy", offset=INSTANTS, wait=[0, 5000, 200_000])
    def debounce(self, key: str, offset: int, wait: int) -> None:
        number = next(self.numbers)
        due = max(0, self.now + offset)
        task = Task(f"d:{number}", due, "a", 5, b"x", number.to_bytes(8, "big"), 0, b"da:" + key.encode())
        pending = [
            known
            for known in self.model.tasks.values()
            if known.task.claim == task.claim and known.state == "waiting" and known.claims
        ]
        found = self.lua.debounced(self.now, task, wait)
        assert self.lua.debounced(self.now, task, wait) == found
        if pending:
            (known,) = pending
            assert found == known.task.id
            # A retry keeps its back-off.
            earliest = known.due if known.attempts else 0
            known.due, known.task = max(min(due, known.latest), earliest), task._replace(id=found)
        else:
            assert found == task.id
            for known in self.model.tasks.values():
                known.claims = known.claims and known.task.claim != task.claim
            latest = self.now + wait if wait else 1 << 47
            self.model.tasks[found] = Known(task, min(due, latest), latest=latest, claims=True)

    @step(
        key="xy",
        mine=[None, 0, 1, 2],
        offset=INSTANTS,
        running=BOTH,
        hold=[0, 0, 90_000],
    )
    def unique(self, key: str, mine: int | None, offset: int, running: bool, hold: int) -> None:
        number = next(self.numbers)
        due = max(0, self.now + offset)
        task_id = f"u:{number}" if mine is None else f"mine:{mine}"
        task = Task(task_id, due, "a", 5, b"x", number.to_bytes(8, "big"), 0, b"ua:" + key.encode())
        states = {"waiting", *(("leased",) if running else ())}
        holders = [
            known
            for known in self.model.tasks.values()
            if known.task.claim == task.claim
            and known.claims
            and (known.state in states or (known.state in ("leased", "done") and known.latest > self.now))
        ]
        call = self.lua.unique(self.now, task, "running" if running else "waiting", hold and self.now + hold)
        found = call.run().decode()
        made = "" if self._is_there(task.id) else task.id
        assert found == call.run().decode() == (holders[0].task.id if holders else made)
        if not holders and made:
            for known in self.model.tasks.values():
                known.claims = known.claims and known.task.claim != task.claim
            self.model.tasks[found] = Known(task, due, latest=hold and self.now + hold, claims=True)

    def _some(self, chance: Random, most: int) -> list[str]:
        """Tasks, some of them perhaps twice."""
        return chance.choices(sorted(self.model.tasks), k=chance.randint(0, most))

    @step(chance=CHANCE, recent=BOTH)
    def cancel(self, chance: Random, recent: bool) -> None:
        if not self.model.tasks:
            return
        # The newest are often beside others of their instant.
        ids = [*self.model.tasks][-9:] if recent else sorted(self.model.tasks)
        self._cancel(chance.choices(ids, k=chance.randint(1, 12)))

    def _cancel(self, ids: list[str]) -> None:
        for task_id in ids:
            known = self.model.tasks[task_id]
            expected = "cancelled" if known.state in ("waiting", "blocked") else known.state
            assert self.lua.cancel_wherever(self.now, task_id) == expected
            if known.state == "leased":
                known.wished = True
            if known.state == "blocked":
                self.model.passed_over(known)
            if known.state in ("waiting", "blocked"):
                self._cancelled(known)

    @step(chance=CHANCE, offset=INSTANTS)
    def reschedule(self, chance: Random, offset: int) -> None:
        if not self.model.tasks:
            return
        due = max(0, self.now + offset) // 1000 * 1000
        for task_id in self._some(chance, 12):
            known = self.model.tasks[task_id]
            expires = 0 if known.attempts else known.task.expires
            expected = "moved" if known.state == "waiting" else known.state
            if known.state == "waiting" and 0 < expires < due:
                expected = f"expires:{expires}"
            assert self.lua.reschedule_wherever(self.now, task_id, due) == expected
            if expected == "moved":
                known.due = due

    @step(chance=CHANCE, into=["", *QUEUES])
    def redrive(self, chance: Random, into: str) -> None:
        if not self.model.tasks:
            return
        for task_id in self._some(chance, 8):
            known = self.model.tasks[task_id]
            call = self.lua.redrive(self.now, known.task, into=into)
            (answer,) = call.run()
            assert (answer == b"ready") or known.state != "dead"
            if known.state == "dead":
                assert call.run() == [b"ready"]
                stays = into in ("", known.task.queue)
                task = known.task._replace(queue=into or known.task.queue, expires=0)
                task = task if stays else task._replace(claim=b"")
                claims = known.claims and stays
                new = Known(task, self.now, latest=known.latest, claims=claims, is_redriven=True)
                self.model.tasks[task_id] = new

    @step(chance=CHANCE)
    def purge(self, chance: Random) -> None:
        if not self.model.tasks:
            return
        for task_id in self._some(chance, 4):
            self._purge(task_id)

    def _purge(self, task_id: str) -> None:
        known = self.model.tasks[task_id]
        was_purged = known.state == "cancelled" and known.purged
        assert self.lua.purge(self.now, task_id).run() == [int(known.state == "dead" or was_purged)]
        if known.state == "dead":
            known.forgotten_at, known.purged = self.now + KEEP, True
            self.model.ended(known, "cancelled")

    @step(number=range(1, 4))
    def trim(self, number: int) -> None:
        self.lua.trim(self.now, number=number).run()
        for task_id, known in self.model.tasks.items():
            if known.state == "dead" and self.lua.states(self.now, task_id) == ["cancelled"]:
                known.forgotten_at, known.purged = self.now + KEEP, True
                self.model.ended(known, "cancelled")
        dead = sum(known.state == "dead" for known in self.model.tasks.values())
        assert dead <= number

    @step(pause=PAUSES)
    def time_passes(self, pause: int) -> None:
        self.now += pause

    # ---- schedulers

    @step(ahead=BOTH, whole=BOTH)
    def open_pages(self, ahead: bool, whole: bool) -> None:
        for member, at in self.lua.timetable().items():
            if member[:1] == b"p" and (ahead or at <= self.now):
                if whole:
                    self.lua.open_whole_page(self.now, int(member[1:]))
                else:
                    needs, _ = self.lua.open_page(self.now, int(member[1:]), most=5).run()
                    self.lua.open_page(self.now, int(member[1:]), *needs, most=5).run()

    @step(whole=BOTH, queue=QUEUES)
    def promote(self, whole: bool, queue: str) -> None:
        if whole:
            self.lua.promote_due(self.now)
        else:
            self.lua.promote(self.now, [(queue, 5), (queue, 9)]).run()

    @step()
    def reclaim(self) -> None:
        leases = [member for member in self.lua.timetable() if member[:1] == b"l"]
        self.lua.reclaim(self.now, *leases, allowed=ALLOWED_LOST).run()
        for known in self.model.tasks.values():
            if known.state == "leased" and known.ends <= self.now:
                known.lost += 1
                known.answered, known.token = "", 0
                if known.wished:
                    self._cancelled(known)
                else:
                    known.state = "waiting" if known.lost <= ALLOWED_LOST else "dead"
                    if known.state == "dead":
                        self.model.let_go(known)

    @step()
    def guard_and_sweep(self) -> None:
        self.lua.guard(self.now, *QUEUES).run()
        self.lua.sweep(self.now, 100_000).run()
        for task_id, known in [*self.model.tasks.items()]:
            if known.state in ("done", "cancelled") and known.forgotten_at <= self.now:
                if (
                    known.claims
                    and known.task.claim[:1] == b"u"
                    and known.state == "done"
                    and known.latest > self.now
                ):
                    # Remembered on, for as long as it holds its key.
                    known.forgotten_at = known.latest
                else:
                    del self.model.tasks[task_id]

    # ---- workers

    @step(most=[1, 5, 40], most_bytes=[0, 300, 1 << 20])
    def reserve(self, most: int, most_bytes: int) -> None:
        asked = [Asked(queue, weight) for queue, weight in zip(QUEUES, (3, 1), strict=True)]
        got = self.lua.take(self.now, *asked, most=most, most_bytes=most_bytes)
        self._given(got.tasks)
        if got.needs and not got.tasks:
            got = self.lua.take(self.now, *asked, most=most, most_bytes=most_bytes, segments=got.needs)
            self._given(got.tasks)

    def _dropped(self) -> None:
        """Learns which tasks the last reservations have dropped, among those that they should."""
        may = [known for known in self.model.tasks.values() if known.is_dropped(self.now)]
        states = self.lua.states(self.now, *(known.task.id for known in may))
        for known, state in zip(may, states, strict=True):
            if state == "cancelled":
                self._cancelled(known)
                known.expired = True
                key = known.task.queue, "expired"
                self.model.totals[key] = self.model.totals.get(key, 0) + 1

    def _cancelled(self, known: Known) -> None:
        known.forgotten_at = self.now + KEEP
        self.model.ended(known, "cancelled")

    def _given(self, given: list[Held]) -> None:
        self._dropped()
        for held in given:
            known = self.model.tasks[held.id]
            assert known.state == "waiting", f"{held.id} was given twice"
            assert known.due <= self.now, f"{held.id} was given early"
            assert not known.is_dropped(self.now), f"{held.id} was given, and ought not to run any more"
            counted = held.attempts, held.failed, held.lost, held.throttled, held.due
            assert counted == (known.attempts, known.failed, known.lost, known.throttled, known.due)
            known.state, known.token, known.ends = "leased", held.token, self.now + LEASE
            known.answered = ""
            known.attempts += 1
            self.old.append(held)
        # In a long walk nearly all tokens would be of tasks that ended long ago.
        del self.old[:-200]

    @step(chance=CHANCE, op=sorted(WAYS), delay=INSTANTS)
    def answer(self, chance: Random, op: str, delay: int) -> None:
        # Most leases are over long since: half of the answers are for one that goes on.
        among = chance.choice([self.old, [held for held in self.old if self._is_in_hand(held)]])
        for held in chance.sample(among, min(len(among), chance.randint(0, 8))):
            self._answer(held, op, max(0, self.now + delay))

    def _is_in_hand(self, held: Held) -> bool:
        known = self.model.tasks.get(held.id)
        return known is not None and known.state == "leased" and known.token == held.token

    def _answer(self, held: Held, op: str, due: int) -> None:
        known = self.model.tasks.get(held.id)
        mine = known is not None and known.token == held.token
        way = WAYS[op]
        call = way.call(self.lua, self.now, due, held)
        if not known or not mine or known.state != "leased":
            repeated = mine and known is not None and known.state == known.answered == way.state
            # What was to wait again may have been cancelled by now, or have ended so at once.
            repeated |= (
                mine and way.state in ("waiting", "cancelled") and known is not None and known.is_cancelled
            )
            assert call.run() == [int(repeated)]
            return
        assert call.run() == [*way.first]
        assert call.run() == [1]
        known.answered = way.state
        if way.state == "done":
            known.forgotten_at = self.now + KEEP
            self.model.ended(known, "done")
            return
        if way.state == "cancelled" or (known.wished and way.state == "waiting"):
            self._cancelled(known)
            return
        known.state = way.state
        known.failed += way.counted == "failed"
        known.throttled += way.counted == "throttled"
        known.attempts -= not way.is_attempt
        known.due = due if way.is_for_due else known.due
        if known.state == "dead":
            self.model.let_go(known)

    @step()
    def renew(self) -> None:
        held = self.old[-5:]
        mine = [self.model.tasks.get(task.id) for task in held]
        leased = [
            known is not None and known.state == "leased" and known.token == task.token
            for known, task in zip(mine, held, strict=True)
        ]
        wished = [
            is_held and known is not None and known.wished
            for is_held, known in zip(leased, mine, strict=True)
        ]
        expected = [is_held + is_wished for is_held, is_wished in zip(leased, wished, strict=True)]
        assert self.lua.renew(self.now, *held).run() == expected
        for known, is_held in zip(mine, leased, strict=True):
            if known and is_held:
                known.ends = self.now + LEASE

    # ---- what always holds

    @invariant()
    def all_adds_up(self) -> None:
        audit(self.lua, self.now)
        for queue in QUEUES:
            counts = self.lua.counts(queue)
            waiting = counts.pop("delayed", 0) + counts.pop("ready", 0)
            if waiting:
                counts["waiting"] = waiting
            assert counts == {state: number for state, number in self.model.numbers(queue).items() if number}

    @invariant()
    def nothing_that_is_due_is_beyond_the_schedulers(self) -> None:
        """Whoever is armed for the first instant of the timetable sees every due task in time."""
        timetable = self.lua.timetable()
        first = min(timetable.values(), default=None)
        armed = self.lua.client.get(self.lua.keys.armed)
        assert first is None or (armed is not None and int(armed) <= max(first, self.now))

    def teardown(self) -> None:
        # After a walk that lost a task, waiting for it would never end.
        for _ in range(12 + LONGEST):
            self.now += 400_000
            self.open_pages(ahead=False, whole=True)
            self.lua.promote_due(self.now)
            self.reclaim()
            held = self.lua.take_all(self.now, *map(Asked, QUEUES))
            self._given(held)
            for task in held:
                self._answer(task, "complete", 0)
        assert not [task_id for task_id in self.model.tasks if self.model.is_in_flight(task_id)]
        self.all_adds_up()
        self.forget_the_line()
        self._nothing_is_left()

    def _nothing_is_left(self) -> None:
        self.lua.take_all(self.now, *map(Asked, QUEUES))
        for _ in range(5):
            self.now += KEEP + 5000
            self.guard_and_sweep()
        self.open_pages(ahead=True, whole=True)
        self.lua.promote_due(self.now)
        self.guard_and_sweep()
        self.lua.guard(self.now + 500, *QUEUES).run()
        dead = {task_id.encode() for task_id, known in self.model.tasks.items() if known.state == "dead"}
        kept = {b"dead", b"dead_bytes", b"errors", b"records", b"runs"} if dead else set()
        # What a scheduler does at the instant at which it was to look at the dead: without bounds it need not come again.
        self.lua.trim(self.now).run()
        assert leftovers(self.lua) - {b"claims"} == kept
        holders = {claim[6:] for claim in self.lua.client.hgetall(self.lua.keys.claims).values()}
        assert holders <= dead
        for key in (self.lua.keys.records, self.lua.keys.runs):
            assert set(self.lua.client.hkeys(key)) == dead
        self.lua.client.delete(*(self.lua.keys.prefix + name for name in self.lua.names() or {b"none"}))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_walk_through_the_states_loses_or_doubles_a_task(valkey: Server, namespace: str) -> None:
    client = valkey.client()

    class Machine(ShardMachine):
        @classmethod
        def client(cls) -> object:
            return client

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=100,
            stateful_step_count=35,
            deadline=None,
            # Shrinking replays hundreds of walks: longer than a test may take.
            phases=[Phase.reuse, Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_long_life_of_a_shard_loses_or_doubles_a_task(valkey: Server, namespace: str) -> None:
    client = valkey.client()

    class Machine(ShardMachine):
        @classmethod
        def client(cls) -> object:
            return client

    for seed in LONG_WALKS:
        machine = Machine()
        wander(machine, seed, 2500, ("all_adds_up", "nothing_that_is_due_is_beyond_the_schedulers"))
        machine.teardown()


def test_pages_of_the_model_are_some_minutes_apart() -> None:
    assert page_of(NOW + 600_000) - page_of(NOW) == 10
