"""`oncue schedule`: one task, from a shell."""

import json
import re
import sys
from typing import Annotated, Any

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
Expires = Annotated[
    str | None,
    typer.Option("--expires", metavar="TIME", help="Dropped if it has not begun by then; TIME as for --at."),
]
ExpiresIn = Annotated[
    str | None, typer.Option("--expires-in", metavar="TIME", help="The same, TIME from now as for --in.")
]
Unique = Annotated[
    str | None,
    typer.Option(
        "--unique", metavar="KEY", help="Nothing is scheduled while a task of this key of the queue waits."
    ),
]
UniqueWhile = Annotated[
    str | None,
    typer.Option(
        "--unique-while", metavar="STATE", help="waiting, or running: also while it runs. Needs --unique."
    ),
]
UniqueFor = Annotated[
    str | None,
    typer.Option(
        "--unique-for",
        metavar="TIME",
        help="The key is held for so long, even if it is done. Needs --unique.",
    ),
]
Debounce = Annotated[
    str | None,
    typer.Option(
        "--debounce",
        metavar="KEY",
        help="Gives the waiting task of this key of the queue this time and DATA.",
    ),
]
MaxWait = Annotated[
    str | None,
    typer.Option(
        "--max-wait", metavar="TIME", help="No later than so long after the first. Needs --debounce."
    ),
]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="How long one run may take, such as 90s.")
]
RetryPolicy = Annotated[
    str | None,
    typer.Option(
        "--retry", metavar="JSON", help='Fields of a retry policy for this task, such as {"max_attempts": 2}.'
    ),
]
Durability = Annotated[
    str | None,
    typer.Option(
        "--durability", metavar="HOW", help="Waits for replicas:N to have the task, or for aof: the disk."
    ),
]


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
    expires: Expires = None,
    expires_in: ExpiresIn = None,
    unique: Unique = None,
    unique_while: UniqueWhile = None,
    unique_for: UniqueFor = None,
    debounce: Debounce = None,
    max_wait: MaxWait = None,
    timeout: Timeout = None,
    retry: RetryPolicy = None,
    durability: Durability = None,
    as_json: Json = False,
) -> None:
    """Schedule one task, now or later, and print its id: with a key, that of the task which is there then.

    Example: oncue schedule emails '{"to": "ada@example.org"}' --in 5m
    """
    from oncue.cli.oneshot import opened_app

    later_ms = read_later(at, in_)
    expires_later_ms = read_later(expires, expires_in, ("--expires", "--expires-in"))
    _check_partners(unique, unique_while, unique_for, debounce, max_wait)
    more: dict[str, Any] = {
        "unique": unique,
        "unique_while": unique_while or "waiting",
        "unique_for_s": _seconds("--unique-for", unique_for),
        "debounce": debounce,
        "max_wait_s": _seconds("--max-wait", max_wait),
        "timeout_s": _seconds("--timeout", timeout),
        "retry": None if retry is None else _policy(retry),
        "durability": durability,
    }
    content = read_data(data, text=text)
    with opened_app(given) as app:
        when = instant_of(app, at, later_ms)
        ends = instant_of(app, expires, expires_later_ms)
        task_id = app.schedule_task(when, content, queue, id, priority, expires=ends, **more)
    if as_json:
        print_json({"id": task_id})
    else:
        print(task_id)


def _check_partners(
    unique: str | None,
    unique_while: str | None,
    unique_for: str | None,
    debounce: str | None,
    max_wait: str | None,
) -> None:
    for flag, value, partner, key in (
        ("--unique-while", unique_while, "--unique", unique),
        ("--unique-for", unique_for, "--unique", unique),
        ("--max-wait", max_wait, "--debounce", debounce),
    ):
        if value is not None and key is None:
            raise BadInput(f"{flag} says more of {partner}: give that too")


def _seconds(flag: str, text: str | None) -> float | None:
    return None if text is None else duration_ms(text, flag) / 1000


def _policy(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--retry is no JSON ({error}): quote it for the shell") from None
    if not isinstance(value, dict):
        raise BadInput(f'--retry: found {text!r:.60}; give an object such as {{"max_attempts": 2}}')
    return value


def read_later(at: str | None, in_: str | None, flags: tuple[str, str] = ("--at", "--in")) -> int | None:
    """How soon by `--in`, in ms, or None without it. Raises BadInput."""
    if at is not None and in_ is not None:
        raise BadInput(f"give {' or '.join(flags)}, not both")
    return None if in_ is None else duration_ms(in_, flags[1])


def instant_of(app: App, at: str | None, later_ms: int | None) -> object:
    """When, as `schedule_task` takes it; without either it is now."""
    if later_ms is None:
        return None if at is None else read_time(at)
    # From the server's clock on: by ours it would be early or late by their difference.
    return (app.store.now_anywhere_ms() + later_ms) / 1000


def duration_ms(text: str, flag: str) -> int:
    """How many ms `1h30m` and the like are. Raises BadInput."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadInput(
            f"{flag}: found {text!r:.40}; write a number and ms, s, m, h or d, such as 90s or 1h30m"
        )
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
