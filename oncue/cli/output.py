"""What commands print: tables for people, JSON for scripts. Logs and errors go to stderr, never here."""

import base64
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from oncue.cli.failure import printable

_NO_TERMINAL = 10_000
"""Columns of what is no terminal: a line of a table stays a line, for grep and cut."""


def print_json(value: object) -> None:
    """One JSON document; times are ISO 8601 in UTC, bytes an object with the key base64."""
    print(json.dumps(value, indent=2, default=_plain))


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns under bold heads (colour on terminals alone); cells that could steer a terminal are made harmless."""
    # Imported here: a long-running process never prints a table, and should not pay for it.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, show_edge=False)
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        # Text, since a cell like "[red]" is data and no markup.
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    Console(width=None if sys.stdout.isatty() else _NO_TERMINAL, highlight=False).print(table)


def time_cell(time: str | None) -> str:
    """A time for a cell: ISO 8601 for pipes; on a terminal with a blank, where a narrow column may break it."""
    if time is None:
        return "-"
    return time.replace("T", " ", 1) if sys.stdout.isatty() else time


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """One `name: value` per line."""
    widest = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        text = printable(value) if isinstance(value, str) else json.dumps(value, default=_plain)
        print(f"{name + ':':<{widest + 1}} {text}")
