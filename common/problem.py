"""What is wrong with a configuration, and where: one entry per fault, one sentence each."""

import unicodedata
from dataclasses import dataclass

from oncue.common.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault. `line` and `column` count from 1; line 0 means that the fault has no place in a file.

    `file` is the path as the caller wrote it, or the name of a variable or flag. `schedule` names the schedule that
    the fault is confined to, and is empty for a fault of the whole file.
    """

    file: str
    line: int
    column: int
    key: str
    message: str
    schedule: str = ""

    @property
    def sentence(self) -> str:
        """The whole fault in one line, in the form that editors can jump to; it cannot steer a terminal."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        text = ": ".join(part for part in (place, self.key, self.message) if part)
        return "".join(char if char.isprintable() else " " for char in text)


class Refused(ConfigError):
    """A configuration that cannot be used; `problems` lists every fault that was found, the first one first."""

    def __init__(self, problems: list[Problem]) -> None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(problems[0].sentence + more)
        self.problems = problems


def character_name(char: str) -> str:
    """Name one character so that it can be found: `'#'`, `a space`, `a non-breaking space (U+00A0)`."""
    if char == " ":
        return "a space"
    if char == "\u00a0":
        return "a non-breaking space (U+00A0)"
    if char.isascii() and char.isprintable():
        return f"'{char}'"
    name = unicodedata.name(char, "control character" if ord(char) < 0xA0 else "character").lower()
    return f"a {name} (U+{ord(char):04X})"
