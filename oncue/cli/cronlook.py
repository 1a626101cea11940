"""`oncue cron`: what the store holds: the schedules, and what became of their ticks."""

from typing import Annotated, Any

import typer

from oncue.cli.cronchange import Name
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json, print_table, time_cell

Entries = Annotated[int, typer.Option("--count", min=1, metavar="N", help="How many entries, the newest.")]


@settings(*CONNECTION)
def list_(given: Given, as_json: Json = False) -> None:
    """List the schedules in the store: next tick, last one and how late it was, missed ones, state and reason.

    With --config those, too, that the file gets wrong.

    Example: oncue cron list --config oncue.yaml
    """
    from oncue.cli.cronfile import invalid_rows
    from oncue.cli.oneshot import opened_store
    from oncue.cli.schedulelist import TABLE, cells, reasons, row
    from oncue.scheduler.standing import infos

    with opened_store(given) as store:
        rows: list[dict[str, Any]] = [row(entry) for entry in infos(store)]
    rows += invalid_rows(given)
    if as_json:
        print_json(rows)
    elif not rows:
        print("no schedules: `oncue cron apply FILE` puts those of a file here")
    else:
        print_table(TABLE, [cells(entry) for entry in rows])
        for line in reasons(rows):
            print(line)


@settings(*CONNECTION)
def history(given: Given, name: Name, count: Entries = 20, as_json: Json = False) -> None:
    """Show what became of a schedule's last planned instants, the newest first; a hundred are kept.

    Exit code 1: there is none of that name.

    Example: oncue cron history payroll --count 5
    """
    from oncue.cli.oneshot import opened_app
    from oncue.cli.schedulelist import shown

    with opened_app(given) as app:
        config = app.schedules.get(name).config
        events = app.schedules.history(name)[:count]
    zoned = [
        event | {key: shown(event[key], config, "UTC") for key in ("planned", "to", "at") if key in event}
        for event in events
    ]
    if as_json:
        print_json(zoned)
    elif not zoned:
        print("nothing yet")
    else:
        print_table(("planned", "what", "late", "task", "remark"), [_history_cells(event) for event in zoned])


def _history_cells(event: dict[str, Any]) -> list[object]:
    from oncue.cli.schedulelist import late_words

    remarks = [str(event.get("reason") or "")]
    if event.get("blocked"):
        remarks.append("waits for the run before")
    if event.get("count"):
        remarks.append(f"{event['count']} ticks up to {event.get('to')}")
    remark = "; ".join(text for text in remarks if text)
    return [
        time_cell(event.get("planned")),
        event.get("what", "-"),
        late_words(event.get("late")) or "-",
        event.get("id") or "-",
        remark or "-",
    ]
