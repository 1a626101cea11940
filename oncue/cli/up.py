"""`oncue up`: everything on one machine, over an embedded server that keeps its data."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from oncue.cli import logs
from oncue.cli.options import ALLOW, DEAD, SCHEDULER, WORKER, Given, settings
from oncue.cli.worker import HANDING_BACK_S

if TYPE_CHECKING:
    from oncue.common.configtypes import Config
    from oncue.common.embedded import EmbeddedValkey
    from oncue.common.store import Store

_log = logging.getLogger("oncue.up")
_OF_OTHER_SERVERS = ("ONCUE_USERNAME", "ONCUE_PASSWORD", "ONCUE_PASSWORD_FILE", "ONCUE_CA_FILE")

AppArgument = Annotated[
    str | None,
    typer.Argument(metavar="MODULE:APP", help="The app, such as shop.tasks:app; no worker without it."),
]
DataDir = Annotated[
    str | None, typer.Option(metavar="DIR", help="Where the data lies; ~/.local/state/oncue without it.")
]
Schedulers = Annotated[int, typer.Option(min=1, metavar="N", help="Scheduler processes.")]
Workers = Annotated[int, typer.Option(min=1, metavar="N", help="Worker processes.")]


@settings(
    *("namespace", "shards", "timezone", "source", "concurrency", "lease_s", "stop_timeout_s"),
    *("max_data_bytes", "keep_finished_s", *DEAD, *ALLOW),
)
def up(
    given: Given,
    app: AppArgument = None,
    data_dir: DataDir = None,
    schedulers: Schedulers = 2,
    workers: Workers = 1,
    log_level: logs.LogLevel = "info",
) -> None:
    """Run everything on this machine: a server that keeps its data, schedulers, and workers for the app.

    Ctrl-C stops all of it; the next start goes on where this one stopped. Producers of the same user find the server
    by themselves.

    Example: oncue up shop.tasks:app --config oncue.yaml
    """
    logs.begin(log_level, "up")
    from oncue.common.embedded import EmbeddedValkey
    from oncue.common.running import state_dir

    config = _local(given)
    with _stoppable(), EmbeddedValkey(Path(data_dir) if data_dir else state_dir()) as server:
        store = _store(config, server)
        _put_schedules(store, given, config)
        works = app is not None or config.allow_commands.on or config.allow_http.on
        _introduce(server, store, works=works)
        code = _supervise(server, given, config, app, schedulers, workers if works else 0, log_level)
    if code == 0:
        # A terminal that was closed cannot show it.
        with suppress(OSError):
            print("stopped; the data stays", flush=True)
    sys.exit(code)


def _local(given: Given) -> "Config":
    """The configuration without what speaks of another server. Raises ConfigError and BadInput."""
    from oncue.common.errors import BadInput

    for name in ("ONCUE_URL", *_OF_OTHER_SERVERS):
        os.environ.pop(name, None)
    config = given.load()
    if config.username or config.password or config.password_file:
        raise BadInput(
            f"`oncue up` brings a server of its own, which has no login: take username and password out of {given.path}"
        )
    return config


@contextmanager
def _stoppable() -> Iterator[None]:
    """Until the supervisor takes over, a signal unwinds what was begun: the server is stopped in order."""

    def leave(number: int, frame: object) -> NoReturn:
        sys.exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    yield


def _store(config: "Config", server: "EmbeddedValkey") -> "Store":
    from oncue.common.opened import opened

    return opened(replace(config, url=server.url))


def _put_schedules(store: "Store", given: Given, config: "Config") -> None:
    # The schedulers do the same at their start and find it done: so the lines below tell what holds.
    from oncue.cli.schedules import FileSchedules

    # The only machine there is: what its file says now holds, also after a step back.
    FileSchedules(store, given, config).apply(forced=True)


def _introduce(server: "EmbeddedValkey", store: "Store", *, works: bool) -> None:
    from oncue.cli.schedulelist import schedule_lines

    print(f"data:       {server.data_dir} (kept for the next start)")
    print(f"producers:  {server.url} (found without being told, as this user)")
    for number, line in enumerate(schedule_lines(store) or ["none: name a file with --config"]):
        print(f"{'' if number else 'schedules:':<11} {line}")
    if not works:
        print("workers:    none: give MODULE:APP to run its handlers; tasks wait until then")
    print("Ctrl-C stops all of it.", flush=True)


def _supervise(
    server: "EmbeddedValkey",
    given: Given,
    config: "Config",
    app: str | None,
    schedulers: int,
    workers: int,
    log_level: str,
) -> int:
    from oncue.cli.serverprocess import ServerProcess
    from oncue.cli.supervisor import Supervisor

    process = ServerProcess(server)
    supervisor = Supervisor(
        # For the users' own calls of oncue.schedule_task; the flag, because an app may name another server itself.
        {"ONCUE_URL": server.url},
        stop_within_s=config.stop_timeout_s + HANDING_BACK_S,
        also=process.revive,
        watched=process.watched,
    )
    common = ["--url", server.url, "--log-level", log_level]
    for number in range(1, schedulers + 1):
        supervisor.add(f"scheduler-{number}", ["scheduler", *common, *given.arguments(SCHEDULER)])
    for number in range(1, workers + 1):
        supervisor.add(
            f"worker-{number}", ["worker", *([app] if app else []), *common, *given.arguments(WORKER)]
        )
    return supervisor.run()
