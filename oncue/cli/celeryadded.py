"""What `add_periodic_task` adds to the schedule when an app of Celery runs, as entries like those of `beat_schedule`."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from oncue.cli.literals import Literals, Unread

_GIVEN = ("schedule", "sig", "args", "kwargs", "name")
_TASK = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


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


def added(literals: Literals) -> Iterator[tuple[str, "dict[str, Any] | Unread"]]:
    """The entries of `add_periodic_task(schedule, sig, args, kwargs, name, **options)` by name; Unread where computed."""
    for call in literals.calls("add_periodic_task"):
        nodes = dict(zip(_GIVEN, call.args, strict=False)) | {
            word.arg or "**": word.value for word in call.keywords
        }
        sig = nodes.pop("sig", None)
        given = {key: literals.value(node) for key, node in nodes.items()}
        name = given.pop("name", None)
        signature = None if _has_star(call) else _signature(literals, sig)
        if signature is None:
            source = ast.unparse(sig or call)[:200]
            yield name if isinstance(name, str) else f"of line {call.lineno}", Unread(source)
        else:
            yield (
                name if isinstance(name, str) else f"{signature.task} of line {call.lineno}",
                _entry(signature, given),
            )


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
