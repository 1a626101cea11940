"""Parser errors of YAML turned into a sentence that says what to write instead.

A line of the file is shown in one case only, an unquoted cron expression: any other line may hold a secret.
"""

import re
from typing import Any

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from oncue.common.problem import Problem, character_name
from oncue.common.scalar import blank_lookalike

_UNQUOTED = re.compile(r"(?P<key>[\w.-]*)[\"']?(?:^\s*|[:?-]\s+|[,{\[]\s*)(?P<value>[*@].*)")
_CRON = re.compile(r"@[a-z]+|@every \w+|[*][\w*/,?#-]*(?: +[\w*/,?#-]+){4,5}")
_END_OF_VALUE = re.compile(r"\s+#(?!\d).*|\s*,\s*[\w-]+\s*:(?:\s.*)?$|\s*[}\]\"'\r].*|\s+$")
_UNCLOSED = re.compile(r"expected ',' or '[}\]]', but got .*(?<!'<stream end>')")
_LONGEST_LINE = 1000  # searched for pitfalls; the patterns are quadratic in it
_SYNTAX = (
    ("found character '\\t'", "a tab cannot indent a line; use blanks"),
    ("found unexpected end of stream", "this quote is never closed"),
    ("mapping values are not allowed", "a second ':' on a line; quote the value, or check the indentation"),
    ("could not find expected ':'", "a key without its ':'; check this line and the one before"),
    ("'<stream end>'", "the file ends inside a bracket or brace that is never closed"),
    ("expected <block end>", "this line is indented differently from those it belongs to"),
    ("that cannot start any token", "a value cannot start with this character; quote it"),
    (
        "found unknown escape character",
        "unknown escape after '\\' in double quotes; use single quotes or '\\\\'",
    ),
)


def syntax_problem(file: str, text: str, error: YAMLError | ValueError | OverflowError) -> Problem:
    """Explain why the parser gave up, at the place where a person has to mend the file."""
    if isinstance(error, ReaderError):
        return _unprintable(file, text, error)
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        # Python's own chr() refuses what the parser lets through, and nobody knows the line any more.
        return Problem(file, 0, 0, "", "a character escape such as \\U00110000 is out of range")
    mark = _mark(error)
    if problem := pitfall(file, text.split("\n"), mark.line, mark.column):
        return problem
    if _UNCLOSED.fullmatch(error.problem or "") and error.context_mark is not None:
        return _unclosed(file, error.context_mark, mark, text)
    return Problem(file, mark.line + 1, mark.column + 1, "", _plain(error.problem or ""))


def pitfall(file: str, lines: list[str], row: int, column: int) -> Problem | None:
    """Find what people paste or forget to quote at a place where the parser stumbled (both count from 0).

    The line before is looked at too: a blank that is none lets a key run into the next line.
    """
    for at in (row, row - 1):
        if 0 <= at < len(lines) and (found := lookalike_column(lines[at])):
            return Problem(
                file, at + 1, found, "", f"{blank_lookalike(lines[at])} stands where a blank should be"
            )
    unquoted = _UNQUOTED.search(lines[row][:_LONGEST_LINE]) if row < len(lines) else None
    if not unquoted or unquoted.start("value") > column:
        return None
    return Problem(file, row + 1, unquoted.start("value") + 1, *_quote_it(unquoted["key"], unquoted["value"]))


def _quote_it(key: str, rest: str) -> tuple[str, str]:
    value = _END_OF_VALUE.sub("", rest, count=1)
    if key == "cron":
        return key, f'quote the cron expression: cron: "{value}"'
    if not key and _CRON.fullmatch(value):
        return "", f'quote the cron expression: "{value}"'
    return "", f"a value that starts with '{rest[0]}' must be quoted"


def lookalike_column(line: str) -> int:
    """Return the column, from 1, of the first blank that is none; 0 without any."""
    return next((at for at, char in enumerate(line, start=1) if blank_lookalike(char)), 0)


def _unclosed(file: str, start: Any, stop: Any, text: str) -> Problem:
    """A brace or bracket whose lines go on as those of a block do: where it opens is where it is mended."""
    sign = text.split("\n")[start.line][start.column]
    if start.line == stop.line:
        message = f"a comma or the end of the '{sign}' is missing before this"
        return Problem(file, stop.line + 1, stop.column + 1, "", message)
    message = f"this '{sign}' is not closed, or a comma is missing, before line {stop.line + 1}"
    return Problem(file, start.line + 1, start.column + 1, "", message)


def _mark(error: MarkedYAMLError) -> Any:
    """The place to mend: where a quote was opened, if it never ends; else where the parser stopped."""
    in_quotes = "quoted scalar" in (error.context or "") and "end of stream" in (error.problem or "")
    return error.context_mark if in_quotes else error.problem_mark


def _unprintable(file: str, text: str, error: ReaderError) -> Problem:
    at = int(error.position)
    before = text[:at]
    line, column = before.count("\n") + 1, at - before.rfind("\n")
    return Problem(file, line, column, "", f"{character_name(text[at])} cannot stand in a YAML file")


def _plain(problem: str) -> str:
    return next((plain for sign, plain in _SYNTAX if sign in problem), f"not valid YAML: {problem}")
