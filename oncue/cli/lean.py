"""Commands that run for long, without the parser of the others: it would stay in memory, 8 MB in each process.

The parameters are those of the same functions, so there is nothing to keep in step. Whatever is not plainly
`--flag value` or an argument (help, a slip, a value that is missing) is left to typer, which explains it.
"""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from typer.models import ArgumentInfo

COMMANDS = ("up", "scheduler", "worker")


def run(words: Sequence[str]) -> bool:
    """Runs the command if it is one of these and its words are plain; False if not."""
    if not words or words[0] not in COMMANDS:
        return False
    command: Callable[..., None] = getattr(import_module(f"oncue.cli.{words[0]}"), words[0])
    values = parsed(command, words[1:])
    if values is None:
        return False
    command(**values)
    return True


def parsed(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """The command's arguments by name, or None where typer has to judge."""
    parameters = inspect.signature(command).parameters
    arguments = [name for name, parameter in parameters.items() if _is_argument(parameter)]
    flags = {"--" + name.replace("_", "-"): name for name in parameters if name not in arguments}
    switches = _switches(parameters)
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word in switches:
            name, given = switches[word]
        elif word.startswith("-"):
            flag, equals, value = word.partition("=")
            given = value if equals else next(rest, None)
            # A value with a dash may be a flag whose own value was forgotten before it.
            if f"--no{flag[1:]}" in switches or flag not in flags or given is None or given.startswith("-"):
                return None
            name = flags[flag]
        elif arguments:
            name, given = arguments.pop(0), word
        else:
            return None
        values[name] = given
    return _typed(parameters.values(), values)


def _switches(parameters: Mapping[str, inspect.Parameter]) -> dict[str, tuple[str, Any]]:
    """`--flag` and `--no-flag`, which take no value."""
    found: dict[str, tuple[str, Any]] = {}
    for name, parameter in parameters.items():
        if bool in typing.get_args(typing.get_args(parameter.annotation)[0]):
            flag = name.replace("_", "-")
            found |= {f"--{flag}": (name, True), f"--no-{flag}": (name, False)}
    return found


def _typed(parameters: typing.Iterable[inspect.Parameter], values: dict[str, Any]) -> dict[str, Any] | None:
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        if name not in values:
            if default is inspect.Parameter.empty:
                return None
            values[name] = default
        elif _is_number(parameter):
            if not (values[name].isascii() and values[name].isdigit() and int(values[name]) > 0):
                return None
            values[name] = int(values[name])
    return values


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(isinstance(extra, ArgumentInfo) for extra in getattr(parameter.annotation, "__metadata__", ()))


def _is_number(parameter: inspect.Parameter) -> bool:
    kind = typing.get_args(parameter.annotation)[0]
    return kind is int or int in typing.get_args(kind)
