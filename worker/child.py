"""A child process of a worker: it imports the app, runs one task at a time, and ends with its worker.

Started by worker/children.py as `python -m oncue.worker.child MODULE:APP IN OUT LIFELINE`, the last three being
descriptors. Settings come as the first frame, so that no password stands on a command line.
"""

import fcntl
import os
import signal
import sys
from typing import Any

import msgspec

from oncue.common.clock import monotonic_s
from oncue.common.configtypes import Config
from oncue.common.retry import RetryPolicy
from oncue.common.task import Task
from oncue.worker import frames
from oncue.worker.judge import Judge
from oncue.worker.outcome import Abandon, Bury, Done, Outcome, Retry


def main(words: list[str]) -> None:
    """Runs tasks until the worker closes the pipe."""
    app_name, into, out, lifeline = words[0], *map(int, words[1:4])
    _end_with_parent(lifeline)
    with os.fdopen(into, "rb") as questions, os.fdopen(out, "wb") as answers:
        for number in (into, out):
            os.set_inheritable(number, False)
        try:
            settings, _ = frames.receive(questions)
            judge, functions = _prepared(app_name, settings)
            frames.send(answers, {"ready": True})
            while True:
                head, body = frames.receive(questions)
                _answer(answers, _run(judge, functions, head, body))
        except frames.Gone:
            # What a handler has started may run on in threads of its own: nobody hears it any more.
            os._exit(0)


def _end_with_parent(lifeline: int) -> None:
    # The kernel signals the other end's closing, however the worker died and whatever the handler does: SIGIO's
    # usual action ends the process, without an instruction of Python.
    os.set_inheritable(lifeline, False)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    # Ctrl-C and a stop are the worker's to deal with.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.getppid() == 1:
        os._exit(0)


def _prepared(app_name: str, settings: dict[str, Any]) -> tuple[Judge, dict[str, Any]]:
    import oncue
    from oncue.cli.loading import load_app
    from oncue.common.opened import opened

    app = load_app(app_name)
    config = Config(**settings["config"])
    app.use(opened(config), config.max_data_bytes)
    oncue._app = app
    policies = {queue: RetryPolicy().changed(values) for queue, values in settings["policies"].items()}
    return Judge(app.handlers, policies), {queue: handler.function for queue, handler in app.handlers.items()}


def _run(judge: Judge, functions: dict[str, Any], head: dict[str, Any], body: bytes) -> Outcome:
    now_ms, began = head.pop("now_ms"), monotonic_s()
    data = body if head.pop("raw") else msgspec.json.decode(body)
    task = Task(data=data, **head)
    try:
        value = functions[task.queue](task)
    except BaseException as error:  # noqa: BLE001 - as in a thread, whatever is raised is an outcome
        return judge.raised(task, error, now_ms + round((monotonic_s() - began) * 1000))
    ended_ms = now_ms + round((monotonic_s() - began) * 1000)
    if task.failure is not None:
        return judge.raised(task, task.failure, ended_ms)
    return judge.returned(task, value, ended_ms)


def _answer(answers: Any, outcome: Outcome) -> None:
    if isinstance(outcome, Done):
        frames.send(answers, {"kind": "done", "keep_ms": outcome.keep_ms}, outcome.result)
    elif isinstance(outcome, Retry):
        head = {"kind": "retry", "due_ms": outcome.due_ms, "counted": outcome.counted}
        frames.send(answers, head, outcome.error)
    elif isinstance(outcome, Bury):
        frames.send(answers, {"kind": "bury", "counted": outcome.counted}, outcome.error)
    else:
        frames.send(answers, {"kind": "abandon"})


def read_outcome(task: Task, head: dict[str, Any], body: bytes) -> Outcome:
    """What ``_answer`` has sent, in the worker; raises KeyError for what it cannot have sent."""
    kind = head["kind"]
    if kind == "done":
        return Done(task, body, head["keep_ms"])
    if kind == "retry":
        return Retry(task, head["due_ms"], body, head["counted"])
    if kind == "bury":
        return Bury(task, body, head["counted"])
    if kind == "abandon":
        return Abandon(task)
    raise KeyError(kind)


if __name__ == "__main__":
    main(sys.argv[1:])
