"""A producer that is killed in the middle of a bulk call, with chunks under way, or that meets a server that stands still."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from oncue import NewTask
from oncue.common.writing import CHUNK
from tests.support.processes import Process
from tests.support.product import Hands, app_on, opened
from tests.support.servers import RedisServer
from tests.support.waiting import eventually, pause

TASKS = 200 * CHUNK
PROGRAM = f"""
import oncue
app = oncue.App()
app.schedule_many([oncue.NewTask(None, at) for at in range({TASKS})])
"""


@pytest.mark.slow
# At the last of them a second's work is still ahead, in which the producer is killed.
@pytest.mark.parametrize("written", [1, 20 * CHUNK, 60 * CHUNK])
def test_a_bulk_call_whose_process_is_killed_has_written_whole_chunks_in_their_order(
    valkey: RedisServer, namespace: str, tmp_path: Path, written: int
) -> None:
    env = {"ONCUE_URL": valkey.url, "ONCUE_NAMESPACE": namespace}

    def connections() -> set[str]:
        clients: Any = valkey.admin.client_list()
        return {client["id"] for client in clients}

    with opened(valkey, namespace) as store:
        assert store.counts() == {}
        before = connections()
        with Process(["-c", PROGRAM], tmp_path / "output", env, command=[sys.executable]) as producer:
            eventually(lambda: store.counts().get("default", {}).get("ready", 0) >= written, 20)
            producer.kill()
        # What lay in the server's socket still comes.
        eventually(lambda: connections() <= before)
        number = store.counts()["default"]["ready"]
        assert number % CHUNK == 0
        hands, data = Hands(store, ["default"]), []
        while tasks := hands.reserve(CHUNK):
            data += [task.data for task in tasks]
    assert data == list(range(number))
    assert written <= number < TASKS


@pytest.mark.slow
def test_a_bulk_call_outlasts_a_server_that_stands_still_for_longer_than_a_read(
    valkey: RedisServer, namespace: str
) -> None:
    with opened(valkey, namespace) as store:
        app = app_on(store)
        wanted = [NewTask(None, at) for at in range(TASKS)]
        call = threading.Thread(target=app.schedule_many, args=(wanted,))
        call.start()
        eventually(lambda: store.counts().get("default", {}).get("ready", 0) >= CHUNK, 20)
        valkey.pause()
        pause(6)
        valkey.resume()
        call.join(30)
        assert not call.is_alive()
        hands, data = Hands(store, ["default"]), []
        while tasks := hands.reserve(CHUNK):
            data += [task.data for task in tasks]
    assert data == list(range(TASKS))
