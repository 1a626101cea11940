"""The app that the workers of the chaos tests load. Each run is noted in a file of its process as it happens."""

from __future__ import annotations

import os

import oncue
from oncue import Task
from oncue.common.clock import host_now_ms
from tests.support.waiting import pause

app = oncue.App()

# Written without a buffer, so that a SIGKILL takes no note along.
_notes = os.open(
    os.path.join(os.environ["CHAOS_NOTES"], str(os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_APPEND
)


@app.handler("default")
def take_a_while(task: Task) -> None:
    """Runs for ``task.data`` seconds; a list holds the seconds of each attempt."""
    _note("began", task)
    seconds = task.data[task.attempt - 1] if isinstance(task.data, list) else task.data or 0
    pause(seconds)
    _note("ended", task)


def _note(event: str, task: Task) -> None:
    # The server of the tests is on this host: its clock is the host's.
    now = host_now_ms()
    planned = task.options.get("planned_ms", 0)
    os.write(_notes, f"{event} {now} {task.due_ms} {planned} {task.attempt} {task.id}\n".encode())
