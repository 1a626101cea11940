"""`oncue worker`: one worker process, or several under one parent."""

import logging
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from oncue.cli import logs
from oncue.cli.options import WORKER, Given, Lifeline, Name, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oncue.app import App
    from oncue.cli.role import Role
    from oncue.cli.stopper import Stopper
    from oncue.common.configtypes import Config
    from oncue.common.handler import Handler
    from oncue.common.store import Store
    from oncue.worker.worker import Worker

_log = logging.getLogger("oncue.worker")
HANDING_BACK_S = 10.0
"""How long a worker may take, after its handlers' time to stop, to hand back what they did not finish."""

_LOGIN = ("username", "password", "password_file")

AppArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MODULE:APP",
        help="The app, such as shop.tasks:app; not needed with --allow-commands or --allow-http.",
    ),
]
Queues = Annotated[
    str | None, typer.Option(metavar="A,B", help="Only these queues; all that have a handler else.")
]
Processes = Annotated[
    int, typer.Option(min=1, metavar="N", help="Worker processes, each with its own threads.")
]


@settings(*WORKER)
def worker(
    given: Given,
    app: AppArgument = None,
    queues: Queues = None,
    processes: Processes = 1,
    log_level: logs.LogLevel = "info",
    lifeline: Lifeline = None,
    name: Name = None,
) -> None:
    """Run one worker: it reserves ready tasks and runs the app's handlers in threads.

    SIGTERM: takes nothing more, lets running tasks go on for --stop-timeout-s, hands back the rest. A second one: ends at once.

    Example: oncue worker shop.tasks:app --url redis://localhost:6379/0 --queues emails,reports --concurrency 20
    """
    logs.begin(log_level, name)
    if processes > 1:
        _several(given, app, queues, processes, log_level)
    from oncue.cli.loading import chosen
    from oncue.cli.role import Role
    from oncue.cli.stopper import Stopper
    from oncue.common.opened import opened
    from oncue.worker.builtin import Builtin

    # Empty: the units name it by a variable, which need not be set.
    app = app or None
    loaded = _loaded(app)
    config = _with_app(given, loaded)
    builtin = Builtin(config)
    _explain(config, app)
    handlers = chosen(builtin.beside(loaded.handlers), queues)
    store = opened(config)
    _become_default(loaded)
    loaded.use(store, config.max_data_bytes)
    # A process that has a parent of ours is killed by that, and built-in handlers keep nobody from stopping.
    is_needed = lifeline is None and any(one.isolation == "thread" for one in loaded.handlers.values())
    stopper = Stopper(config.stop_timeout_s, HANDING_BACK_S) if is_needed else None
    role = Role(store, lifeline, stopper=stopper)
    role.reach()
    engine = _engine(config, app, store, handlers, role, stopper)

    def stop() -> None:
        builtin.stop_within(config.stop_timeout_s)
        _stop(engine, config.stop_timeout_s)

    role.serve(engine.start, engine.alive, stop, stop_within_s=config.stop_timeout_s + HANDING_BACK_S)


def _engine(
    config: "Config",
    app: str | None,
    store: "Store",
    handlers: "Mapping[str, Handler]",
    role: "Role",
    stopper: "Stopper | None",
) -> "Worker":
    from oncue.worker.children import Children
    from oncue.worker.worker import Worker

    policies = {name: queue.retry for name, queue in config.queues.items()}
    return Worker(
        store,
        handlers,
        weights={name: queue.weight for name, queue in config.queues.items()},
        policies=policies,
        threads=config.concurrency,
        lease_ms=round(config.lease_s * 1000),
        health=role.health,
        children=None if app is None else Children(app, asdict(config), policies),
        before_first=None if stopper is None else stopper.ensure,
    )


def _loaded(app: str | None) -> "App":
    from oncue.app import App
    from oncue.cli.loading import load_app

    return App() if app is None else load_app(app)


def _explain(config: "Config", app: str | None) -> None:
    """Says what is not allowed, where somebody may expect that it is. Raises BadInput if nothing at all is left to do."""
    from oncue.common.errors import BadInput

    if app is None and not (config.allow_commands.on or config.allow_http.on):
        raise BadInput(
            "give MODULE:APP, such as shop.tasks:app; only a worker with --allow-commands or --allow-http needs none"
        )
    for flag, allowance in (("commands", config.allow_commands), ("http", config.allow_http)):
        if allowance.only is not None and not allowance.on:
            _log.info("there is a list allow_%s; without --allow-%s it counts for nothing here", flag, flag)


def _with_app(given: Given, app: "App") -> "Config":
    """What the app's code says of the server counts like flags, but real flags win."""
    flags = {name: value for name, value in given.flags.items() if value is not None}
    coded = dict(app.given)
    # Address and login belong together: another server has another password.
    for name in ("url", *_LOGIN) if "url" in flags else _LOGIN if "password_file" in flags else ():
        coded.pop(name, None)
    return given.load(**{**coded, **flags})


def _become_default(app: "App") -> None:
    """A handler that calls `oncue.schedule_task` means the server that its own task came from."""
    import oncue

    oncue._app = app


def _stop(engine: "Worker", timeout_s: float) -> None:
    _log.info("stopping: takes nothing more, running tasks have %g s", timeout_s)
    left = engine.stop(timeout_s)
    if left:
        _log.warning("%d tasks did not finish within %g s and were handed back", left, timeout_s)


def _several(given: Given, app: str | None, queues: str | None, processes: int, log_level: str) -> None:
    from oncue.cli.supervisor import Supervisor

    config = given.load()
    supervisor = Supervisor(stop_within_s=config.stop_timeout_s + HANDING_BACK_S)
    words = ["worker", *([app] if app else []), *given.arguments(WORKER), "--log-level", log_level]
    if queues is not None:
        words += ["--queues", queues]
    for number in range(1, processes + 1):
        supervisor.add(f"worker-{number}", words)
    sys.exit(supervisor.run())
