"""Literals of a Python module, read from its syntax: nothing of it is executed or imported.

Known are constants, lists, tuples, sets, dictionaries, arithmetic of numbers, names of the module's own constants, and
calls of `timedelta`, which becomes seconds. All else becomes ``Unread``, which shows its source, and of a call its parts.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNITS = {
    "days": 86_400.0,
    "seconds": 1.0,
    "microseconds": 1e-6,
    "milliseconds": 1e-3,
    "minutes": 60.0,
    "hours": 3600.0,
    "weeks": 604_800.0,
}
_LARGEST = 1e15
_DEPTH = 50


class Unread:
    """An expression that only running it would tell; ``call`` has function, values and named values of a call."""

    def __init__(self, source: str, call: tuple[str, list[Any], dict[str, Any]] | None = None) -> None:
        self.source, self.call = source, call

    def __str__(self) -> str:
        return self.source


class Spread(Unread):
    """The key that stands for `**something` in a dictionary."""


class Literals:
    """A module's assignments."""

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        self._names = {name: node for name, node in _assignments(module) if name}

    def find(self, pattern: re.Pattern[str]) -> Any:
        """The value of the last setting whose name matches; None without any.

        `NAME = ...`, `app.conf.NAME = ...` and `app.conf.update(NAME=...)` are settings, and `NAME["key"] = ...` adds to one.
        """
        value: Any = None
        for name, node in _settings(self._module):
            if pattern.fullmatch(name):
                value = self.value(node)
        if isinstance(value, dict):
            value |= {
                key: self.value(node) for name, key, node in _items(self._module) if pattern.fullmatch(name)
            }
        return value

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that are assigned or passed anywhere in the module: what they stand for, only running it would tell."""
        nodes = list(ast.walk(self._module))
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return frozenset(stored | {node.arg for node in nodes if isinstance(node, ast.arg)})

    def calls(self, name: str) -> Iterator[ast.Call]:
        """The calls of a function or method of this name, in the order of the file."""
        found = [node for node in ast.walk(self._module) if isinstance(node, ast.Call)]
        yield from sorted(
            (node for node in found if _last_name(node.func) == name), key=lambda node: node.lineno
        )

    def value(self, node: ast.expr, depth: int = _DEPTH) -> Any:
        """What an expression is, as far as its syntax tells."""
        if depth == 0:
            return Unread("...")
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return [self.value(item, depth - 1) for item in items]
            case ast.Dict():
                return self._dictionary(node, depth - 1)
            case ast.Name(id=name) if name in self._names:
                return self.value(self._names[name], depth - 1)
            case ast.UnaryOp(op=ast.USub()) | ast.BinOp():
                return self._number(node, depth - 1)
            case ast.Call():
                return self._call(node, depth - 1)
        return Unread(ast.unparse(node)[:200])

    def _dictionary(self, node: ast.Dict, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            name = Spread(ast.unparse(item)[:200]) if key is None else self.value(key, depth)
            found[name if isinstance(name, str | Unread) else str(name)] = self.value(item, depth)
        return found

    def _number(self, node: ast.UnaryOp | ast.BinOp, depth: int) -> Any:
        sides = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
        values = [self.value(side, depth) for side in sides]
        if all(_is_number(value) for value in values):
            if len(values) == 1:
                return -values[0]
            operation = _OPERATIONS.get(type(node.op))  # type: ignore[arg-type]
            try:
                result = operation(*values) if operation else None
            except (ArithmeticError, ValueError):
                result = None
            if _is_number(result):
                return result
        return Unread(ast.unparse(node)[:200])

    def _call(self, node: ast.Call, depth: int) -> Any:
        function = ast.unparse(node.func).rpartition(".")[2]
        values = [self.value(value, depth) for value in node.args]
        named = {word.arg or "**": self.value(word.value, depth) for word in node.keywords}
        if function == "timedelta":
            parts = {**dict(zip(_UNITS, values, strict=False)), **named}
            if parts.keys() <= _UNITS.keys() and all(_is_number(part) for part in parts.values()):
                return round(sum(_UNITS[name] * part for name, part in parts.items()), 6)
        if function == "schedule" and len(values) + len(named) == 1:
            (pace,) = [*values, *named.values()]
            if _is_number(pace):
                return pace
        if function == "dict" and not values and "**" not in named:
            return named
        return Unread(ast.unparse(node)[:200], (function, values, named))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # False for what is not a number, too.
    return abs(value) < _LARGEST


def _assignments(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that are settled once at the top of the module, and what they are."""
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target.id if isinstance(target, ast.Name) else "", node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _settings(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield _last_name(target), node.value
        elif isinstance(node, ast.AnnAssign) and node.value:
            yield _last_name(node.target), node.value
        elif isinstance(node, ast.Call) and _last_name(node.func) in ("update", "Celery", "dict"):
            yield from ((word.arg, word.value) for word in node.keywords if word.arg)


def _items(module: ast.Module) -> Iterator[tuple[str, str, ast.expr]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    yield _last_name(target.value), str(target.slice.value), node.value


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
