"""`oncue scheduler` and `oncue worker` as processes: their start, their signals, their words to the service manager."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.ports import free_port
from oncue import App
from tests.support.commands import Manager, ended
from tests.support.fixtures import app_by_url
from tests.support.processes import Process
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

app = app_by_url()

Start = Callable[..., Process]
APP = """
import threading
import oncue
app = oncue.App()

@app.handler("emails")
def email(task):
    print("email", task.data, flush=True)

@app.handler("endless")
def endless(task):
    print("endless has begun", flush=True)
    threading.Event().wait()

@app.handler("chain")
def chain(task):
    oncue.schedule_task(None, "by oncue.schedule_task", queue="emails")
"""
RSS_MOST = 45 * 1024 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APP)
    return tmp_path


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    found = Manager(tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize("words", [("scheduler",), ("worker", "shop:app")])
def test_a_role_says_when_it_is_ready_and_that_it_stops(
    run_oncue: Start, folder: Path, env: dict[str, str], manager: Manager, words: tuple[str, ...]
) -> None:
    watchdog = {"WATCHDOG_USEC": "200000"}
    process = run_oncue(*words, env={**env, **manager.env, **watchdog}, cwd=folder)
    manager.wait_for("READY=1")
    manager.wait_for("WATCHDOG=1")
    assert process.rss_bytes() < RSS_MOST
    process.term()
    # A wait that nothing ends but its own time would take a minute.
    assert process.wait() == 0
    manager.wait_for("STOPPING=1")
    assert (manager.heard("EXTEND_TIMEOUT_USEC=") or "").endswith("000000")


@pytest.mark.parametrize("words", [("scheduler",), ("worker", "shop:app")])
def test_a_server_that_is_away_is_waited_for(
    run_oncue: Start, folder: Path, manager: Manager, words: tuple[str, ...]
) -> None:
    port = free_port()
    process = run_oncue(*words, "--url", f"redis://127.0.0.1:{port}/0", env=dict(manager.env), cwd=folder)
    assert "127.0.0.1" in manager.wait_for("STATUS=waiting for the server")
    assert manager.heard("READY=1") is None
    directory = folder / "server"
    directory.mkdir()
    with RedisServer("valkey", directory, port=port):
        manager.wait_for("READY=1")
    manager.wait_for("STATUS=degraded")
    with RedisServer("valkey", directory, port=port):
        manager.wait_for("STATUS=at work")
        process.wait_for_line("is back")
        process.term()
        assert process.wait() == 0
    assert "Traceback" not in process.output


def test_a_role_that_waits_for_its_server_leaves_at_once(run_oncue: Start) -> None:
    process = run_oncue("scheduler", "--url", f"redis://127.0.0.1:{free_port()}/0")
    process.wait_for_line("cannot be reached or is not ready .*; trying again in")
    process.term()
    assert process.wait() == 0


@pytest.mark.parametrize("words", [("scheduler",), ("worker", "shop:app")])
def test_a_wrong_server_is_one_sentence_and_code_2(
    run_oncue: Start, folder: Path, words: tuple[str, ...]
) -> None:
    directory = folder / "server"
    directory.mkdir()
    with RedisServer("valkey", directory, config={"maxmemory-policy": "allkeys-lru"}) as server:
        end = ended(run_oncue, *words, env={"ONCUE_URL": server.url}, cwd=folder)
    assert end.code == 2
    assert end.output.startswith("oncue: the server at 127.0.0.1:")
    assert end.output.count("\n") == 1
    assert "has maxmemory-policy allkeys-lru and would drop waiting tasks" in end.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nowhere:app",), "there is no module nowhere"),
        (("shop",), "found 'shop'; give MODULE:APP"),
        (("shop:nothing",), "shop has no nothing: give shop:app"),
        (("shop:threading",), "shop:threading is a module, not an oncue.App: give shop:app"),
        (
            ("shop:app", "--queues", "emails,nobody"),
            "no handler for nobody; the app has: chain, emails, endless",
        ),
        (("broken:app",), "broken.py:2: ZeroDivisionError: division by zero"),
        (("slip:app",), "slip.py:1: SyntaxError"),
        (("empty:app",), "the app has no handlers"),
        (
            ("shop:app", "--concurrency", "none"),
            "--concurrency: found the text 'none'; allowed: a whole number",
        ),
        (("shop:app", "--config", "wrong.yaml"), "wrong.yaml:1:1: lease: unknown key"),
        (("shop:app", "--log-level", "loud"), "--log-level: found 'loud'; allowed: debug, info"),
        (("shop:app", "--url", "redis://:hunter2@"), "oncue: "),
    ],
)
def test_a_worker_that_cannot_work_says_why_in_one_line(
    run_oncue: Start, folder: Path, words: tuple[str, ...], sentence: str
) -> None:
    (folder / "broken.py").write_text("\n1 / 0\n")
    (folder / "slip.py").write_text("def (:\n")
    (folder / "empty.py").write_text("import oncue\napp = oncue.App()\n")
    (folder / "wrong.yaml").write_text("lease: 3\n")
    end = ended(run_oncue, "worker", *words, cwd=folder)
    assert end.code == 2
    assert sentence in end.output
    assert end.output.count("\n") == 1
    assert "hunter2" not in end.output


def test_a_second_sigterm_ends_a_worker_at_once(
    run_oncue: Start, folder: Path, env: dict[str, str], app: App
) -> None:
    process = run_oncue("worker", "shop:app", env=env, cwd=folder)
    app.schedule_task(None, None, queue="endless")
    process.wait_for_line("endless has begun")
    process.term()
    process.wait_for_line("stopping: takes nothing more")
    process.term()
    assert process.wait() == 1


def test_what_does_not_finish_in_time_is_handed_back_ready(
    run_oncue: Start, folder: Path, env: dict[str, str], app: App
) -> None:
    process = run_oncue("worker", "shop:app", "--stop-timeout-s", "0.3", env=env, cwd=folder)
    task = app.schedule_task(None, None, queue="endless")
    process.wait_for_line("endless has begun")
    process.term()
    assert process.wait() == 0
    process.wait_for_line("1 tasks did not finish within 0.3 s and were handed back")
    known = app.get(task)
    assert (known.state, known.failed, known.lost) == ("ready", 0, 0)


def test_a_worker_serves_the_named_queues_alone_and_handlers_schedule_where_it_works(
    run_oncue: Start, folder: Path, valkey: RedisServer, namespace: str, app: App
) -> None:
    # The flags name the server; oncue.schedule_task inside the handler finds it all the same.
    words = ("--url", valkey.url, "--namespace", namespace, "--queues", "emails, chain")
    process = run_oncue("worker", "shop:app", *words, cwd=folder)
    left = app.schedule_task(None, None, queue="endless")
    app.schedule_task(None, None, queue="chain")
    process.wait_for_line("email by oncue.schedule_task")
    assert app.get(left).state == "ready"


def test_flags_win_over_the_apps_own_server(
    run_oncue: Start, folder: Path, env: dict[str, str], app: App
) -> None:
    url = f"redis://{'somebody:secret'}@127.0.0.1:{free_port()}/0"
    (folder / "shop.py").write_text(APP.replace("oncue.App()", f"oncue.App({url!r})"))
    process = run_oncue("worker", "shop:app", "--url", env["ONCUE_URL"], env=env, cwd=folder)
    app.schedule_task(None, "hello", queue="emails")
    process.wait_for_line("email hello")


def test_several_processes_of_one_worker_are_one_service(
    run_oncue: Start, folder: Path, env: dict[str, str], app: App, manager: Manager
) -> None:
    process = run_oncue("worker", "shop:app", "--processes", "2", env={**env, **manager.env}, cwd=folder)
    manager.wait_for("READY=1")
    first, second = process.children()
    assert first.cmdline()[-3] == "worker-1" or second.cmdline()[-3] == "worker-1"
    first.send_signal(signal.SIGKILL)
    eventually(lambda: process.output.count("at work on") == 3, what="the new process")
    app.schedule_task(None, "hello", queue="emails")
    process.wait_for_line("email hello")
    process.term()
    assert process.wait() == 0
    eventually(lambda: not second.is_running(), what="the end of the processes")


def test_several_processes_that_cannot_work_end_with_code_2(run_oncue: Start, folder: Path) -> None:
    end = ended(run_oncue, "worker", "nowhere:app", "--processes", "2", cwd=folder)
    assert end.code == 2
    assert "there is no module nowhere" in end.output
