"""Single settings of an app of Celery in a module: its zone and the like, by whatever name of the app they are made."""

import ast
import re
from typing import Any

from oncue.cli.literals import Literals, Unread, Use, last_name

_OF_APP = re.compile(r"(?i)conf|settings|celery")
"""What the names of an app's settings hold: other things have a zone, too."""


def setting(literals: Literals, name: re.Pattern[str]) -> Any:
    """The value of the setting whose name matches, Unread where it has several; None without any."""
    found: dict[str, Any] = {}
    for use in literals.uses(name):
        node = _made(literals, use)
        if node is not None:
            value = literals.value(node) if literals.is_sure(use) else Unread(ast.unparse(node)[:200])
            found[str(value) if isinstance(value, Unread) else repr(value)] = value
    return Unread(" or ".join(found)) if len(found) > 1 else next(iter(found.values()), None)


def _made(literals: Literals, use: Use) -> ast.expr | None:
    """What the setting becomes there; None where something else has that name."""
    target = literals.target(use)
    match target:
        case ast.Name():
            is_setting = not literals.is_in_function(target)
        case ast.Attribute(value=of) | ast.Subscript(value=of):
            is_setting = _is_of_app(of)
        case ast.keyword():
            is_setting = _is_given_to_app(literals, target)
        case _:
            return _item(literals, target)
    return literals.assigned(use) if is_setting else None


def _item(literals: Literals, key: Use) -> ast.expr | None:
    match literals.parent(key):
        case ast.Dict(keys=keys, values=values) as given if key in keys and _is_given_to_app(literals, given):
            return values[keys.index(key)]
    return None


def _is_given_to_app(literals: Literals, node: ast.AST) -> bool:
    match literals.parent(node):
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
            return _is_of_app(target)
        case ast.Call(func=ast.Name(id="dict")) as given:
            return _is_given_to_app(literals, given)
        case ast.Call(func=ast.Attribute(attr="update", value=of)):
            return _is_of_app(of)
        case ast.Call(func=function):
            return last_name(function) in ("Celery", "config_from_object")
    return False


def _is_of_app(node: ast.expr) -> bool:
    return _OF_APP.search(last_name(node)) is not None
