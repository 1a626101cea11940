"""Settings as flags: every command takes the same ones under the same names, and hands them on unread.

They are read and checked with the file and the variables (oncue.common.config), so a refusal sounds the same everywhere.
"""

import functools
import inspect
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from oncue.common.configtypes import Config

_log = logging.getLogger("oncue.config")

# A password is missing on purpose: other users of the host can read a command line.
CONNECTION = ("url", "username", "password_file", "ca_file", "namespace", "shards")
DEAD = ("dead_max_age_s", "dead_max_count", "dead_max_bytes")
SCHEDULER = (*CONNECTION, "timezone", "source", "max_data_bytes", "keep_finished_s", *DEAD)
ALLOW = ("allow_commands", "allow_http")
WORKER = (
    *CONNECTION,
    *("concurrency", "lease_s", "stop_timeout_s", "max_data_bytes", "keep_finished_s"),
    *ALLOW,
)

_HELP = {
    "url": (
        "URL",
        "The server, such as redis://localhost:6379/0; without it ONCUE_URL, or a running `oncue up`.",
    ),
    "username": ("NAME", "User of the server."),
    "password_file": ("FILE", "File that holds the server's password alone."),
    "ca_file": ("FILE", "Certificates (PEM) that the server's is checked against."),
    "namespace": ("NAME", "First part of every key on the server."),
    "shards": ("N", "Hash tags that the keys are spread over; the same in every process."),
    "timezone": ("ZONE", "Zone of schedules that name none, such as Europe/Berlin."),
    "source": ("NAME", "What the file's schedules are marked with, wherever it lies; without it, its path."),
    "lease_s": ("SECONDS", "How long a worker keeps a task without a sign of life."),
    "stop_timeout_s": ("SECONDS", "How long running tasks may go on when a worker is stopped."),
    "concurrency": ("N", "Tasks that run at once in a worker process."),
    "max_data_bytes": ("BYTES", "Largest data of a task."),
    "keep_finished_s": ("SECONDS", "How long a finished task can still be looked up."),
    "dead_max_age_s": ("SECONDS", "How long a dead task is kept; 0 for ever."),
    "dead_max_count": ("N", "Dead tasks that are kept in each shard, the newest; 0 for all."),
    "dead_max_bytes": ("BYTES", "What dead tasks may take in each shard; 0 for any size."),
    "allow_commands": ("", "Run the commands of schedules, those of the file's list if it has one."),
    "allow_http": ("", "Call the URLs of schedules, those of the file's list if it has one."),
}

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Lifeline = Annotated[int | None, typer.Option("--lifeline", hidden=True)]
Name = Annotated[str | None, typer.Option("--name", hidden=True)]
_File = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Settings and schedules (YAML); without it ONCUE_CONFIG."),
]


@dataclass
class Given:
    """What the command line says of the configuration."""

    file: str | None = None
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str | None:
        """The file's absolute path."""
        found = self.file or os.environ.get("ONCUE_CONFIG")
        return os.path.abspath(found) if found else None

    def load(self, **instead: Any) -> "Config":
        """The whole configuration; `instead` replaces flags. Raises ConfigError."""
        from oncue.common.config import load
        from oncue.common.errors import BadInput

        if self.file == "-":
            raise BadInput("settings are not read from stdin (-): name a file")
        config = load(self.file, os.environ, {**self.flags, **instead})
        # After the load, which has refused a URL that cannot be read: here a colon before the last @ is a password's.
        if (self.flags.get("url") or "").rpartition("@")[0].partition("://")[2].partition(":")[2]:
            _log.warning(
                "other users of this host can read the password in --url: set ONCUE_URL or --password-file instead"
            )
        return config

    def source(self, config: "Config") -> str | None:
        """What the file's schedules are marked with; None without a file."""
        return self.path and (config.source or self.path)

    def arguments(self, accepted: Sequence[str]) -> list[str]:
        """The same once more, for a child process that accepts these settings."""
        words = ["--config", self.file] if self.file else []
        for name, value in self.flags.items():
            if value is None or name not in accepted:
                continue
            words += _switch(name, value) if isinstance(value, bool) else [_flag(name), str(value)]
        return words


def settings(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the flags of these settings and `--config`; it gets them as its first argument, a `Given`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            flags = {name: values.pop(name) for name in names}
            command(Given(values.pop("config"), flags), **values)

        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        more = [_parameter("config", _File), *(_parameter(name, _option(name)) for name in names)]
        everything = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *more)]
        # Typer reads both: the signature for defaults and order, the annotations for types.
        run.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in everything}
        return run

    return decorate


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _option(name: str) -> Any:
    metavar, text = _HELP[name]
    if name in ALLOW:
        both = "/".join((*_switch(name, True), *_switch(name, False)))
        return Annotated[bool | None, typer.Option(both, help=text, show_default=False)]
    return Annotated[str | None, typer.Option(_flag(name), metavar=metavar, help=text, show_default=False)]


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _switch(name: str, on: bool) -> list[str]:
    return [_flag(name if on else f"no_{name}")]
