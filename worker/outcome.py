"""What became of a task in hand: done, to be run again, to be buried, cancelled, or released untouched."""

import traceback
from dataclasses import dataclass
from typing import Literal

import msgspec

from oncue.common.task import Task

_MOST_TEXT = 16_384
"""How many characters of a traceback are kept: the end, where the error is."""

Counted = Literal["failed", "throttled", "nothing"]
"""What a run is counted as; the words are those of lua/retry.lua and lua/bury.lua."""


@dataclass(slots=True)
class Done:
    """The handler returned; ``result`` as common/result.py makes it, for ``keep_ms``, if it is to be kept."""

    # Not frozen, unlike the others: one is made for every task, and a frozen one costs twice as much.
    task: Task
    result: bytes = b""
    keep_ms: int = 0


@dataclass(frozen=True, slots=True)
class Retry:
    """The task is delayed until ``due_ms``. ``error`` is JSON, empty where nothing is counted."""

    task: Task
    due_ms: int
    error: bytes
    counted: Counted = "failed"


@dataclass(frozen=True, slots=True)
class Bury:
    """No further run, or the record cannot be read. ``error`` is JSON."""

    task: Task
    error: bytes
    counted: Counted = "failed"


@dataclass(frozen=True, slots=True)
class Abandon:
    """The handler says that the task is cancelled."""

    task: Task


@dataclass(frozen=True, slots=True)
class Release:
    """The task goes back as it came: the worker stops."""

    task: Task


Outcome = Done | Retry | Bury | Abandon | Release


def failure(error: BaseException, at_ms: int) -> bytes:
    """An error as JSON: type, message, traceback, at_ms. Never raises, whatever a handler has raised."""
    text = "".join(traceback.format_exception(error))
    return msgspec.json.encode(
        {
            "type": _clean(type(error).__qualname__),
            "message": _clean(_message(error)[:_MOST_TEXT]),
            "traceback": _clean(text[-_MOST_TEXT:]),
            "at_ms": at_ms,
        }
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a handler's own exception may do anything here
        return "<no text: its __str__ failed>"


def _clean(text: str) -> str:
    # The name of a file that is no UTF-8 stands in an error as lone surrogates, which JSON cannot hold.
    return text.encode(errors="backslashreplace").decode()
