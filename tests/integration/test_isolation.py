"""Handlers in processes of their own, and handlers that ignore everything: real processes, real signals."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from oncue import App, BadInput
from oncue.cli.stopperprocess import GRACE_S
from oncue.common.clock import monotonic_s
from oncue.common.task import TaskInfo
from oncue.worker.worker import Worker
from tests.support.fixtures import app_by_url
from tests.support.processes import Process, has_ended, words_of
from tests.support.product import app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually, pause

app = app_by_url()

Start = Callable[..., Process]
APP = """
import os, re, signal, sys, threading, time
import oncue
app = oncue.App()
once = {"max_attempts": 1}

@app.handler("isolated", isolation="process", keep_result_s=60, retry=once)
def isolated(task):
    if task.data == b"\\x00raw":
        return task.data + b"!"
    if task.data == "fail":
        raise LookupError("no such thing")
    if task.data == "snooze":
        raise oncue.Snooze(60)
    if task.data == "fail()":
        task.fail("said so")
    if task.data == "schedule":
        oncue.schedule_task(None, "from the child", queue="plain", id="made")
    if task.data == "exit":
        os._exit(7)
    if task.data == "hang":
        print("hangs in", os.getpid(), flush=True)
        # Inside C, with the interpreter's lock: nothing in this process can interrupt it.
        re.match("(a*)*b", "a" * 60)
    return {"pid": os.getpid(), "data": task.data, "attempt": task.attempt}

@app.handler("limited", isolation="process", timeout_s=0.5, retry=once)
def limited(task):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            time.sleep(100)
        except BaseException:
            pass

@app.handler("deaf")
def deaf(task):
    print("deaf has begun", flush=True)
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass

@app.handler("locked")
def locked(task):
    print("locked has begun", flush=True)
    # Inside C, with the interpreter's lock: no other thread of this process runs any more.
    re.match("(a*)*b", "a" * 60)

@app.handler("slow")
def slow(task):
    print("slow has begun", flush=True)
    threading.Event().wait()

@app.handler("plain")
def plain(task):
    pass
"""


@pytest.fixture
def start(run_oncue: Start, tmp_path: Path, valkey: RedisServer, namespace: str) -> Callable[..., Process]:
    (tmp_path / "shop.py").write_text(APP)

    def run(*words: str) -> Process:
        # By flags alone: what the children know they have been told, not found in the environment.
        given = ("--url", valkey.url, "--namespace", namespace, "--concurrency", "3", *words)
        process = run_oncue("worker", "shop:app", *given, cwd=tmp_path)
        process.wait_for_line("at work on")
        return process

    return run


def children(process: Process) -> list[psutil.Process]:
    """Those that run handlers."""
    return [child for child in process.children() if "oncue.worker.child" in words_of(child)]


def stopper(process: Process) -> psutil.Process:
    def look() -> psutil.Process | None:
        return next((one for one in process.children() if "stopperprocess" in " ".join(words_of(one))), None)

    return eventually(look)


def finished(app: App, task_id: str) -> TaskInfo:
    def look() -> TaskInfo | None:
        found = app.get(task_id)
        return found if found.state in ("done", "dead") else None

    return eventually(look, 20)


def test_an_isolated_handler_does_all_that_one_in_a_thread_does(start: Start, app: App) -> None:
    process = start()
    data: list[object] = [{"n": 1}, b"\0raw", "fail", "snooze", "fail()", "schedule"]
    ids = [app.schedule_task(None, one, "isolated") for one in data]
    result = finished(app, ids[0]).result
    assert (result["data"], result["attempt"]) == ({"n": 1}, 1)
    assert result["pid"] in {child.pid for child in children(process)}
    assert finished(app, ids[1]).result == b"\0raw!"
    error = finished(app, ids[2]).error
    assert error is not None
    assert (error["type"], error["message"]) == ("LookupError", "no such thing")
    assert 'raise LookupError("no such thing")' in error["traceback"]
    assert eventually(lambda: app.get(ids[3]).state == "delayed")
    assert app.get(ids[3]).attempts == 0
    assert (finished(app, ids[4]).error or {})["message"] == "said so"
    finished(app, ids[5])
    assert finished(app, "made").state == "done"


def test_children_are_kept_for_the_next_task_and_are_no_more_than_run_at_once(start: Start, app: App) -> None:
    process = start()
    ids = [app.schedule_task(None, n, "isolated") for n in range(40)]
    pids = {finished(app, task_id).result["pid"] for task_id in ids}
    assert 1 <= len(pids) <= 3
    assert len(children(process)) <= 3


def test_a_limit_kills_a_handler_that_ignores_everything(start: Start, app: App) -> None:
    start()
    task_id = app.schedule_task(None, 1, "limited")
    found = finished(app, task_id)
    assert (found.state, found.failed) == ("dead", 1)
    assert found.error is not None
    assert found.error["type"] == "TimedOut"
    assert "longer than its limit of 0.5 s, and was killed" in found.error["message"]
    own = app.schedule_task(None, "hang", "isolated", timeout_s=0.5)
    assert (finished(app, own).error or {})["type"] == "TimedOut"


def test_cancelling_a_running_task_kills_its_child_and_no_other(start: Start, app: App) -> None:
    process = start("--lease-s", "1.5")
    task_id = app.schedule_task(None, "hang", "isolated")
    child = psutil.Process(int(process.wait_for_line(r"hangs in (\d+)")[1]))
    other = app.schedule_task(None, "hang", "isolated")
    line = process.wait_for_line(rf"hangs in (?!{child.pid}\b)(\d+)")
    second = psutil.Process(int(line[1]))
    assert app.cancel(task_id) is False
    eventually(lambda: app.get(task_id).state == "cancelled", 10)
    assert not child.is_running()
    assert second.is_running()
    assert app.get(other).state == "leased"
    assert finished(app, app.schedule_task(None, 1, "isolated")).state == "done"


@pytest.mark.parametrize("how", ["exits", "is killed"])
def test_a_child_that_dies_fails_its_task_with_a_reason_and_no_other(
    start: Start, app: App, how: str
) -> None:
    process = start()
    task_id = app.schedule_task(None, "exit" if how == "exits" else "hang", "isolated")
    if how == "is killed":
        os.kill(int(process.wait_for_line(r"hangs in (\d+)")[1]), signal.SIGKILL)
    found = finished(app, task_id)
    assert (found.state, found.failed, found.lost) == ("dead", 1, 0)
    assert found.error is not None
    assert found.error["type"] == "ChildDied"
    words = "ended with exit code 7" if how == "exits" else "was killed by signal 9"
    assert words in found.error["message"]
    assert finished(app, app.schedule_task(None, 1, "isolated")).state == "done"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_children_end_with_their_worker_whatever_they_do(
    start: Start, app: App, number: signal.Signals
) -> None:
    process = start("--stop-timeout-s", "0.2")
    task_id = app.schedule_task(None, "hang", "isolated")
    child = psutil.Process(int(process.wait_for_line(r"hangs in (\d+)")[1]))
    os.kill(process.pid, number)
    process.wait()
    eventually(lambda: has_ended(child))
    if number == signal.SIGTERM:
        assert (app.get(task_id).state, app.get(task_id).attempts) == ("ready", 0)


def test_a_handler_that_ignores_everything_cannot_stop_a_worker_from_stopping(start: Start, app: App) -> None:
    process = start("--stop-timeout-s", "0.3")
    task_id = app.schedule_task(None, 1, "deaf")
    process.wait_for_line("deaf has begun")
    process.term()
    # The handler itself would go on for ever.
    assert process.wait() == 0
    assert (app.get(task_id).state, app.get(task_id).attempts) == ("ready", 0)


def test_a_handler_that_keeps_the_interpreter_cannot_stop_a_worker_from_stopping(
    start: Start, app: App
) -> None:
    process = start("--stop-timeout-s", "0.5")
    app.schedule_task(None, 1, "locked")
    process.wait_for_line("locked has begun")
    last_resort = stopper(process)
    began = monotonic_s()
    process.term()
    assert process.wait() == -signal.SIGKILL
    # By itself it would go on for longer than anybody waits.
    assert monotonic_s() - began >= 0.5
    process.wait_for_line("does not react")
    eventually(lambda: has_ended(last_resort))


def test_a_worker_that_stood_still_while_it_was_to_stop_is_not_killed_for_that(
    start: Start, app: App
) -> None:
    process = start("--stop-timeout-s", "0.2")
    task_id = app.schedule_task(None, 1, "deaf")
    process.wait_for_line("deaf has begun")
    process.term()
    process.wait_for_line("stopping")
    process.pause()
    pause(1.2)
    process.resume()
    assert process.wait() == 0
    assert (app.get(task_id).state, app.get(task_id).attempts) == ("ready", 0)


def test_a_second_signal_ends_a_worker_whose_handler_keeps_the_interpreter(start: Start, app: App) -> None:
    process = start("--stop-timeout-s", "600")
    app.schedule_task(None, 1, "locked")
    process.wait_for_line("locked has begun")
    process.term()
    # Two of the same signal are one while the first is pending; another number is not.
    process.child.send_signal(signal.SIGINT)
    assert process.wait() == -signal.SIGKILL


def test_signals_that_come_again_and_again_do_not_put_off_the_end(start: Start, app: App) -> None:
    process = start("--stop-timeout-s", "600")
    app.schedule_task(None, 1, "locked")
    process.wait_for_line("locked has begun")
    process.term()

    def ended() -> bool:
        process.child.send_signal(signal.SIGINT)
        return not process.running

    eventually(ended, 15, "its end")


def test_a_worker_that_still_hands_back_is_not_killed_for_that(
    start: Start, app: App, valkey: RedisServer
) -> None:
    process = start("--stop-timeout-s", "0.2")
    task_id = app.schedule_task(None, 1, "slow")
    process.wait_for_line("slow has begun")
    valkey.pause()
    try:
        process.term()
        process.wait_for_line("stopping")
        pause(GRACE_S + 1)
        assert process.running
    finally:
        valkey.resume()
    assert process.wait() == 0
    assert (app.get(task_id).state, app.get(task_id).attempts) == ("ready", 0)


def test_a_worker_whose_stopper_was_killed_stops_all_the_same(start: Start, app: App) -> None:
    process = start("--stop-timeout-s", "0.3")
    finished(app, app.schedule_task(None, 1, "plain"))
    last_resort = stopper(process)
    last_resort.kill()
    eventually(lambda: not last_resort.is_running(), what="the worker's notice of it")
    task_id = app.schedule_task(None, 1, "deaf")
    process.wait_for_line("deaf has begun")
    process.term()
    assert process.wait() == 0
    assert app.get(task_id).state == "ready"


def test_a_worker_that_has_run_nothing_has_no_stopper_and_the_stopper_ends_with_its_worker(
    start: Start, app: App
) -> None:
    process = start()
    assert process.children() == []
    finished(app, app.schedule_task(None, 1, "plain"))
    last_resort = stopper(process)
    process.kill()
    eventually(lambda: has_ended(last_resort))


def test_a_worker_without_children_refuses_such_a_handler(valkey: RedisServer, namespace: str) -> None:
    with opened(valkey, namespace) as store:
        app = app_on(store)
        app.handler("q", isolation="process")(print)
        with pytest.raises(BadInput, match="runs in a process of its own"):
            Worker(store, app.handlers)
