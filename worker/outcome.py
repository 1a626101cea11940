"""What became of a task in hand: done, to be retried, to be buried, or released untouched."""

import traceback
from dataclasses import dataclass

import msgspec

from oncue.common.task import Task

_MOST_TEXT = 16_384
"""How many characters of a traceback are kept: the end, where the error is."""


@dataclass(frozen=True, slots=True)
class Done:
    """The handler returned."""

    task: Task


@dataclass(frozen=True, slots=True)
class Retry:
    """The handler failed; the task is delayed until ``due_ms``. ``error`` is JSON."""

    task: Task
    due_ms: int
    error: bytes


@dataclass(frozen=True, slots=True)
class Bury:
    """The handler failed for the last time, or the record cannot be read. ``error`` is JSON."""

    task: Task
    error: bytes


@dataclass(frozen=True, slots=True)
class Release:
    """The task goes back as it came: the worker stops."""

    task: Task


Outcome = Done | Retry | Bury | Release


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
