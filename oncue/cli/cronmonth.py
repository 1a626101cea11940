"""`oncue cron calendar`: a month of ticks, drawn with plain characters."""

import re
import shutil
import sys
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from oncue.cli.failure import NO, printable
from oncue.cli.options import Given, Json, settings
from oncue.cli.output import print_json, print_table
from oncue.common.errors import BadInput

if TYPE_CHECKING:
    from oncue.common.configtypes import ScheduleConfig
    from oncue.common.rule import Rule

MOST = 1441
"""Ticks of one day are counted up to here: one a minute exactly, more than that as "more"."""

_NAMES = 4
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

File = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="The file with the schedules; without it that of --config."),
]
Month = Annotated[
    str | None, typer.Option("--month", metavar="YYYY-MM", help="The month; the present one without it.")
]
Zone = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="Zone of the days; the file's without it.")
]


@settings("timezone")
def calendar(
    given: Given, file: File = None, month: Month = None, tz: Zone = None, as_json: Json = False
) -> None:
    """Draw a month of ticks: each day with what runs on it, and a list below. It needs no server.

    Exit code 1: the file has faults; the schedules that it gets wrong are left out.

    Example: oncue cron calendar oncue.yaml --month 2026-12
    """
    wanted = Given(file or given.file, given.flags)
    if wanted.path is None:
        raise BadInput("name a file with schedules: `oncue cron calendar oncue.yaml`")
    config = wanted.load()
    zone = _zone(tz or config.timezone)
    days = _days(month, zone)
    rows = [_row(entry, days, zone) for entry in config.schedules.values()]
    if as_json:
        print_json(_as_data(days, zone, rows))
    else:
        _print(days, zone, rows)
    for problem in config.invalid:
        print(f"oncue: {printable(problem.sentence)}", file=sys.stderr)
    if config.invalid:
        raise typer.Exit(NO)


def _zone(name: str) -> ZoneInfo:
    from oncue.common.walltime import wall_clock

    return wall_clock(name).zone


def _days(month: str | None, zone: ZoneInfo) -> list[date]:
    """All days of the month. Raises BadInput for what is none."""
    if month is None:
        month = datetime.now(zone).strftime("%Y-%m")
    if not re.fullmatch(r"(19[7-9]\d|2[01]\d\d)-(0[1-9]|1[0-2])", month):
        raise BadInput(f"--month: found {month!r:.40}; write it like 2026-12, from 1970-01 to 2199-12")
    day = date.fromisoformat(f"{month}-01")
    days = []
    while day.isoformat().startswith(month):
        days.append(day)
        day += timedelta(days=1)
    return days


def _row(entry: "ScheduleConfig", days: list[date], zone: ZoneInfo) -> dict[str, Any]:
    """One schedule: how many ticks on each day, the first and the last of them."""
    from oncue.common.rule import Rule

    rule = Rule(entry.name, entry.timing)
    edges = [_midnight_ms(day, zone) for day in [*days, days[-1] + timedelta(days=1)]]
    counts = [0] * len(days) if entry.from_end else _counts(rule, edges)
    first = last = None
    if any(counts):
        first = rule.next_after(edges[0] - 1)
        last = rule.latest_up_to(edges[-1] - 1, edges[0] - 1)
    return {
        "name": entry.name,
        "when": rule.written + (" from the end of runs" if entry.from_end else ""),
        "enabled": entry.enabled,
        "counts": counts,
        "first": _shown(first, zone),
        "last": _shown(last, zone),
    }


def _counts(rule: "Rule", edges: list[int]) -> list[int]:
    # From tick to tick over the days without any: a yearly schedule costs no look at each day.
    counts = [0] * (len(edges) - 1)
    tick = rule.next_after(edges[0] - 1)
    while tick is not None and tick < edges[-1]:
        at = next(index for index in range(len(counts)) if tick < edges[index + 1])
        counts[at] = rule.missed(edges[at] - 1, edges[at + 1] - 1, MOST)
        tick = rule.next_after(edges[at + 1] - 1)
    return counts


def _midnight_ms(day: date, zone: ZoneInfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 1000


def _shown(ms: int | None, zone: ZoneInfo) -> str | None:
    from oncue.common.task import instant

    return None if ms is None else instant(ms).astimezone(zone).isoformat(timespec="seconds")


def _as_data(days: list[date], zone: ZoneInfo, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "month": f"{days[0]:%Y-%m}",
        "timezone": zone.key,
        "counted_up_to": MOST,
        "days": [
            {"date": day.isoformat(), "ticks": {row["name"]: row["counts"][at] for row in rows if row["counts"][at]}}
            for at, day in enumerate(days)
        ],
        "schedules": [
            {key: row[key] for key in ("name", "when", "enabled", "first", "last")} | {"ticks": sum(row["counts"])}
            for row in rows
        ],
    }  # fmt: skip


def _print(days: list[date], zone: ZoneInfo, rows: list[dict[str, Any]]) -> None:
    width = min(24, max(8, (shutil.get_terminal_size().columns - 1) // 7))
    # No strftime: names of months would follow the locale.
    print(f"{days[0]:%Y-%m}, {zone.key}\n")
    print("".join(f"{name:<{width}}" for name in _DAYS).rstrip())
    cells = [[""]] * days[0].weekday() + [_cell(day, at, rows, width - 1) for at, day in enumerate(days)]
    for begin in range(0, len(cells), 7):
        week = cells[begin : begin + 7]
        for line in range(max(map(len, week))):
            text = "".join(f"{cell[line] if line < len(cell) else '':<{width}}" for cell in week)
            print(text.rstrip())
        print()
    if rows:
        print_table(("name", "when", "ticks", "first", "last"), [_list_cells(row) for row in rows])
    else:
        print("no schedules")


def _cell(day: date, at: int, rows: list[dict[str, Any]], width: int) -> list[str]:
    """The lines of one day: its number, then the schedules with how often they run."""
    # The rare ones first: what runs all day is on every day.
    ticking = sorted((row for row in rows if row["counts"][at]), key=lambda row: row["counts"][at])
    told = [(row["name"], row["counts"][at]) for row in ticking]
    shown = told if len(told) <= _NAMES else told[: _NAMES - 1]
    lines = [str(day.day), *(_fitted(name, count, width) for name, count in shown)]
    return lines if shown is told else [*lines, f"+{len(told) - len(shown)} more"]


def _fitted(name: str, count: int, width: int) -> str:
    times = "" if count == 1 else f" {_many(count)}x"
    room = width - len(times)
    return (name if len(name) <= room else name[: room - 1] + "~") + times


def _many(count: int) -> str:
    return f"{MOST - 1}+" if count >= MOST else str(count)


def _list_cells(row: dict[str, Any]) -> list[object]:
    ticks = f"over {MOST - 1} a day" if MOST in row["counts"] else str(sum(row["counts"]))
    when = row["when"] if row["enabled"] else f"{row['when']} (not enabled)"
    return [row["name"], when, ticks, row["first"] or "-", row["last"] or "-"]
