"""What a module makes of Celery's `beat_schedule`, statement by statement; those that only running would tell are left out."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from oncue.cli.literals import Literals, Unread, Use

_AGAIN = "the schedule was assigned before, and no code is run here that would tell which one counts"
_ELSE = "what becomes of the schedule would have to be computed, and no code is run here"


def scheduled(literals: Literals, setting: re.Pattern[str]) -> Iterator[tuple[Use, Any]]:
    """By each place that names the setting, its entries by name, or a ``LeftOut``; Unread if the whole is computed.

    Read are one assignment, `NAME["key"] = ...`, `NAME.update(...)` and `NAME |= ...`.
    """
    uses = literals.uses(setting)
    # A variable that becomes the setting is the same dictionary, so what is done to it counts.
    variables = {node.id for use in uses if isinstance(node := literals.assigned(use), ast.Name)}
    uses = literals.uses(setting, variables)
    assigned = {literals.target(use): literals.assigned(use) for use in uses}
    values = {value for value in assigned.values() if value is not None}
    if values and values <= assigned.keys():
        yield uses[0], Unread(", ".join(sorted(map(ast.unparse, values))))
        return
    first: ast.expr | None = None
    for use in uses:
        target = literals.target(use)
        value = assigned[target]
        if target in values or value in assigned:
            continue
        entries: Any = None
        if literals.is_sure(use):
            if value is None:
                entries = _added(literals, target)
            elif first in (None, value):
                first = value
                entries = _whole(literals, value)
        if entries is None:
            entries = {literals.left_out(use, _ELSE if value is None else _AGAIN): None}
        yield use, entries


def _whole(literals: Literals, value: ast.expr) -> Any:
    entries = literals.value(value)
    return {} if entries is None else entries


def _added(literals: Literals, target: Use) -> dict[Any, Any] | None:
    """The entries that a statement adds; None where it does something else, or they are computed."""
    match literals.parent(target):
        case ast.AnnAssign(value=None):
            return {}
        case ast.Subscript(value=own, slice=key) as item if own is target:
            name, value = literals.value(key), literals.assigned(item)
            return {name: literals.value(value)} if value is not None and isinstance(name, str) else None
        case ast.AugAssign(target=own, op=ast.BitOr(), value=value) if own is target:
            entries = literals.value(value)
            return entries if isinstance(entries, dict) else None
        case ast.Attribute(attr="update") as method:
            call = literals.parent(method)
            return _updates(literals, call) if isinstance(call, ast.Call) and call.func is method else None
    return None


def _updates(literals: Literals, call: ast.Call) -> dict[Any, Any] | None:
    parts = [literals.value(value) for value in call.args]
    parts.append({word.arg: literals.value(word.value) for word in call.keywords})
    # Without a name stands `**something`.
    if not all(isinstance(part, dict) and None not in part for part in parts):
        return None
    return {name: entry for part in parts for name, entry in part.items()}
