"""The benchmark itself: a small run on a real server, and an end that leaves nothing behind, whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bench import processes, server, session
from bench.environment import Place
from bench.session import PeerFailed, Session
from tests.support.processes import Process, has_ended, words_of
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

BENCH = (sys.executable, "-m", "bench")
Run = Callable[..., Process]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Run]:
    running: list[Process] = []

    def start(*words: str) -> Process:
        (tmp_path / "tmp").mkdir()
        words = (*words, "--quick", "--output", str(tmp_path / "run.json"))
        process = Process(words, tmp_path / "output", {"TMPDIR": str(tmp_path / "tmp")}, command=BENCH)
        running.append(process.start())
        return process

    yield start
    for process in running:
        process.end()


def test_a_small_run_measures_oncue_and_writes_its_file(bench: Run, tmp_path: Path) -> None:
    run = bench("--only", "produce", "--peers", "oncue")
    assert run.wait(120) == 0, run.output
    found = json.loads((tmp_path / "run.json").read_text())
    row = found["experiments"]["produce"]["rows"]["oncue"]
    assert row["single"] > 0
    assert row["bulk"] > row["single"]
    assert found["peers"]["oncue"]["versions"]["oncue"]
    assert f"{row['bulk']:,.0f}" in run.output
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(
    "words", [("--peers", "nobody"), ("--only", "nothing"), ("--publish", "--only", "produce")]
)
def test_what_the_command_line_cannot_mean_is_one_sentence(bench: Run, words: tuple[str, ...]) -> None:
    run = bench(*words)
    assert run.wait(60) == 2
    assert "Traceback" not in run.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM, signal.SIGKILL])
def test_a_run_that_is_broken_off_ends_at_once_and_leaves_no_process(
    bench: Run, number: signal.Signals, tmp_path: Path
) -> None:
    run = bench("--only", "idle", "--peers", "oncue")
    # All four workers of the measurement, whose next step is a rest of eight seconds and one of fifteen.
    eventually(lambda: sum("worker" in words_of(child) for child in children(run)) == 4, 90, "four workers")
    started = children(run)
    run.child.send_signal(number)
    run.wait(5)
    eventually(lambda: all(has_ended(process) for process in started), what="the end of all that was started")
    assert number == signal.SIGKILL or not list((tmp_path / "tmp").iterdir())


def children(run: Process) -> list[psutil.Process]:
    try:
        return run.children()
    except psutil.NoSuchProcess:
        return []


def test_a_client_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_PATIENCE_S", 0.2)
    hanging = Place("huey", ("sleep", "60"), {"PATH": os.environ["PATH"]})
    with (
        pytest.raises(PeerFailed, match="no answer within 0.2 s"),
        Session(hanging, tmp_path, tmp_path / "log"),
    ):
        pass


def test_a_server_that_is_not_the_one_started_is_never_measured(
    valkey: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "free_port", lambda: valkey.port)
    one = server.Server(tmp_path)
    with pytest.raises(RuntimeError, match="did not come up"):
        one.start()
    one.stop()


@pytest.mark.parametrize(("version", "is_taken"), [("6.2.14", False), ("7.0.15", True), ("10.0.1", True)])
def test_a_server_too_old_for_oncue_is_not_taken(
    version: str,
    is_taken: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    found = tmp_path / "redis-server"
    found.write_text(
        f"#!/bin/sh\necho 'Redis server v={version} sha=00000000:0 malloc=jemalloc-5.3.0 bits=64'\n"
    )
    found.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("BENCH_SERVER", raising=False)
    server.program.cache_clear()
    try:
        assert (server.program() == str(found)) == is_taken
    finally:
        server.program.cache_clear()
    assert ("too old" in capfd.readouterr().err) != is_taken


def test_a_process_that_was_waited_for_is_not_killed_under_its_old_number(tmp_path: Path) -> None:
    stranger = start(tmp_path, "sleep", "60")
    ended = subprocess.Popen(["true"])
    ended.wait()
    # What the kernel does with a number that is free again.
    ended.pid = stranger.pid
    group = processes.Group()
    group.add(ended)
    group.stop()
    # A signal of our own is what ends it, not one that was there before.
    stranger.terminate()
    assert stranger.wait(10) == -signal.SIGTERM


def test_what_a_dead_member_left_in_its_group_ends_when_it_is_buried(tmp_path: Path) -> None:
    group = processes.Group()
    member = group.add(start(tmp_path, "sh", "-c", "sleep 60 & echo $! > left; exit 3"))
    eventually(lambda: group.ended() == [member])
    left = psutil.Process(int((tmp_path / "left").read_text()))
    assert group.bury() == 1
    assert member.returncode == 3
    eventually(lambda: has_ended(left))


def start(where: Path, *command: str) -> subprocess.Popen[bytes]:
    return processes.start(command, {"PATH": os.environ["PATH"]}, where, where / "log")
