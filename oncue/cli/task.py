"""`oncue task`: look at tasks, cancel them, or give them another time."""

from dataclasses import asdict
from typing import Annotated, Any, get_args

import typer

from oncue.cli.asking import Yes, confirm, progress
from oncue.cli.byid import Ids, read_ids, report
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_facts, print_json, print_table
from oncue.cli.schedule import At, In, instant_of, read_later, read_time
from oncue.common.due import due_ms
from oncue.common.errors import BadInput
from oncue.common.task import State, TaskInfo, instant

task = typer.Typer(help="Look at tasks, cancel them, or give them another time.", no_args_is_help=True)

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
@settings(*CONNECTION, "keep_finished_s")
def cancel(given: Given, ids: Ids, yes: Yes = False, as_json: Json = False) -> None:
    """Cancel tasks; before several it asks.

    A task that runs is told, and not tried again. Exit code 1: one was not cancelled, since it runs, is done or dead,
    or there is no such task.

    Example: oncue task cancel 0j3kq8w2x7ab
    """
    from oncue.cli.oneshot import opened_app

    wanted = read_ids(ids)
    if len(wanted) > 1:
        confirm(f"{len(wanted)} tasks will be cancelled for good", yes=yes)
    with opened_app(given) as app, progress("cancelled", len(wanted)) as tell:
        answers = app.cancel_many(wanted, tell)
    report("cancelled", answers, as_json)


@task.command()
@settings(*CONNECTION)
def reschedule(given: Given, ids: Ids, at: At = None, in_: In = None, as_json: Json = False) -> None:
    """Give waiting tasks another time, the same for all.

    Exit code 1: one was not moved, since it runs, has ended or expires before, or there is no such task.

    Example: oncue task reschedule 0j3kq8w2x7ab --in 2h
    """
    if at is None and in_ is None:
        raise BadInput("say when: give --at or --in (or `oncue task run` to have them due now)")
    _move(given, ids, at, read_later(at, in_), as_json)


@task.command()
@settings(*CONNECTION)
def run(given: Given, ids: Ids, as_json: Json = False) -> None:
    """Make waiting tasks due now.

    Exit code 1: one was not, since it runs or has ended, or there is no such task.

    Example: oncue task run 0j3kq8w2x7ab
    """
    _move(given, ids, None, None, as_json)


def _move(given: Given, ids: list[str], at: str | None, later_ms: int | None, as_json: bool) -> None:
    from oncue.cli.oneshot import opened_app

    wanted = read_ids(ids)
    with opened_app(given) as app, progress("moved", len(wanted)) as tell:
        due = instant(due_ms(instant_of(app, at, later_ms), app.store.now_anywhere_ms()))
        answers = app.reschedule_many(wanted, due, tell)
    report("moved", answers, as_json, due=due.isoformat(timespec="milliseconds"))


@task.command("list")
@settings(*CONNECTION)
def list_(
    given: Given,
    queue: Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Those of this queue.")] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help=f"Those in one state: {', '.join(get_args(State))}."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Those due at TIME or later.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Those due at TIME or before.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Those of this unique or debounced key of the queue."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=100_000, metavar="N", help="About how many.")
    ] = 100,
    cursor: Annotated[
        str | None, typer.Option("--cursor", metavar="CURSOR", help="Where the last page ended.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List tasks, in no order; a page may be empty and not the last.

    Example: oncue task list --queue emails --state leased
    """
    from oncue.cli.oneshot import opened_app

    times: dict[str, Any] = {"from_ts": from_ and read_time(from_), "to_ts": to and read_time(to)}
    with opened_app(given) as app:
        page = app.list(
            queue=queue, state=state, **times, key=key, cursor=cursor, limit=limit, with_data=as_json
        )
    if as_json:
        print_json({"tasks": [asdict(found) for found in page.tasks], "cursor": page.cursor})
        return
    print_table(("ID", "QUEUE", "STATE", "DUE", "ATTEMPTS"), [_row(found) for found in page.tasks])
    if page.cursor:
        print(f"there are more: --cursor {page.cursor}")


def _row(found: TaskInfo) -> tuple[object, ...]:
    due = found.due.isoformat(timespec="seconds") if found.due else ""
    return found.id, found.queue or "", found.state, due, found.attempts
