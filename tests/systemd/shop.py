"""The app that the worker on the machine runs; as a unit sets it up, it starts in /var/lib/oncue."""

import json
import os
import subprocess
import time
from pathlib import Path

import oncue

app = oncue.App()


def _note(what: str, task: oncue.Task) -> None:
    with open("notes", "a") as notes:
        notes.write(f"{what} {task.id} {task.attempt} {time.time()}\n")


@app.handler("emails")
def email(task: oncue.Task) -> None:
    _note("sent", task)


@app.handler("slow")
def slow(task: oncue.Task) -> None:
    """Takes ``task.data`` seconds, of a list those of the attempt, and leaves a process behind that would live on."""
    subprocess.Popen(["sleep", "600"])
    _note("began", task)
    time.sleep(task.data[task.attempt - 1] if isinstance(task.data, list) else task.data)
    _note("ended", task)


@app.handler("attempts")
def attempt(task: oncue.Task) -> None:
    """Says of each path of ``task.data`` what became of an attempt to write there."""
    said = {}
    for path in task.data:
        try:
            Path(path).write_text("")
            said[path] = "written"
        except OSError as error:
            said[path] = str(error.strerror)
    Path("attempts.part").write_text(json.dumps(said))
    os.replace("attempts.part", "attempts.json")
