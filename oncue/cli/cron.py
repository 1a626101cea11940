"""`oncue cron`: check a file, see what comes, and what the store holds."""

from typing import Annotated, Any

import typer

from oncue.cli.failure import NO
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json, print_table

cron = typer.Typer(
    help="Check schedules, see their next ticks, list those in the store.", no_args_is_help=True
)

File = Annotated[str, typer.Argument(metavar="FILE", help="The file with the schedules (YAML).")]
What = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME|EXPR", help="A schedule of the file, or an expression; all of the file without it."
    ),
]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="Time zone, such as Europe/Berlin.")]
From = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="ISO 8601 with an offset; now without it.")
]
Count = Annotated[
    int, typer.Option("--count", min=1, max=10_000, metavar="N", help="How many ticks of each.")
]


@cron.command()
def check(file: File, as_json: Json = False) -> None:
    """Check a file: every fault with its place, and warnings about what is allowed but seldom meant.

    Exit code 1: the file has faults.

    Example: oncue cron check oncue.yaml
    """
    from oncue.cli.cronfile import check_file

    found = check_file(file)
    if as_json:
        print_json(found)
    else:
        for problem in found["problems"]:
            print(problem["sentence"])
        for warning in found["warnings"]:
            print(f"{file}:{warning['line']}: warning: schedules.{warning['schedule']}: {warning['text']}")
        if found["ok"]:
            print(f"{file}: ok, {found['schedules']} schedules")
    if not found["ok"]:
        raise typer.Exit(NO)


@cron.command()
@settings("timezone")
def preview(
    given: Given,
    what: What = None,
    tz: Zone = None,
    start: From = None,
    count: Count = 5,
    as_json: Json = False,
) -> None:
    """Show what a schedule means and when it comes next. It needs no server.

    Example: oncue cron preview "30 2 * * *" --tz Europe/Berlin --count 3
    """
    from oncue.cli.cronfile import previews

    found = previews(given, what, tz, start, count)
    if as_json:
        print_json(found)
        return
    for entry in found:
        print(f"{entry['name']}: {entry['cron']}" if entry["name"] else entry["cron"])
        print(f"  {entry['meaning']}")
        for warning in entry["warnings"]:
            print(f"  warning: {warning}")
        for tick in entry["ticks"] or ["no tick ever comes"]:
            print(f"  {tick}")


@cron.command("list")
@settings(*CONNECTION)
def list_(given: Given, as_json: Json = False) -> None:
    """List the schedules in the store with their next ticks; with --config those, too, that the file gets wrong.

    Example: oncue cron list --config oncue.yaml
    """
    from oncue.cli.cronfile import invalid_rows
    from oncue.cli.oneshot import opened_store
    from oncue.cli.schedulelist import row
    from oncue.scheduler.standing import infos

    with opened_store(given) as store:
        rows: list[dict[str, Any]] = [row(entry) for entry in infos(store)]
    rows += invalid_rows(given)
    if as_json:
        print_json(rows)
    elif not rows:
        print("no schedules: `oncue scheduler --config FILE` puts those of a file here")
    else:
        head = ("name", "cron", "timezone", "queue", "next", "state", "valid")
        print_table(head, [[entry[name] or "-" for name in head[:-1]] + [_validity(entry)] for entry in rows])


def _validity(entry: dict[str, Any]) -> str:
    return "valid" if entry["valid"] else f"invalid: {entry['reason']}"
