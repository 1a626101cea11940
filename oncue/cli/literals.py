"""Literals of a Python module, read from its syntax: nothing of it is executed or imported.

Known are constants, lists, tuples, sets, dictionaries, arithmetic of numbers, names that the module assigns once and does
not change, and calls of `timedelta`, which becomes seconds. All else becomes ``Unread``, which shows its source, and of a
call its parts.
"""

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

Use = ast.expr | ast.keyword | ast.alias
"""A place that names something: a variable, an attribute or a text, a value given by name, an import."""

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
_SETTERS = ("update", "Celery", "dict")
_CONDITIONS = (ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.Try, ast.TryStar, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CHANGES = ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update")
_MAYBE = "it depends on a condition or is done in a loop, and no code is run here"


class Unread:
    """An expression that only running it would tell; ``call`` has function, values and named values of a call."""

    def __init__(self, source: str, call: tuple[str, list[Any], dict[str, Any]] | None = None) -> None:
        self.source, self.call = source, call

    def __str__(self) -> str:
        return self.source


class Spread(Unread):
    """The key that stands for `**something` in a dictionary."""


@dataclass(frozen=True)
class LeftOut:
    """The key that stands for a statement that was not read; ``place`` is its line."""

    place: str
    source: str
    why: str = field(compare=False)


class Literals:
    """A module's assignments."""

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        nodes = list(ast.walk(module))
        self._parents = {below: node for node in nodes for below in ast.iter_child_nodes(node)}
        settled = Counter(name for node in nodes if (name := _settled(node)))
        self.variables = settled.keys()
        """The names that are assigned or passed anywhere in the module: what they stand for, only running it would tell."""
        changed = {name for node in nodes if (name := _changed(node))}
        self._names = {
            name: node
            for name, node in _assignments(module)
            if settled[name] == 1 and not (name in changed and _is_mutable(node))
        }

    def uses(self, pattern: re.Pattern[str], variables: Collection[str] = ()) -> list[Use]:
        """All places that name what matches, or one of the variables, in the order of the file."""
        found = [
            node
            for node in ast.walk(self._module)
            if isinstance(node, ast.expr | ast.keyword | ast.alias)
            and (pattern.fullmatch(_named(node)) or (isinstance(node, ast.Name) and node.id in variables))
        ]
        return sorted(found, key=position)

    def target(self, use: Use) -> Use:
        """All of what stands for the thing that is named: of `settings["NAME"]` not only the text."""
        parent = self._parents[use]
        return parent if isinstance(use, ast.Constant) and isinstance(parent, ast.Subscript) else use

    def assigned(self, use: Use) -> ast.expr | None:
        """What `NAME = ...`, `settings.NAME = ...`, `settings["NAME"] = ...` or `settings.update(NAME=...)` makes of it."""
        target = self.target(use)
        match self._parents[target]:
            case ast.Assign(targets=targets, value=value) if target in targets:
                return value
            case ast.AnnAssign(target=own, value=value) if own is target:
                return value
            case ast.Call(func=function) if isinstance(use, ast.keyword) and last_name(function) in _SETTERS:
                return use.value
        return None

    def parent(self, node: ast.AST) -> ast.AST:
        """The node that a node is a part of."""
        return self._parents[node]

    def is_in_function(self, node: ast.AST) -> bool:
        """Whether a variable there is the own one of a function."""
        while node is not self._module:
            node = self._parents[node]
            if isinstance(node, _FUNCTIONS):
                return True
        return False

    def is_sure(self, node: ast.AST) -> bool:
        """Whether no condition and no loop is around it: then it happens once, if at all."""
        while node is not self._module:
            node = self._parents[node]
            if isinstance(node, _CONDITIONS + _LOOPS):
                return False
        return True

    def left_out(self, use: Use, why: str) -> LeftOut:
        """The statement of a use that cannot be read, for a condition or a loop around it, or else because of ``why``."""
        node: ast.AST = use
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        first_line = ast.unparse(node).partition("\n")[0]
        return LeftOut(f"line {node.lineno}", first_line, why if self.is_sure(use) else _MAYBE)

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


def position(node: Use) -> tuple[int, int]:
    """Where it is in the file: its line and column."""
    return node.lineno, node.col_offset


def _settled(node: ast.AST) -> str:
    """The variable that a node assigns, deletes or receives; empty for none."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return name
    return ""


def _changed(node: ast.AST) -> str:
    """The variable whose list or dictionary a node changes; empty for none."""
    match node:
        case ast.Subscript(value=of, ctx=ast.Store() | ast.Del()):
            pass
        case ast.Call(func=ast.Attribute(attr=method, value=of)) if method in _CHANGES:
            pass
        case _:
            return ""
    while isinstance(of, ast.Subscript):
        of = of.value
    return of.id if isinstance(of, ast.Name) else ""


def _is_mutable(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict | ast.List | ast.Set) or (
        isinstance(node, ast.Call) and last_name(node.func) == "dict"
    )


def _named(node: Use) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return name
        case ast.Constant(value=str(name)):
            return name
        case ast.alias(name=name, asname=own):
            return own or name
    return ""


def last_name(node: ast.expr) -> str:
    """The name of a variable, or the last one of attributes; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
