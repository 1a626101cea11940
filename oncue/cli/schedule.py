"""`oncue schedule`: one task, from a shell."""

import json
import re
import sys
from typing import Annotated

import typer

from oncue.app import App
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json
from oncue.common.errors import BadInput

_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")

Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="JSON; - reads it from stdin; null without it.")]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help="When: ISO 8601 with an offset, or epoch seconds."),
]
In = Annotated[
    str | None, typer.Option("--in", metavar="TIME", help="How soon: 90s, 5m, 2h, 1d, 1h30m, 250ms.")
]
Text = Annotated[bool, typer.Option("--text", help="DATA is a plain string, not JSON.")]
Id = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="An id of your own: given twice, it is one task.")
]
Priority = Annotated[int, typer.Option("--priority", metavar="0-9", help="9 goes first.")]


@settings(*CONNECTION, "max_data_bytes")
def schedule(
    given: Given,
    queue: Queue,
    data: Data = "null",
    at: At = None,
    in_: In = None,
    text: Text = False,
    id: Id = None,
    priority: Priority = 5,
    as_json: Json = False,
) -> None:
    """Schedule one task, now or later, and print its id.

    Example: oncue schedule emails '{"to": "ada@example.org"}' --in 5m
    """
    from oncue.cli.oneshot import opened_app

    later_ms = read_later(at, in_)
    content = read_data(data, text=text)
    with opened_app(given) as app:
        when = instant_of(app, at, later_ms)
        task_id = app.schedule_task(when, content, queue, id, priority)
    if as_json:
        print_json({"id": task_id})
    else:
        print(task_id)


def read_later(at: str | None, in_: str | None) -> int | None:
    """How soon by `--in`, in ms, or None without it. Raises BadInput."""
    if at is not None and in_ is not None:
        raise BadInput("give --at or --in, not both")
    return None if in_ is None else duration_ms(in_)


def instant_of(app: App, at: str | None, later_ms: int | None) -> object:
    """When, as `schedule_task` takes it; without either it is now."""
    if later_ms is None:
        return None if at is None else read_time(at)
    # From the server's clock on: by ours it would be early or late by their difference.
    return (app.store.now_anywhere_ms() + later_ms) / 1000


def duration_ms(text: str) -> int:
    """How many ms `1h30m` and the like are. Raises BadInput."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadInput(f"--in: found {text!r:.40}; write a number and ms, s, m, h or d, such as 90s or 1h30m")
    return round(sum(float(number) * _UNIT_MS[unit] for number, unit in parts))


def read_time(text: str) -> object:
    """Epoch seconds as a number, all else as it is: what `schedule_task` takes."""
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def read_data(argument: str, *, text: bool) -> object:
    """The data that the argument stands for; `-` is stdin, whose last line end is no data. Raises BadInput."""
    content = sys.stdin.read().removesuffix("\n") if argument == "-" else argument
    if text:
        return content
    try:
        value: object = json.loads(content)
    except ValueError as error:
        raise BadInput(
            f"DATA is no JSON ({error}): quote it for the shell, or give --text for a plain string"
        ) from None
    return value
