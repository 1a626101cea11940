"""A key of a configuration: what its value may be, in code and in words."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oncue.common.errors import BadInput
from oncue.common.scalar import blank_lookalike, found, has_surrogate, kind


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `usable` answers whether a value can be taken; `use` turns it, or raises in words of its own.

    `meant` is what a value that cannot be taken was meant as, as the file has it, or ""; `example` is a value of the
    kind, for those that can mean nothing.
    """

    allowed: str
    example: str
    usable: Callable[[object], bool]
    use: Callable[[Any], object] = lambda value: value
    is_text: bool = False
    secret: bool = False
    names: tuple[str, ...] = ()
    meant: Callable[[object], str] = lambda value: ""

    def take(self, value: object, written: str = "") -> object:
        """Return the value as it is used. Raises `BadInput`: what was found, as it is written; what is allowed."""
        if not self.usable(value):
            shown = kind(value) if self.secret else found(value, written)
            raise BadInput(f"found {shown}; allowed: {self.allowed}")
        if isinstance(value, str):
            self._refuse_characters(value)
        return self.use(value)

    def _refuse_characters(self, text: str) -> None:
        if has_surrogate(text):
            raise BadInput("found bytes that are not UTF-8 text")
        if not self.secret and (lookalike := blank_lookalike(text)):
            raise BadInput(f"found {lookalike}; type a blank instead")


def number(low: float, high: float, words: str, example: str, *, above: bool = False) -> Key:
    """A number of these bounds, the lower one excluded where it is `above`."""

    def usable(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return (low < value if above else low <= value) and value <= high

    start = "above" if above else "from"
    return Key(f"a number {start} {low:.12g} to {high:.12g}{words}", example, usable, float)


def integer(low: int, high: int, example: int, words: str = "") -> Key:
    """A whole number of these bounds."""

    def usable(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return Key(f"a whole number from {low} to {high}{words}", str(example), usable)


def text(
    allowed: str,
    example: str,
    use: Callable[[str], object] = str,
    *,
    secret: bool = False,
    meant: Callable[[object], str] = lambda value: "",
) -> Key:
    """A text that is not empty."""

    def usable(value: object) -> bool:
        return isinstance(value, str) and value != ""

    return Key(allowed, example, usable, use, is_text=True, secret=secret, meant=meant)


def choice(*names: str) -> Key:
    """One of these names."""
    allowed = ", ".join(names) if len(names) > 1 else f"{names[0]}; remove it for anything else"

    def usable(value: object) -> bool:
        return isinstance(value, str) and value in names

    return Key(allowed, names[0], usable, is_text=True, names=names)


def items(value: object) -> list[Any]:
    """The values of a list, which in the file have places."""
    return [getattr(one, "value", one) for one in value] if isinstance(value, list) else []
