"""P23: whatever somebody else has written into the store is never executed, and stops nobody."""

from __future__ import annotations

import ast
import logging
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oncue import App, NewTask, NotFound, Task
from oncue.common import record
from oncue.common.configtypes import ScheduleConfig
from oncue.common.keys import Keys, page_of
from oncue.common.store import Store
from oncue.scheduler.definition import HASH_BYTES
from oncue.scheduler.schedules import apply
from oncue.scheduler.unread import PATIENCE_MS
from tests.support.product import MINUTE_MS, START_MS, FixedClock, Hands, Passes, app_on, at, opened, running
from tests.support.servers import Server
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
MARK = Path("executed-by-a-test-of-oncue")
QUEUE = "default"


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (MARK,)


HOSTILE = {
    "pickle 0": pickle.dumps(Bomb(), 0),
    "pickle 5": pickle.dumps(Bomb(), 5),
    "yaml": b"!!python/object/apply:os.system ['touch executed-by-a-test-of-oncue']",
    "nothing": b"",
    "one byte": b"\x10",
    "three bytes": b"abc",
    "zeros": bytes(40),
    "ones": b"\xff" * 40,
    "a reference to nowhere": b"=1:5:nowhere",
    "a broken reference": b"=:::",
    "deep": b"[" * 5000,
}


@pytest.fixture(autouse=True)
def _nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not MARK.exists()


@pytest.fixture
def keys(store: Store) -> Keys:
    return store.shard(QUEUE).keys


@pytest.fixture
def put(server: Server) -> Iterator[Callable[..., Any]]:
    """Send any command, past the product."""
    client = server.client()
    yield client.execute_command
    client.close()


def entry(task_id: str, stored: bytes) -> bytes:
    """The entry that goes with a record: it repeats the placement number, where there is one."""
    return task_id.encode() + stored[1:5].ljust(4, b"\0")


def test_entries_that_name_no_task_are_passed_over(
    app: App, hands: Callable[..., Hands], put: Callable[..., Any], keys: Keys
) -> None:
    app.schedule_task(at(-1), "good")
    for hostile in HOSTILE.values():
        put("LPUSH", keys.ready(QUEUE, 5), hostile)
        put("RPUSH", keys.ready(QUEUE, 5), hostile)
    worker = hands()
    taken = [task.data for _ in range(len(HOSTILE)) for task in worker.reserve()]
    assert taken == ["good"]
    assert put("LLEN", keys.ready(QUEUE, 5)) == 0


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("whole_header", [False, True], ids=["as the record", "as its data"])
def test_a_task_whose_record_cannot_be_read_goes_among_the_dead_with_the_reason(
    app: App,
    hands: Callable[..., Hands],
    put: Callable[..., Any],
    keys: Keys,
    hostile: bytes,
    whole_header: bool,
) -> None:
    stored = record.pack(START_MS, 5, QUEUE, (hostile, False)) if whole_header else hostile
    put("HSET", keys.records, "bad", stored)
    put("RPUSH", keys.ready(QUEUE, 5), entry("bad", stored))
    put("HSET", keys.bands, QUEUE, 1 << 5)
    app.schedule_task(at(-1), "good")
    worker = hands()
    assert [task.data for task in worker.reserve()] == ["good"]
    assert [outcome.task.id for outcome in worker.unreadable] == ["bad"]
    assert worker.bury_unreadable() == [1]
    found = app.get("bad")
    assert (found.state, found.data) == ("dead", None)
    assert found.error is not None
    assert "cannot be read" in found.error["message"]
    assert put("ZSCORE", keys.dead, "bad") is not None


def test_a_record_of_another_queue_in_this_queues_list_is_buried_here(
    app: App, store: Store, hands: Callable[..., Hands], put: Callable[..., Any], keys: Keys
) -> None:
    stored = record.pack(START_MS, 5, "other", (b"1", False))
    put("HSET", keys.records, "stray", stored)
    put("RPUSH", keys.ready(QUEUE, 5), entry("stray", stored))
    put("HSET", keys.bands, QUEUE, 1 << 5)
    worker = hands()
    assert worker.reserve() == []
    assert worker.bury_unreadable() == [1]
    assert put("ZCARD", keys.timetable) in (
        0,
        1,
    )  # the guard of the queue's wake-up at most: no lease is left
    assert "other" not in store.counts()


# A pickle of protocol 0 begins with the letter of a state, so it is a run, if a strange one.
@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - {"pickle 0"}))
def test_a_run_that_cannot_be_read_is_as_none(
    app: App, hands: Callable[..., Hands], put: Callable[..., Any], keys: Keys, name: str
) -> None:
    hostile = HOSTILE[name]
    put("HSET", keys.runs, "mine", hostile)
    app.schedule_task(at(-1), "good", id="mine")
    put("HSET", keys.runs, "mine", hostile)
    assert app.get("mine").state == "ready"
    worker = hands()
    (task,) = worker.reserve()
    put("HSET", keys.runs, "mine", hostile)
    assert worker.complete(task) == worker.renew(task) == [0]


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_whatever_stands_under_an_id_a_question_about_it_is_answered(
    app: App, put: Callable[..., Any], keys: Keys, hostile: bytes
) -> None:
    for field in (keys.records, keys.runs, keys.errors):
        app.schedule_task(at(90_000), "good", id="asked")
        put("HSET", field, "asked", hostile)
        put("HSET", keys.errors, "asked", hostile)
        for look in (app.get, app.cancel):
            try:
                look("asked")
            except NotFound:
                assert field != keys.errors
        for each in (keys.records, keys.runs, keys.errors):
            put("HDEL", each, "asked")


def test_a_page_and_a_bucket_with_foreign_entries_are_opened_and_promoted(
    app: App,
    clock: FixedClock,
    passes: Passes,
    hands: Callable[..., Hands],
    put: Callable[..., Any],
    keys: Keys,
) -> None:
    far, near = START_MS + 10 * MINUTE_MS, START_MS + 30_000
    app.schedule_many([NewTask(near / 1000, n) for n in range(70)])
    app.schedule_task(far / 1000, "far")
    for name, hostile in HOSTILE.items():
        put("HSET", keys.records, f"x{len(name)}", hostile)
        for task_entry in (hostile, entry(f"x{len(name)}", hostile)):
            put("LPUSH", keys.page(page_of(far)), task_entry)
            put("LPUSH", keys.bucket(near, 5, QUEUE), task_entry)
    worker, taken = hands(), []
    for instant in (near, far - 60_000 - MINUTE_MS, far):
        clock.ms = max(clock.ms, instant)
        passes()
        for _ in range(4):
            tasks = worker.reserve()
            taken += [task.data for task in tasks]
            worker.complete(*tasks)
            worker.bury_unreadable()
    assert Counter(taken) == Counter([*range(70), "far"])
    assert passes() is None or (passes() or 0) > clock.ms


MEMBERS = [
    *HOSTILE.values(),
    b"+",
    b"+\x00\x00\x00\x005default",
    b"+\x00\x00\x00\x00xdefault:id",
    b"+\x00\x00\x00\x005\xff\xfe:id",
    b"=x:5:default",
    b"=1:55:default",
    b"=1:5:{default}",
    b"p",
    b"p-1",
    b"pabc",
    b"l5default",
    b"lxdefault:id",
    b"t",
    b"t\xff",
    b"tbad name",
    b"g",
    b"g{x}",
    b"ff",
    b"f ",
    b"?unknown",
]


@pytest.mark.parametrize(
    "score", ["0", "-1.5", "-inf", str(START_MS - 1), str(START_MS + 500) + ".25", "inf"]
)
def test_a_timetable_with_foreign_members_is_worked_through_and_hides_nothing(
    app: App,
    clock: FixedClock,
    passes: Passes,
    hands: Callable[..., Hands],
    put: Callable[..., Any],
    keys: Keys,
    caplog: pytest.LogCaptureFixture,
    score: str,
) -> None:
    for member in MEMBERS:
        put("ZADD", keys.timetable, score, member)
    for n in range(70):  # more than the head shows at once
        put("ZADD", keys.timetable, score, f"?unknown-{n}")
    apply(app.store, [ScheduleConfig("beat", "* * * * *", "UTC", QUEUE, "tick")], "test")
    app.schedule_task(at(1000), "good")
    clock.pass_ms(1000)
    passes()
    worker = hands()
    (task,) = worker.reserve()
    assert task.data == "good"
    worker.complete(task)
    assert passes() == START_MS + MINUTE_MS
    clock.ms = START_MS + MINUTE_MS
    passes()
    assert [task.data for task in worker.reserve()] == ["tick"]
    if score != "inf":
        assert "taken out of the timetable, since nobody can read it: " in caplog.text
        assert "put off by a minute in the timetable, since its kind is unknown: " in caplog.text
        assert len(caplog.records) < 10
        left = set(put("ZRANGE", keys.timetable, 0, -1))
        assert not left & {member for member in MEMBERS if member and member[:1] in b"+=pltgf"}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize(
    "hostile",
    [
        *HOSTILE.values(),
        b'{"cron":"* * * * *"}',
        b'{"cron":"0 0 31 2 *","timezone":"UTC","queue":"default","data":1,"priority":5,"source":""}',
        b'{"cron":"* * * * *","timezone":"Mars/Base","queue":"default","data":1,"priority":5,"source":""}',
        b'{"cron":"* * * * *","timezone":"../../etc/passwd","queue":"default","data":1,"priority":5,"source":""}',
        b'{"cron":"* * * * *","timezone":"UTC","queue":"{x}","data":1,"priority":5,"source":""}',
        b'{"cron":"* * * * *","timezone":"UTC","queue":"default","data":1,"priority":-1,"source":""}',
        b'{"cron":"* * * * *","timezone":"UTC","queue":"default","data":' + b"[" * 5000,
    ],
)
def test_a_stored_schedule_that_is_nonsense_makes_way_and_the_others_fire(
    app: App,
    clock: FixedClock,
    passes: Passes,
    hands: Callable[..., Hands],
    put: Callable[..., Any],
    keys: Keys,
    caplog: pytest.LogCaptureFixture,
    hostile: bytes,
    hashed: bool,
) -> None:
    text = b"0" * HASH_BYTES + hostile if hashed else hostile
    put("HSET", keys.schedules, "bad", text)
    put("ZADD", keys.timetable, START_MS + MINUTE_MS, "tbad")
    put("HSET", keys.schedules, b"\xff\xfe", text)
    apply(app.store, [ScheduleConfig("good", "* * * * *", "UTC", QUEUE, "tick")], "test")
    clock.ms = START_MS + MINUTE_MS
    passes()
    assert [task.data for task in hands().reserve()] == ["tick"]
    assert put("ZSCORE", keys.timetable, "tbad") == START_MS + MINUTE_MS
    clock.pass_ms(PATIENCE_MS)
    passes()
    assert put("ZSCORE", keys.timetable, "tbad") == clock.ms + MINUTE_MS
    assert put("HGET", keys.schedules, "bad") == text
    assert caplog.text.count("schedule bad cannot be read here and is left to other schedulers") == 1
    assert caplog.text.count("schedule bad is invalid") == 1


def test_foreign_values_in_the_bookkeeping_stop_nothing(
    app: App,
    store: Store,
    clock: FixedClock,
    passes: Passes,
    hands: Callable[..., Hands],
    put: Callable[..., Any],
    keys: Keys,
) -> None:
    worker = hands(QUEUE, "second")
    for hostile in HOSTILE.values():
        put("SET", keys.armed, hostile)
        put("HSET", keys.bands, QUEUE, hostile)
        put("HSET", keys.served, QUEUE, hostile, "", hostile)
        put("HSET", keys.stale, f"=%d:5:{QUEUE}" % (clock.ms + 1000), hostile)
        put("RPUSH", keys.finished, hostile)
        put("ZADD", keys.timetable, clock.ms, "f")
        put("RPUSH", keys.wake(QUEUE), hostile)
        app.schedule_many([NewTask((clock.ms + 1000) / 1000, n) for n in range(70)])
        clock.pass_ms(1000)
        passes()
        taken = [task for _ in range(3) for task in worker.reserve(50)]
        assert len(taken) == 70
        worker.complete(*taken)
    clock.pass_ms(store.keep_finished_ms + 10_000)
    for _ in range(10):
        passes()
    assert put("HLEN", keys.runs) == 0


def test_threads_live_through_all_of_it_at_once(
    server: Server, namespace: str, put: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    runs: Counter[Any] = Counter()

    def handler(task: Task) -> None:
        runs[task.data] += 1

    with opened(server, namespace, shards=server.shards) as store:
        keys, app = store.shard(QUEUE).keys, app_on(store)
        with running(store, handlers={QUEUE: handler}, schedulers=2, workers=2) as (schedulers, workers):
            for n, hostile in enumerate(HOSTILE.values()):
                put("HSET", keys.records, f"bad{n}", hostile)
                put("RPUSH", keys.ready(QUEUE, 5), hostile, entry(f"bad{n}", hostile))
                put("RPUSH", keys.wake(QUEUE), hostile)
                put("XADD", keys.notify, "*", hostile, hostile)
                put("HSET", keys.schedules, hostile, hostile)
                now = store.now_ms(QUEUE)
                for score in (0, now, "-inf", "inf"):
                    for member in MEMBERS:
                        put("ZADD", keys.timetable, score, member)
                app.schedule_task(None, f"now {n}")
                app.schedule_task((now + 100) / 1000, f"soon {n}")
                eventually(lambda n=n: runs[f"now {n}"] and runs[f"soon {n}"], 10, f"round {n}")  # type: ignore[misc]
            eventually(lambda: put("ZCARD", keys.dead) == len(HOSTILE), 10, "the unreadable among the dead")
            assert all(scheduler.alive() for scheduler in schedulers)
            assert all(worker.alive() for worker in workers)
    assert set(runs.values()) == {1}
    assert not [entry for entry in caplog.records if entry.exc_info], caplog.text
    assert logging.ERROR in {entry.levelno for entry in caplog.records}


def test_no_source_of_the_product_can_execute_what_it_reads() -> None:
    folders = ("oncue", "common", "scheduler", "worker", "web")
    files = {path.resolve() for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert len(files) > 40
    forbidden = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "yaml"}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names: set[str] = set()
            if isinstance(node, ast.Import):
                names = {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {(node.module or "").partition(".")[0]}
            assert not names & forbidden, f"{path}:{node.lineno} imports {names & forbidden}"  # type: ignore[attr-defined]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "compile", "__import__"}, f"{path}:{node.lineno}"
