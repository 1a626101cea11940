"""What commands on many tasks share: the question before what cannot be undone, and a bar while it takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from oncue.cli.failure import UNUSABLE

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, yes: bool) -> None:
    """Goes on if a person agrees, or `--yes` was given; else ends the command. Nobody is asked without a terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        print(f"oncue: {question} Give --yes to do it without being asked", file=sys.stderr)
        raise typer.Exit(UNUSABLE)
    if not typer.confirm(question, err=True):
        raise typer.Exit(UNUSABLE)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """A bar on stderr, on terminals alone; what it gives is told how many are done so far."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task(what, total=total)
        yield lambda done: bar.update(shown, completed=done)
