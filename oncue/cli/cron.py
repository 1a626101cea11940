"""`oncue cron`: check a file, see what comes; and all commands about schedules under one name."""

import sys
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Literal

import typer

from oncue.cli.cronchange import backfill, pause, remove, resume, trigger
from oncue.cli.crondeploy import apply, diff
from oncue.cli.cronimport import import_
from oncue.cli.cronlook import history, list_
from oncue.cli.cronmonth import calendar
from oncue.cli.failure import NO, printable
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json

cron = typer.Typer(
    help="Check, deploy and change schedules; see what they mean, when they come, and what became of them.",
    no_args_is_help=True,
)

File = Annotated[
    str, typer.Argument(metavar="FILE", help="The file with the schedules (YAML); - reads stdin.")
]
What = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME|EXPR", help="A schedule of the file or the store, or an expression; all without it."
    ),
]
Expr = Annotated[str, typer.Argument(metavar="EXPR", help="A cron expression, in quotes.")]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Time zone, such as Europe/Berlin.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="ISO 8601, local time of the zone or with an offset; now without it."
    ),
]
Days = Annotated[
    Literal["either", "both"],
    typer.Option("--days", help="Which day field has to match: either (OR, or as a * says), or both (AND)."),
]
Gap = Annotated[
    Literal["run", "skip"],
    typer.Option(
        "--gap", help="Whether a fixed time that a clock change skips runs after it, or not at all."
    ),
]
Count = Annotated[
    int, typer.Option("--count", min=1, max=10_000, metavar="N", help="How many ticks of each.")
]


@cron.command()
def check(file: File, as_json: Json = False) -> None:
    """Check a file: every fault with its place, and warnings about what is allowed but seldom meant.

    Exit code 1: the file has faults. Exit code 2: it cannot be read.

    Example: oncue cron check oncue.yaml
    """
    from oncue.cli.cronfile import check_file

    found = check_file(file)
    file = "stdin" if file == "-" else file
    if as_json:
        print_json(found)
    else:
        for problem in found["problems"]:
            print(problem["sentence"])
        for (name, line), group in groupby(found["warnings"], itemgetter("schedule", "line")):
            warnings = list(group)
            if not name:
                print(f"{file}: warning: {warnings[0]['text']}")
                continue
            place = f"{file}:{line}: {{}}: schedules.{name}: {{}}"
            for warning in warnings:
                print(place.format("warning", warning["text"]))
            print(place.format("next ticks", ", ".join(warnings[0]["ticks"]) or "none"))
        if found["ok"]:
            print(f"{file}: ok, {found['schedules']} schedule{'' if found['schedules'] == 1 else 's'}")
    if not found["ok"]:
        raise typer.Exit(NO)


@cron.command()
@settings(*CONNECTION, "timezone")
def preview(
    given: Given,
    what: What = None,
    tz: Zone = None,
    start: From = None,
    count: Count = 5,
    as_json: Json = False,
) -> None:
    """Show what a schedule means and when it comes next: one of the file, without a file of the store, or an expression.

    Exit code 1: the file has faults, and the schedules that it gets wrong are left out; or there is none of the name.

    Example: oncue cron preview "30 2 * * *" --tz Europe/Berlin --count 3
    """
    from oncue.cli.cronfile import previews

    found, faults = previews(given, what, tz, start, count)
    if as_json:
        print_json(found)
    else:
        _print_previews(found)
    for problem in faults:
        print(f"oncue: {printable(problem.sentence)}", file=sys.stderr)
    if faults:
        raise typer.Exit(NO)


@cron.command()
def explain(
    expr: Expr,
    tz: Zone = None,
    days: Days = "either",
    gap: Gap = "run",
    start: From = None,
    count: Count = 5,
    as_json: Json = False,
) -> None:
    """Say in words what a cron expression means, warn of what is seldom meant, and show its next ticks.

    Example: oncue cron explain "0 0 13 * fri" --days both --tz Europe/Berlin
    """
    from oncue.cli.cronfile import explained
    from oncue.common.timing import Timing

    found = explained(Timing(cron=expr, timezone=tz or "UTC", days=days, gap=gap), start, count)
    if as_json:
        print_json(found)
    else:
        _print_previews([found])


def _print_previews(found: list[dict[str, Any]]) -> None:
    for entry in found:
        print(f"{entry['name']}: {entry['cron']}" if entry["name"] else entry["cron"])
        print(f"  {entry['meaning']}")
        for warning in entry["warnings"]:
            print(f"  warning: {warning}")
        if entry["estimated"]:
            print("  estimates, as if each run took no time:")
        for tick in entry["ticks"] or ["no tick ever comes"]:
            print(f"  {tick}")


for name, command in {
    "list": list_,
    "history": history,
    "diff": diff,
    "apply": apply,
    "pause": pause,
    "resume": resume,
    "trigger": trigger,
    "backfill": backfill,
    "remove": remove,
    "import": import_,
    "calendar": calendar,
}.items():
    cron.command(name)(command)
