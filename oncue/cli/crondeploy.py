"""`oncue cron diff` and `oncue cron apply`: a file against the store, and the deployment of a file."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncue.cli.asking import Yes, confirm
from oncue.cli.failure import NO, printable
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json

if TYPE_CHECKING:
    from oncue.common.configtypes import Config, ScheduleConfig
    from oncue.common.store import Store
    from oncue.scheduler.schedules import Change
    from oncue.scheduler.standing import Stored

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="The file with the schedules; the server stands there, too, unless in --config."
    ),
]
Prune = Annotated[
    bool, typer.Option("--prune", help="What came from the file and is gone goes with its history, for good.")
]
_SETTINGS = (*CONNECTION, "timezone", "source", "max_data_bytes")


@settings(*_SETTINGS)
def diff(given: Given, file: File, as_json: Json = False) -> None:
    """Show what `oncue cron apply` would change in the store, and in which direction ticks move. Writes nothing.

    Exit code 1: the file has faults; the schedules that it gets wrong would stay as they are.

    Example: oncue cron diff oncue.yaml
    """
    from oncue.cli.oneshot import opened_store
    from oncue.scheduler.schedules import changes

    wanted = Given(file, given.flags)
    config = wanted.load()
    with opened_store(given if given.file else wanted) as store:
        found = changes(store, config.schedules.values(), str(wanted.source(config)), config.faulty)
        now_ms = store.now_anywhere_ms()
    rows = [_compared(change, now_ms) for change in found]
    if as_json:
        print_json(rows)
    else:
        for entry in rows:
            _print_change(entry)
        if not rows:
            print("nothing would change")
    _end(file, config)


@settings(*_SETTINGS)
def apply(given: Given, file: File, prune: Prune = False, yes: Yes = False, as_json: Json = False) -> None:
    """Deploy a file: make the store hold its schedules, whatever was there before, and record its revision.

    Exit code 1: the file has faults. The schedules that it gets wrong stay as they were, the others are applied.

    Example: oncue cron apply oncue.yaml
    """
    from oncue.cli.oneshot import opened_store
    from oncue.scheduler.schedules import apply as put

    wanted = Given(file, given.flags)
    config = wanted.load()
    source, emptied = str(wanted.source(config)), prune and config.emptied
    with opened_store(given if given.file else wanted) as store:
        gone = _gone(store, config, source) if prune else []
        if gone:
            confirm(f"{', '.join(gone)} will be deleted for good, with the history", yes=yes)
        found = put(
            store, config.schedules.values(), source, config.faulty, forced=True, prune=prune, emptied=emptied
        ).changes
    if as_json:
        print_json([{"what": line.partition(" ")[0], "name": line.partition(" ")[2]} for line in found])
    else:
        for line in found or ["nothing changed"]:
            print(line)
    _end(file, config, is_meant=emptied)


def _gone(store: "Store", config: "Config", source: str) -> list[str]:
    """The schedules that came from the file and are no longer in it, removed ones too."""
    from oncue.scheduler.standing import infos

    if not config.schedules and not config.emptied:
        return []
    kept = config.schedules.keys() | {problem.schedule for problem in config.invalid}
    return [info.name for info in infos(store) if info.source == source and info.name not in kept]


def _end(file: str, config: "Config", *, is_meant: bool = False) -> None:
    """Names the faults, and ends with code 1 if there are any. ``is_meant``: that it has no schedule is none."""
    for problem in config.invalid:
        print(f"oncue: {printable(problem.sentence)}", file=sys.stderr)
    is_empty = not config.schedules and not is_meant
    if is_empty:
        how = "; `oncue cron apply --prune` takes away those that came from it" if config.emptied else ""
        print(f"oncue: {file} has no usable schedule, so it changes nothing{how}", file=sys.stderr)
    if config.invalid or is_empty:
        raise typer.Exit(NO)


def _compared(change: "Change", now_ms: int) -> dict[str, Any]:
    from oncue.cli.edited import edited
    from oncue.cli.schedulelist import limited, shown
    from oncue.scheduler.standing import NOT_ENABLED, info

    after = change.after
    before = info(change.before) if change.before is not None and change.before.state != "removed" else None
    paused = before is not None and before.state == "paused" and before.why != NOT_ENABLED
    old = before.next_ms if before and before.state == "active" else None
    new = _next(change.before, after, now_ms) if after is not None and after.enabled and not paused else None
    return {
        "name": change.name,
        "what": change.what,
        "when": limited(after) if after is not None else None,
        "settings": edited(before.config if before else None, after),
        "next_before": shown(old, before.config if before else None),
        "next_after": shown(new, after),
        "ticks": "paused" if paused and after is not None else _direction(old, new),
    }


def _next(before: "Stored | None", after: "ScheduleConfig", now_ms: int) -> int | None:
    """The planned instant that comes next once the file is applied, in ms since 1970."""
    from oncue.scheduler.definition import defined
    from oncue.scheduler.schedule_calls import finished_ms, planned_by

    definition = defined(after, "")
    # A tick that is due is done before; one that jitter keeps for later, or the end of a run has put, may stay.
    if before is None or not (before.moved or (before.at_ms or 0) > now_ms):
        return planned_by(definition, {}, now_ms)
    finished = finished_ms(before.text, before.fields, before.at_ms)
    return planned_by(definition, before.fields, now_ms, finished)


def _direction(old: int | None, new: int | None) -> str:
    if old is None or new is None:
        return "none" if old is new else "start" if old is None else "end"
    return "same" if old == new else "earlier" if new < old else "later"


_SIGNS = {"created": "+", "edited": "~", "removed": "-"}
_WORDS = {
    "same": "next tick as before, {next_after}",
    "earlier": "ticks move earlier: next {next_before} -> {next_after}",
    "later": "ticks move later: next {next_before} -> {next_after}",
    "start": "first tick {next_after}",
    "end": "the next tick, {next_before}, does not come",
    "none": "no tick comes",
    "paused": "it stays paused",
}


def _print_change(entry: dict[str, Any]) -> None:
    what = entry["what"] if entry["what"] != "removed" else "removed, its history stays"
    print(f"{_SIGNS[entry['what']]} {entry['name']}: {what}")
    if entry["what"] == "created":
        print(f"    {printable(entry['when'])}")
    for name, (old, new) in entry["settings"].items():
        print(f"    {name}: {printable(repr(old))} -> {printable(repr(new))}")
    print("    " + _WORDS[entry["ticks"]].format(**entry))
