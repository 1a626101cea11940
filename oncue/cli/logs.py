"""The log of a process: one line per event on stderr, `time level name message`."""

import logging
from typing import Annotated

import typer

from oncue.common.errors import BadInput

LEVELS = ("debug", "info", "warning", "error")

LogLevel = Annotated[str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error.")]


def begin(level: str, name: str | None = None) -> None:
    """Logs of this process and of the user's code go to stderr from now on; `name` tells processes of one terminal apart.

    Raises BadInput for a level that does not exist.
    """
    if level not in LEVELS:
        raise BadInput(f"--log-level: found {level!r:.40}; allowed: {', '.join(LEVELS)}")
    prefix = f"{name.replace('%', ''):<11} | " if name else ""
    # Each record is one write, so that lines of several processes on one terminal do not mix.
    logging.basicConfig(
        level=level.upper(), format=f"{prefix}%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    for handler in logging.getLogger().handlers:
        if handler.formatter is not None:
            handler.formatter.default_msec_format = "%s.%03d"
