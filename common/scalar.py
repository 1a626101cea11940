"""Plain (unquoted) scalars of YAML 1.2's core schema, for the file and for variables alike.

Not the parser's own resolver: that one makes a date of `2024-01-01`, which YAML 1.2 does not.
"""

import math
import re

from oncue.common.problem import character_name

Scalar = None | bool | int | float | str

_WORDS: dict[str, Scalar] = {"": None, "~": None}
for _word, _meaning in (("null", None), ("true", True), ("false", False)):
    _WORDS |= {_word: _meaning, _word.capitalize(): _meaning, _word.upper(): _meaning}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NOT_A_NUMBER = re.compile(r"\.(nan|NaN|NAN)")
_MAX_DIGITS = 400  # as a float, more digits are infinite; as an int, Python refuses to read 4,300 of them


def plain_scalar(text: str) -> Scalar:
    """Return what the unquoted text means; text that is nothing else is itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < _MAX_DIGITS else math.inf
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinite := _INFINITE.fullmatch(text):
        return float(f"{infinite[1]}inf")
    return math.nan if _NOT_A_NUMBER.fullmatch(text) else text


def has_surrogate(text: str) -> bool:
    """Whether the text cannot be sent as UTF-8; trying it would raise an error that quotes the text."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def blank_lookalike(text: str) -> str | None:
    """Name the first character that looks like a blank, or like nothing, without being one; None without any."""
    return next((character_name(char) for char in text if _is_lookalike(char)), None)


def _is_lookalike(char: str) -> bool:
    return char in "\u200b\u2060\ufeff\u2028\u2029\x85" or (char != " " and char > "\x7f" and char.isspace())


def found(value: object, written: str = "") -> str:
    """Say what a value is, in the words of somebody who writes a configuration file.

    `written` is how the file has a number: `010` and `1e400` are not found again by their values.
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {_short(written or str(value))}"
    if isinstance(value, str):
        return f"the text {_short(value)!r}"
    return kind(value)


def kind(value: object) -> str:
    """Say of what kind a value is, without showing it: for secrets."""
    kinds: tuple[tuple[type, str], ...] = (
        (type(None), "nothing"),
        (bool, "a truth value"),
        (int, "a number"),
        (float, "a number"),
        (str, "text"),
        (dict, "a mapping"),
    )
    return next((name for known, name in kinds if isinstance(value, known)), "a list")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
