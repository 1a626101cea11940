"""`oncue dead`: the tasks that have failed for good."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncue.app import App
from oncue.cli.asking import Yes, confirm, progress
from oncue.cli.byid import read_ids, report
from oncue.cli.failure import printable
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_facts, print_json, print_table
from oncue.cli.schedule import read_time
from oncue.common.errors import BadInput
from oncue.common.task import TaskInfo, instant

if TYPE_CHECKING:
    from oncue.common.deadletters import DeadLetters
    from oncue.common.store import Progress

dead = typer.Typer(help="List, redrive or purge the tasks that have failed for good.", no_args_is_help=True)

Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID...", help="The tasks, - for those on stdin, one a line; without any, those of the filter."
    ),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Those of this queue.")]
Error = Annotated[
    str | None, typer.Option("--error", metavar="TYPE", help="Those whose last error is a TYPE.")
]
From = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Those that died at TIME or later.")]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Those that died at TIME or before.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]


@dead.command("list")
@settings(*CONNECTION)
def list_(
    given: Given,
    queue: Queue = None,
    error: Error = None,
    from_: From = None,
    to: To = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="The oldest first.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="How many at most.")
    ] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", metavar="CURSOR", help="Where the last page ended.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List dead tasks, the newest first, with their last errors.

    Example: oncue dead list --queue emails --error TimeoutError
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        page = app.dead.list(
            **_filter(queue, error, from_, to), newest_first=not oldest, limit=limit, cursor=cursor
        )
    if as_json:
        print_json({"tasks": [asdict(task) for task in page.tasks], "cursor": page.cursor})
        return
    print_table(("ID", "QUEUE", "DIED", "ATTEMPTS", "ERROR"), [_row(task) for task in page.tasks])
    if page.cursor:
        print(f"there are more: --cursor {page.cursor}")


def _row(task: TaskInfo) -> tuple[object, ...]:
    error = task.error or {}
    died = _when(error.get("at_ms"))
    return task.id, task.queue, died, task.attempts, f"{error.get('type')}: {error.get('message')}"


def _when(ms: object) -> str:
    return instant(ms).isoformat(timespec="seconds") if isinstance(ms, int) and ms > 0 else ""


@dead.command()
@settings(*CONNECTION)
def show(given: Given, id: Id, as_json: Json = False) -> None:
    """Show a dead task: data, and its failures with tracebacks, the last first.

    Exit code 1: there is no such task, or it is not dead.

    Example: oncue dead show 0j3kq8w2x7ab
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        known: dict[str, Any] = asdict(app.dead.get(id))
    if as_json:
        print_json(known)
        return
    history = known.pop("history")
    known["due"] = known["due"].isoformat(timespec="milliseconds") if known["due"] else None
    print_facts([(name, value) for name, value in known.items() if value is not None and name != "error"])
    for failure in history:
        print(f"\n{_when(failure.get('at_ms'))} {printable(str(failure.get('type')))}:")
        lines = str(failure.get("traceback") or failure.get("message")).splitlines()
        print("\n".join(f"    {printable(line)}" for line in lines))


@dead.command()
@settings(*CONNECTION)
def redrive(
    given: Given,
    ids: Ids = None,
    queue: Queue = None,
    error: Error = None,
    from_: From = None,
    to: To = None,
    all_: All = False,
    into: Annotated[
        str | None, typer.Option("--into", metavar="NAME", help="Into this queue instead of their own.")
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Make dead tasks ready once more, as if they had never run.

    Exit code 1: one of the ids was not redriven, since it is not dead, or there is no such task.

    Example: oncue dead redrive --queue emails --error TimeoutError --yes
    """
    chosen, wanted = _chosen(ids, _filter(queue, error, from_, to), all_)
    if wanted is None:
        confirm("all dead tasks of this filter will be redriven", yes=yes)
    _carry_out(
        given,
        "redriven",
        wanted,
        queue,
        lambda letters, ids, tell: letters.redrive_ids(ids, into, tell),
        lambda letters, tell: letters.redrive_many(**chosen, to_queue=into, progress=tell),
        as_json,
    )


@dead.command()
@settings(*CONNECTION, "keep_finished_s")
def purge(
    given: Given,
    ids: Ids = None,
    queue: Queue = None,
    error: Error = None,
    from_: From = None,
    to: To = None,
    all_: All = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Forget dead tasks for good.

    Exit code 1: one of the ids was not purged, since it is not dead, or there is no such task.

    Example: oncue dead purge --to 2026-01-01T00:00:00Z --yes
    """
    chosen, wanted = _chosen(ids, _filter(queue, error, from_, to), all_)
    which = "all dead tasks of this filter" if wanted is None else f"{len(wanted)} dead tasks"
    confirm(f"{which} will be forgotten for good", yes=yes)
    _carry_out(
        given,
        "purged",
        wanted,
        queue,
        lambda letters, ids, tell: letters.purge_ids(ids, tell),
        lambda letters, tell: letters.purge_many(**chosen, progress=tell),
        as_json,
    )


def _filter(queue: str | None, error: str | None, from_: str | None, to: str | None) -> dict[str, Any]:
    times = {"from_ts": from_ and read_time(from_), "to_ts": to and read_time(to)}
    return {"queue": queue, "error": error, **times}


def _chosen(
    ids: list[str] | None, filters: dict[str, Any], everything: bool
) -> tuple[dict[str, Any], list[str] | None]:
    """The filter, and the ids, None without any."""
    filtered = any(value is not None for value in filters.values())
    if sum((bool(ids), filtered, everything)) != 1:
        raise BadInput("say which: give ids, or a filter (--queue, --error, --from, --to), or --all")
    return filters, read_ids(ids) if ids else None


def _carry_out(
    given: Given,
    done: str,
    ids: list[str] | None,
    queue: str | None,
    by_id: "Callable[[DeadLetters, list[str], Progress], dict[str, str]]",
    by_filter: "Callable[[DeadLetters, Progress], int]",
    as_json: bool,
) -> None:
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        if ids is not None:
            with progress(done, len(ids)) as tell:
                answers = by_id(app.dead, ids, tell)
            report(done, answers, as_json)
            return
        with progress(done, _dead_in(app, queue)) as tell:
            number = by_filter(app.dead, tell)
    print_json({done: number}) if as_json else print(f"{done}: {number}")


def _dead_in(app: App, queue: str | None) -> int:
    counts = app.store.counts()
    return sum(states.get("dead", 0) for name, states in counts.items() if queue in (None, name))
