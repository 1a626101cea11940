"""Registering: how a program says which function handles the tasks of which queue."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from oncue.common.errors import BadInput
from oncue.common.handler import Handler, Isolation
from oncue.common.keys import queue_name
from oncue.common.retry import RetryPolicy
from oncue.common.task import DEFAULT_QUEUE, Task

C = TypeVar("C", bound=Callable[[Any], object])
H = TypeVar("H", bound=Callable[[Task], object])
B = TypeVar("B", bound=Callable[[list[Task]], object])
Retrying = RetryPolicy | Mapping[str, Any]


class Registry:
    """The handlers of a program, by queue."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}

    def handler(
        self,
        queue: str = DEFAULT_QUEUE,
        *,
        retry: Retrying | None = None,
        keep_result_s: float = 0.0,
        timeout_s: float | None = None,
        isolation: Isolation = "thread",
        raise_on_cancel: bool = False,
    ) -> Callable[[H], H]:
        """Registers the decorated function as the handler of a queue; raises BadInput if there is one already.

        ``retry``: a RetryPolicy, or some of its fields over what the configuration says of the queue.
        ``keep_result_s``: how long ``get(id).result`` gives what the handler returned. ``timeout_s``: how long one run
        may take; ``isolation="process"`` runs it in a child process, which can be killed then. ``raise_on_cancel``:
        cancelling a running task raises Cancelled in its handler. See docs/tasks.md.
        """
        return self._registering(
            queue,
            lambda function: Handler(
                function,
                retry or {},
                keep_result_s,
                timeout_s,
                isolation,
                raise_on_cancel=raise_on_cancel,
            ),
        )

    def batch_handler(
        self,
        queue: str = DEFAULT_QUEUE,
        *,
        max_size: int = 100,
        max_wait_s: float = 0.0,
        retry: Retrying | None = None,
        keep_result_s: float = 0.0,
        timeout_s: float | None = None,
    ) -> Callable[[B], B]:
        """Registers the decorated function for batches: it gets a list of 1 to ``max_size`` tasks (500 at most).

        A batch that is not full waits up to ``max_wait_s`` for more. The function returns None (all are done), a list
        with an answer for each task, or answers by id; an answer that is an exception fails its task alone, as does
        ``task.fail(error)``. What it raises fails all. The rest as ``handler``.
        """
        if not max_size:
            raise BadInput(f"max_size is {max_size!r}; allowed: 1 to 500")
        return self._registering(
            queue,
            lambda function: Handler(
                function,
                retry or {},
                keep_result_s,
                timeout_s,
                max_size=max_size,
                max_wait_s=max_wait_s,
            ),
        )

    def _registering(
        self, queue: str, made: Callable[[Callable[[Any], object]], Handler]
    ) -> Callable[[C], C]:
        name = queue_name(queue)

        def register(function: C) -> C:
            self._register(name, made(function))
            return function

        return register

    def _register(self, name: str, handler: Handler) -> None:
        if name in self.handlers:
            raise BadInput(f"queue {name} has a handler already: {self.handlers[name].function!r}")
        self.handlers[name] = handler
