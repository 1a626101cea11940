"""Commands: the built-in handler of tasks that describe a program to run."""

import logging
import os
import shutil
import threading

from oncue.common.allowance import Allowance
from oncue.common.answers import Bury, Cancelled, HandBack, TimedOut
from oncue.common.clock import monotonic_s
from oncue.common.errors import BadInput
from oncue.common.secret import resolved
from oncue.common.task import Failed, Task
from oncue.common.work import Command, read_work
from oncue.worker.group import Ended, Ending, Group, Keeper

GRACE_S = 5.0
"""How long a command has after SIGTERM, before SIGKILL."""

_SHOWN = 8_000  # characters of output in the message of an error
_NOT_THEIRS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY")
_log = logging.getLogger("oncue.command")


class Commands:
    """All commands of one worker process; called from handler threads."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._keeper = Keeper()
        self._lock = threading.Lock()
        self._groups: set[Group] = set()
        self._stop: Ending | None = None

    def __call__(self, task: Task) -> dict[str, object]:
        """Runs a task's command to its end. Its result: exit code, the last output, and how long that was as a whole."""
        command = _description(task)
        began = monotonic_s()
        ended = self._run(task, command)
        said = ended.output.decode(errors="replace")
        _log.info("%s after %.1f s: %s", _named(task), monotonic_s() - began, _line(ended, said))
        if ended.why == "cancelled":
            raise Cancelled
        if ended.why == "stop":
            raise HandBack
        if ended.why == "timeout":
            raise TimedOut(
                f"ran longer than its limit of {command.timeout_s:g} s, and was ended{_shown(said)}"
            )
        if ended.code:
            raise Failed(f"{_code(ended.code)}{_shown(said)}")
        return {"exit_code": 0, "output": said, "output_bytes": ended.length}

    def stop_within(self, timeout_s: float) -> None:
        """Ends what still runs then, with time for a SIGTERM before; to be called when the worker begins to stop."""
        # Before the worker hands its tasks back, at timeout_s: none of them may begin elsewhere beside its old run.
        kill_s = timeout_s * 0.9
        now = monotonic_s()
        with self._lock:
            self._stop = Ending("stop", now + max(kill_s - GRACE_S, kill_s / 2), now + kill_s)
            for group in self._groups:
                group.end(self._stop)

    def _run(self, task: Task, command: Command) -> Ended:
        group = self._started(task, command)
        now = monotonic_s()
        if command.timeout_s is not None:
            limit = now + command.timeout_s
            group.end(Ending("timeout", limit, limit + GRACE_S))
        with self._lock:
            self._groups.add(group)
            if self._stop is not None:
                group.end(self._stop)

        def cancel() -> None:
            at = monotonic_s()
            group.end(Ending("cancelled", at, at + GRACE_S))

        task.on_cancel(cancel)
        try:
            return group.attend()
        finally:
            task.on_cancel(None)
            with self._lock:
                self._groups.discard(group)

    def _started(self, task: Task, command: Command) -> Group:
        env = _environment(task, command)
        words = command.words
        path = _program(words[0], env, command.cwd)
        if not self._allowance.allows_program(path):
            raise Bury(f"{path} may not be run by this worker: it is not on its list allow_commands")
        try:
            return Group(path, words, env, command.cwd, command.output_limit_bytes, self._keeper)
        except OSError as error:
            raise Failed(f"{error.filename or path} cannot be run: {error.strerror}") from None


def _description(task: Task) -> Command:
    try:
        command = read_work("command", task.data)
    except BadInput as error:
        raise Bury(str(error)) from None
    assert isinstance(command, Command)
    return command


def _environment(task: Task, command: Command) -> dict[str, str]:
    """The worker's variables without those of oncue, which may hold a password; those of the task; what it is run for."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ONCUE_") and name not in _NOT_THEIRS
    }
    for name, value in command.env.items():
        try:
            env[name] = resolved(value)
        except BadInput as error:
            raise Failed(f"env.{name}: {error}") from None
    planned = task.planned_at
    told = {"ONCUE_TASK": task.id, "ONCUE_SCHEDULE": task.schedule or ""}
    return env | told | {"ONCUE_PLANNED": planned.isoformat() if planned else ""}


def _program(word: str, env: dict[str, str], cwd: str | None) -> str:
    """The absolute path of what a shell would run."""
    found = word if "/" in word else shutil.which(word, path=env.get("PATH", os.defpath))
    if found is None:
        raise Failed(f"there is no program {word} in PATH, which is {env.get('PATH', os.defpath)}")
    return os.path.join(cwd or os.getcwd(), found)


def _named(task: Task) -> str:
    return f"{task.schedule} {task.id}" if task.schedule else task.id


def _code(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"exit code {code}"


def _line(ended: Ended, said: str) -> str:
    lines = said.strip().splitlines()
    last = f", the last line: {lines[-1][-500:]!r}" if lines else ""
    why = {"": "", "timeout": "its limit, ", "stop": "the worker stops, ", "cancelled": "cancelled, "}
    return f"{why[ended.why]}{_code(ended.code)}, {ended.length} bytes of output{last}"


def _shown(said: str) -> str:
    said = said.strip()
    if len(said) > _SHOWN:
        return f"; its output ends with:\n{said[-_SHOWN:]}"
    return f"; its output:\n{said}" if said else ""
