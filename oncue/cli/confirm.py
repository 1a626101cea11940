"""Before what cannot be undone: a question on a terminal, `--yes` everywhere else."""

import sys
from typing import Annotated

import typer

from oncue.cli.failure import NO
from oncue.common.errors import BadInput

Yes = Annotated[bool, typer.Option("--yes", help="Do it without a question.")]


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
