"""What commands share that change much: the question before what cannot be undone, and a bar while it takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from oncue.cli.failure import NO
from oncue.common.errors import BadInput

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without a question.")]


def confirm(what: str, *, yes: bool) -> None:
    """Goes on with a yes. Ends the command with code 1 for a no; raises BadInput where nobody can be asked."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"{what}: there is no terminal to ask on; give --yes")
    # On stderr: stdout may go into a file.
    print(f"{what}. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        print("nothing was changed", file=sys.stderr)
        raise typer.Exit(NO)


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
