"""The embedded server of `oncue up`: private, persistent, one per directory, found by producers."""

from __future__ import annotations

import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from oncue.common import embedded as embedded_module
from oncue.common.embedded import EmbeddedValkey
from oncue.common.errors import BadInput, StoreUnavailable
from oncue.common.running import find_running, state_dir
from tests.support.processes import Process, has_ended
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

_UP = """
import signal, sys
from pathlib import Path
from oncue.common.embedded import EmbeddedValkey
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
print("pid", EmbeddedValkey(Path(sys.argv[1])).start().pid, flush=True)
while True: signal.pause()
"""


@pytest.fixture(autouse=True)
def own_state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def embedded(data_dir: Path) -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey(data_dir) as server:
        yield server


@pytest.fixture
def up(data_dir: Path, tmp_path: Path) -> Iterator[Process]:
    """A process that runs the embedded server, and can be killed without it."""
    with Process([_UP, data_dir], tmp_path / "up", command=(sys.executable, "-c")) as process:
        process.wait_for_line("^pid")
        yield process


def _server_pid(up: Process) -> int:
    return int(up.wait_for_line(r"^pid (\d+)$")[1])


def _client(server: EmbeddedValkey) -> redis.Redis:
    return redis.Redis.from_url(server.url, protocol=2, socket_timeout=5)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_server_is_set_up_for_tasks_that_must_not_get_lost(embedded: EmbeddedValkey) -> None:
    config = _client(embedded).config_get()
    wanted = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "save": ""}
    assert {name: config[name] for name in wanted} == wanted
    assert config["port"] == "0"


def test_only_its_owner_reaches_the_server_and_its_files(embedded: EmbeddedValkey) -> None:
    assert _mode(embedded.data_dir) == 0o700
    assert _mode(embedded.socket_path) == 0o600
    files = [path for path in embedded.data_dir.rglob("*") if path.is_file()]
    assert [path.name for path in files if _mode(path) & 0o077] == []
    assert psutil.Process(embedded.pid).net_connections("inet") == []


def test_what_was_written_is_there_after_a_stop_and_after_a_kill(data_dir: Path) -> None:
    for n, number in enumerate((signal.SIGTERM, signal.SIGKILL, signal.SIGTERM)):
        with EmbeddedValkey(data_dir) as server:
            assert _client(server).incr("starts") == n + 1
            os.kill(server.pid, number)
            psutil.Process(server.pid).wait(10)


def test_a_stop_ends_the_process_and_may_come_twice(embedded: EmbeddedValkey) -> None:
    process = psutil.Process(embedded.pid)
    embedded.stop()
    embedded.stop()
    assert not process.is_running()
    with pytest.raises(StoreUnavailable, match="was not started"):
        _ = embedded.pid
    assert _client(embedded.start()).ping()


def test_a_second_start_of_the_same_server_leaves_the_first_in_order(embedded: EmbeddedValkey) -> None:
    with pytest.raises(BadInput, match="another `oncue up`"):
        embedded.start()
    assert embedded.running
    process = psutil.Process(embedded.pid)
    embedded.stop()
    assert not process.is_running()
    assert not embedded.running


def test_a_crash_of_the_server_is_seen_and_a_new_start_goes_on_with_its_data(
    embedded: EmbeddedValkey,
) -> None:
    _client(embedded).set("k", "v")
    os.kill(embedded.pid, signal.SIGKILL)
    eventually(lambda: not embedded.running)
    embedded.stop()
    assert _client(embedded.start()).get("k") == b"v"


def test_a_second_up_on_the_same_directory_gets_one_sentence(
    embedded: EmbeddedValkey, data_dir: Path
) -> None:
    with pytest.raises(BadInput, match=f"another `oncue up` is using {data_dir}: stop it, or choose another"):
        EmbeddedValkey(data_dir).start()
    assert _client(embedded).ping()


def test_ctrl_c_at_a_terminal_does_not_reach_the_server(up: Process) -> None:
    server = psutil.Process(_server_pid(up))
    up.interrupt()
    up.wait_for_line("^interrupted$")
    assert server.is_running()
    assert os.getsid(server.pid) != os.getsid(up.pid)


def test_a_server_that_outlived_its_up_is_adopted_with_its_data_and_ended(
    up: Process, data_dir: Path
) -> None:
    pid = _server_pid(up)
    up.kill()
    with EmbeddedValkey(data_dir) as server:
        assert server.pid == pid
        orphan = psutil.Process(pid)
        _client(server).set("k", "v")
    eventually(lambda: has_ended(orphan))
    with EmbeddedValkey(data_dir) as server:
        assert server.pid != pid
        assert _client(server).get("k") == b"v"


def test_a_server_of_an_earlier_up_that_is_ending_is_waited_for(up: Process, data_dir: Path) -> None:
    pid = _server_pid(up)
    os.kill(pid, signal.SIGSTOP)
    up.kill()
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    with EmbeddedValkey(data_dir) as server:
        assert _client(server).ping()


def test_a_frozen_server_of_an_earlier_up_is_never_joined_by_a_second(
    up: Process, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = _server_pid(up)
    os.kill(pid, signal.SIGSTOP)
    up.kill()
    with monkeypatch.context() as patch:
        patch.setattr(embedded_module, "_ANSWER_TIMEOUT_S", 0.1)
        with pytest.raises(StoreUnavailable, match=r"an earlier .* is still using .* end that process"):
            EmbeddedValkey(data_dir).start(timeout_s=0.2)
    os.kill(pid, signal.SIGCONT)
    with EmbeddedValkey(data_dir) as server:
        assert server.pid == pid


def test_loading_may_take_longer_than_the_time_for_an_answer(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedValkey(data_dir) as server:
        pipeline = _client(server).pipeline(transaction=False)
        for n in range(6000):
            pipeline.set(f"k{n}", n)
        pipeline.execute()
    # 500 us for each key: over three seconds, in which the server answers LOADING five times.
    monkeypatch.setattr(embedded_module, "_SETTINGS", {**embedded_module._SETTINGS, "key-load-delay": "500"})
    begun = time.monotonic()
    server = EmbeddedValkey(data_dir)
    try:
        server.start(timeout_s=2.4)
        assert time.monotonic() - begun > 3
        assert _client(server).dbsize() == 6000
    finally:
        server.stop()


def test_a_socket_path_that_the_system_does_not_allow_is_refused_with_a_remedy(tmp_path: Path) -> None:
    long = tmp_path / ("d" * 100)
    with pytest.raises(BadInput, match=r"is \d+ bytes long and the system allows 103: choose .* shorter"):
        EmbeddedValkey(long).start()
    assert not long.exists()


def test_a_directory_that_others_can_write_to_is_refused(data_dir: Path) -> None:
    data_dir.mkdir()
    data_dir.chmod(0o777)
    with pytest.raises(BadInput, match="can be written to by other users"):
        EmbeddedValkey(data_dir).start()
    assert list(data_dir.iterdir()) == []


def test_a_data_directory_that_is_a_file_is_refused(data_dir: Path) -> None:
    data_dir.write_text("")
    with pytest.raises(BadInput, match=f"the data directory {data_dir} cannot be used: "):
        EmbeddedValkey(data_dir).start()


def test_the_socket_of_another_server_is_not_taken_over(data_dir: Path, tmp_path: Path) -> None:
    with RedisServer("valkey", tmp_path / "other", unix=True) as other:
        with pytest.raises(BadInput, match="is in use by another server"):
            EmbeddedValkey(data_dir, other.socket_path).start()
        assert other.client().ping()


def test_a_server_that_cannot_start_says_its_own_reason(data_dir: Path) -> None:
    with EmbeddedValkey(data_dir) as server:
        _client(server).set("k", "v")
    (part,) = data_dir.rglob("*.incr.aof")
    part.write_bytes(b"nonsense" * 100)
    with pytest.raises(StoreUnavailable, match=r"ended at its start: .*Bad file format.*valkey\.log"):
        EmbeddedValkey(data_dir).start()


def test_producers_find_the_running_server_in_any_directory(data_dir: Path) -> None:
    assert find_running() is None
    with EmbeddedValkey(data_dir) as server:
        assert find_running() == server.url
    assert find_running() is None


def test_a_path_with_special_characters_survives_its_url(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path / "ü ?%20#") as server:
        assert _client(server).ping()
        assert find_running() == server.url


def test_the_latest_of_several_is_found_and_an_earlier_one_leaves_it_alone(
    data_dir: Path, tmp_path: Path
) -> None:
    with EmbeddedValkey(tmp_path / "later") as later:
        earlier = EmbeddedValkey(data_dir)
        later.stop()
        earlier.start()
        later.start()
        earlier.stop()
        assert find_running() == later.url


@pytest.mark.parametrize("content", ["/nowhere/valkey.sock", "", "x" * 200, "\0", "\udcff"])
def test_a_stale_pointer_is_no_error(content: str) -> None:
    state_dir().mkdir(parents=True)
    (state_dir() / "running").write_bytes(content.encode(errors="surrogateescape"))
    assert find_running() is None


def test_a_pointer_to_a_dead_socket_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "dead"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    state_dir().mkdir(parents=True)
    (state_dir() / "running").write_text(str(path))
    assert find_running() is None


def test_a_look_for_a_running_server_costs_next_to_nothing_when_none_runs() -> None:
    def took_s() -> float:
        begun = time.perf_counter()
        for _ in range(1000):
            find_running()
        return time.perf_counter() - begun

    # 20 us each; ten times that is left for a busy machine, and the best of some for one that stands still.
    assert min(took_s() for _ in range(5)) < 0.2


def test_a_home_that_cannot_be_written_does_not_keep_the_server_from_starting(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    with EmbeddedValkey(data_dir) as server:
        assert _client(server).ping()
        assert find_running() is None
