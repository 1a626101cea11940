"""What `add_periodic_task` adds to the schedule when an app of Celery runs, as entries like those of `beat_schedule`."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from oncue.cli.literals import Literals, Unread, Use

_ADD = re.compile("add_periodic_task")
_GIVEN = ("schedule", "sig", "args", "kwargs", "name")
_TASK = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_COMPUTED = "what it adds would have to be computed, and no code is run here"


@dataclass(frozen=True)
class _Signature:
    task: str
    args: Any = field(default_factory=list)
    kwargs: Any = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def takes_none(self) -> bool:
        """Whether it is immutable, so that arguments beside it count for nothing."""
        return self.options.get("immutable") is True


def added(literals: Literals) -> Iterator[tuple[Use, dict[Any, Any]]]:
    """By each `add_periodic_task(schedule, sig, args, kwargs, name, **options)` its entry by its name, or a ``LeftOut``."""
    uses = [use for use in literals.uses(_ADD) if isinstance(use, ast.expr)]
    count = Counter(use.lineno for use in uses)
    for use in uses:
        call = literals.parent(use)
        if isinstance(call, ast.Call) and call.func is use and literals.is_sure(use):
            column = f" column {use.col_offset + 1}" if count[use.lineno] > 1 else ""
            name, entry = _read(literals, call, f"of line {use.lineno}{column}")
            yield use, {name: entry}
        else:
            yield use, {literals.left_out(use, _COMPUTED): None}


def _read(literals: Literals, call: ast.Call, place: str) -> tuple[str, "dict[str, Any] | Unread"]:
    """Name and entry; Unread where it is computed."""
    nodes = dict(zip(_GIVEN, call.args, strict=False)) | {
        word.arg or "**": word.value for word in call.keywords
    }
    sig = nodes.pop("sig", None)
    given = {key: literals.value(node) for key, node in nodes.items()}
    name = given.pop("name", None)
    signature = None if _has_star(call) else _signature(literals, sig)
    if signature is None:
        return name if isinstance(name, str) else place, Unread(ast.unparse(sig or call)[:200])
    return name if isinstance(name, str) else f"{signature.task} {place}", _entry(signature, given)


def _entry(signature: _Signature, given: dict[str, Any]) -> dict[str, Any]:
    schedule, args, kwargs = (given.pop(key, None) for key in ("schedule", "args", "kwargs"))
    if signature.takes_none:
        args = kwargs = None
    options = {key: value for key, value in signature.options.items() if key != "immutable"}
    return {
        "schedule": schedule,
        "task": signature.task,
        "args": _joined(list, args, signature.args),
        "kwargs": _joined(dict, signature.kwargs, kwargs),
        "options": options | given,
    }


def _joined(kind: type, first: Any, second: Any) -> Any:
    """Both; the whole is Unread if one of them is."""
    if not (first and second):
        return first or second
    unread = next((part for part in (first, second) if not isinstance(part, kind)), None)
    return unread or ([*first, *second] if kind is list else first | second)


def _signature(literals: Literals, sig: ast.expr | None) -> _Signature | None:
    """What `task.s(...)` and the like say; None where only running it would tell."""
    if isinstance(sig, ast.Name | ast.Attribute):
        task = _task(sig)
        return _Signature(task) if task and task not in literals.variables else None
    if not isinstance(sig, ast.Call) or _has_star(sig) or any(word.arg is None for word in sig.keywords):
        return None
    values = [literals.value(value) for value in sig.args]
    named: dict[str, Any] = {word.arg or "": literals.value(word.value) for word in sig.keywords}
    of = sig.func.value if isinstance(sig.func, ast.Attribute) else None
    how = ast.unparse(sig.func).rpartition(".")[2]
    if how == "set" and not values:
        signature = _signature(literals, of)
        return signature and replace(signature, options=signature.options | named)
    if how in ("s", "si") and (task := _task(of)):
        return _Signature(task, values, named, {"immutable": True} if how == "si" else {})
    if how in ("signature", "subtask"):
        # Of an app or by itself it has the task's name first; of a task it has not.
        task = values.pop(0) if values and isinstance(values[0], str) else _task(of)
        parts = dict(zip(("args", "kwargs", "options"), values, strict=False)) | named
        options = parts.pop("options", None) or {}
        if task and isinstance(options, dict):
            return _Signature(task, parts.pop("args", None), parts.pop("kwargs", None), options | parts)
    return None


def _has_star(call: ast.Call) -> bool:
    return any(isinstance(value, ast.Starred) for value in call.args)


def _task(node: ast.expr | None) -> str:
    """A task's name as the file calls it; empty for what is no name."""
    source = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    return source if _TASK.fullmatch(source) else ""
