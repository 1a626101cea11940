"""`oncue cron`: what changes one schedule in the store."""

import getpass
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from oncue.cli.asking import Yes, confirm
from oncue.cli.failure import printable
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json
from oncue.common.errors import BadInput, WrongState

if TYPE_CHECKING:
    from oncue.scheduler.standing import ScheduleInfo

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason: it stands in the list.")]
By = Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who does it; your login without it.")]
First = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="TIME",
        help="First instant: ISO 8601, local time of the schedule's zone or with an offset.",
    ),
]
Last = Annotated[str, typer.Option("--to", metavar="TIME", help="Last instant, or last day, included.")]
Force = Annotated[bool, typer.Option("--force", help="Run again what has run already.")]
ForGood = Annotated[bool, typer.Option("--for-good", help="The history goes, too.")]


@settings(*CONNECTION)
def pause(given: Given, name: Name, why: Why = "", by: By = None, as_json: Json = False) -> None:
    """Pause a schedule: no more ticks until it is resumed, whatever files say; tasks that are there go on.

    Exit code 1: there is none of that name, or nothing to pause.

    Example: oncue cron pause payroll --why "audit until Friday"
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        info = app.schedules.pause(name, by=_login() if by is None else by, why=why)
    _tell(info, as_json)


@settings(*CONNECTION)
def resume(given: Given, name: Name, as_json: Json = False) -> None:
    """Let a paused schedule go on with its next tick; those that came meanwhile count as skipped.

    Exit code 1: there is none of that name, or it is not paused.

    Example: oncue cron resume payroll
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        info = app.schedules.resume(name)
    _tell(info, as_json)


@settings(*CONNECTION)
def trigger(given: Given, name: Name, as_json: Json = False) -> None:
    """Make a task of a schedule now, beside its ticks, and print the task's id.

    Exit code 1: there is none of that name.

    Example: oncue cron trigger payroll
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        task_id = app.schedules.trigger(name)
    if as_json:
        print_json({"id": task_id})
    else:
        print(task_id)


@settings(*CONNECTION)
def backfill(
    given: Given, name: Name, first: First, last: Last, force: Force = False, as_json: Json = False
) -> None:
    """Make the tasks of planned instants of the past. What has run already is left out, unless forced.

    Exit code 1: there is none of that name, or it was edited meanwhile.

    Example: oncue cron backfill payroll --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z
    """
    from oncue.cli.oneshot import opened_app
    from oncue.common.clock import host_now_ms
    from oncue.common.localtime import first_ms, last_ms
    from oncue.common.task import instant
    from oncue.common.walltime import wall_clock

    with opened_app(given) as app:
        config = app.schedules.get(name).config
        clock = wall_clock(config.timezone if config else "UTC")
        start, end = first_ms("--from", first, clock), last_ms("--to", last, clock)
        if end < start:
            raise BadInput(f"--to: found {last!r:.60}, which is before --from")
        if end > host_now_ms():
            print("oncue: --to lies in the future: what is due by now is taken", file=sys.stderr)
        made, there = app.schedules.backfill(name, instant(start), instant(end), forced=force, told=_progress)
    if as_json:
        print_json({"made": made, "there": there})
        return
    for task_id in made:
        print(task_id)
    had = f"; {len(there)} had run already" if there else ""
    print(f"{len(made)} tasks were made{had}", file=sys.stderr)


@settings(*CONNECTION)
def remove(
    given: Given, name: Name, for_good: ForGood = False, yes: Yes = False, as_json: Json = False
) -> None:
    """Remove a schedule; its tasks go on, and its history stays. A newer version of its file brings it back.

    Exit code 1: there is none of that name, or the answer was no.

    Example: oncue cron remove payroll --yes
    """
    from oncue.cli.oneshot import opened_app

    with opened_app(given) as app:
        if app.schedules.get(name).state == "removed" and not for_good:
            raise WrongState(f"schedule {name} was removed already; --for-good takes its history, too")
        history = " with its history, for good" if for_good else ""
        confirm(f"schedule {name} will be removed{history}", yes=yes)
        app.schedules.remove(name, for_good=for_good)
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        print(f"removed {name}{history}")


def _tell(info: "ScheduleInfo", as_json: bool) -> None:
    from oncue.cli.schedulelist import row, state_words

    entry = row(info)
    if as_json:
        print_json(entry)
    else:
        following = "" if entry["state"] == "paused" else f", next {entry['next'] or 'never'}"
        print(printable(f"{entry['name']}: {state_words(entry)}{following}"))


def _login() -> str:
    try:
        return getpass.getuser()
    # In a container a user id may have no name.
    except (OSError, KeyError):
        return ""


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\r{done} of {of} ticks", end=end, file=sys.stderr, flush=True)
