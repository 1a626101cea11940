"""`oncue task`: look at one task, or cancel it."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from oncue.cli.failure import NO
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_facts, print_json

task = typer.Typer(help="Look at one task, or cancel it.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id, as `oncue schedule` printed it.")]


@task.command()
@settings(*CONNECTION)
def show(given: Given, id: Id, as_json: Json = False) -> None:
    """Show what is known of a task: state, due time, data, attempts, last error.

    Exit code 1: there is no such task, or it finished some time ago.

    Example: oncue task show 0j3kq8w2x7ab
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        known: dict[str, Any] = asdict(app.get(id))
    if as_json:
        print_json(known)
        return
    if known["due"] is not None:
        known["due"] = known["due"].isoformat(timespec="milliseconds")
    # The failures before the last are for `oncue dead show` and JSON.
    print_facts([(name, value) for name, value in known.items() if value is not None and name != "history"])


@task.command()
@settings(*CONNECTION)
def cancel(given: Given, id: Id, as_json: Json = False) -> None:
    """Cancel a waiting task.

    Exit code 1: too late, since it runs, is done or dead; or there is no such task.

    Example: oncue task cancel 0j3kq8w2x7ab
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        cancelled = app.cancel(id)
    if as_json:
        print_json({"id": id, "cancelled": cancelled})
    else:
        print("cancelled: it will not run" if cancelled else "too late: it runs, is done or dead")
    if not cancelled:
        raise typer.Exit(NO)
