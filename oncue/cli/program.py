"""All commands under one name."""

import re
import sys
from typing import Annotated, Any

import typer

from oncue.cli.cron import cron
from oncue.cli.dead import dead
from oncue.cli.doctor import doctor
from oncue.cli.failure import UNUSABLE, printable
from oncue.cli.schedule import schedule
from oncue.cli.scheduler import scheduler
from oncue.cli.stats import stats
from oncue.cli.task import task
from oncue.cli.up import up
from oncue.cli.worker import worker

program = typer.Typer(
    name="oncue",
    help="Delayed tasks and cron schedules on Redis or Valkey.",
    no_args_is_help=True,
    # Plain help, the same on every terminal and under every locale; rich would cost each process 5 MB.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (up, scheduler, worker, schedule, stats, doctor):
    program.command()(command)
program.add_typer(task, name="task")
program.add_typer(dead, name="dead")
program.add_typer(cron, name="cron")

_MISUSE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
"""What typer raises for a command line that it cannot use; not all of its releases tell where it is."""

_EXPECTED = re.compile(r"Input should be (?P<allowed>.*?)(?:, unable to .*)?$")
"""What newer releases say of a value."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"oncue {version('oncue')}")
        raise typer.Exit


@program.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What holds for all commands."""


def _allowed(expected: re.Match[str]) -> str:
    return "allowed: " + expected["allowed"].replace("a valid integer", "a whole number")


def run() -> None:
    """Runs the command of the command line and ends the process; a misuse is told in one sentence, as all errors are."""
    try:
        sys.exit(program(prog_name="oncue", standalone_mode=False))
    except _MISUSE as error:
        told: Any = error
        text = _EXPECTED.sub(_allowed, str(told.format_message()).rstrip(".")).replace("Value error, ", "")
        if "\n" in text:  # a group without a command: its help
            print(text, file=sys.stderr)
        else:
            help_ = f"; see {told.ctx.command_path} -h" if told.ctx is not None else ""
            print(f"oncue: {printable(text[:1].lower() + text[1:])}{help_}", file=sys.stderr)
        sys.exit(UNUSABLE)
