"""The handlers that a worker has without an app: commands and calls, where it was started so."""

from collections.abc import Callable, Mapping

from oncue.common.answers import Bury
from oncue.common.configtypes import Config
from oncue.common.errors import BadInput
from oncue.common.handler import Handler
from oncue.common.task import Task
from oncue.common.work import QUEUES

KEEP_RESULT_S = 3600.0
"""How long the output of a command or call can be read."""

_FLAGS = {"command": "--allow-commands", "http": "--allow-http"}


class Builtin:
    """The built-in handlers of one worker process."""

    def __init__(self, config: Config) -> None:
        """Raises BadInput where the file has a queue of work that this worker may do by halves only."""
        self._runners: dict[str, Callable[[Task], object]] = {}
        self._stop: Callable[[float], None] = lambda timeout_s: None
        # Imported where they are allowed: subprocess and http.client cost every other worker their memory.
        if config.allow_commands.on:
            from oncue.worker.commands import Commands

            commands = Commands(config.allow_commands)
            self._runners["command"], self._stop = commands, commands.stop_within
        if config.allow_http.on:
            from oncue.worker.calls import Calls

            self._runners["http"] = Calls(config.allow_http)
        allowed = {"command": config.allow_commands.on, "http": config.allow_http.on}
        self.handlers = {
            queue: Handler(self._run, keep_result_s=KEEP_RESULT_S) for queue in _queues(config, allowed)
        }

    def beside(self, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
        """The handlers of the app and these. Raises BadInput for a queue that has both."""
        for queue in self.handlers:
            if queue in handlers:
                raise BadInput(
                    f"queue {queue} has a handler in the app, and holds commands or calls for this worker, which was"
                    " started with --allow-commands or --allow-http: give the schedules or the handler another queue"
                )
        return {**handlers, **self.handlers}

    def stop_within(self, timeout_s: float) -> None:
        """To be called when the worker begins to stop: commands end before its time is over."""
        self._stop(timeout_s)

    def _run(self, task: Task) -> object:
        kind = "http" if isinstance(task.data, dict) and "http" in task.data else "command"
        if kind not in self._runners:
            raise Bury(f"this worker was started without {_FLAGS[kind]}")
        return self._runners[kind](task)


def _queues(config: Config, allowed: Mapping[str, bool]) -> set[str]:
    """The usual queues, and those that the schedules of the file name."""
    queues = {kind: {usual} for kind, usual in QUEUES.items()}
    for schedule in config.schedules.values():
        if schedule.runs != "task":
            queues[schedule.runs].add(schedule.queue)
    mixed = queues["command"] & queues["http"]
    if mixed and sum(allowed.values()) == 1:
        raise BadInput(
            f"queue {min(mixed)} has commands and calls in the file: this worker needs --allow-commands and --allow-http"
        )
    return {queue for kind, names in queues.items() if allowed[kind] for queue in names}
