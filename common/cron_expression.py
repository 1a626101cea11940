"""A cron expression taken apart: aliases, `@every`, five or six fields; nothing is guessed."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from oncue.common.cron_fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field, read_field
from oncue.common.duration import LONGEST_S, meant_duration, minutes_or_months, seconds_of
from oncue.common.errors import CronError

MAX_LENGTH = 256

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u00ab\u00bb\u200b\u2060\ufeff", "")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u2217\uff0a", "*")
)
"""What programs that typeset make of quotes, hyphens and stars, and what is typed for it."""
_EVERY = re.compile(r"@every[ \t]+(\S+)", re.IGNORECASE)
_WORKDAYS = re.compile(r"@(?:week|work)days?")
_YEAR = re.compile(r"(?:19|20|21)[0-9]{2}(?:[-/,][0-9*]+)*")
_OF_A_COMMAND = re.compile(r"[=._~$]|^/|[a-z]{2}/|^--?[A-Za-z]")
"""What no field holds, and programs, their paths and variables do."""
_NO_PART = "what stands behind is no part of the expression: give it beside, under command"
_BESIDE = "give the zone beside the expression, as timezone: Europe/Berlin"


@dataclass(frozen=True, slots=True)
class Expression:
    """What an expression says. Either `every` holds whole seconds, or `fields` the six fields, seconds first."""

    every: int
    fields: tuple[Field, ...]

    @property
    def elapsed(self) -> bool:
        """Whether the schedule follows elapsed time; all others follow the wall clock (fixed times)."""
        return bool(self.every) or any(field.elapsed for field in self.fields[:3])


def read_expression(expr: object, seed: str = "") -> Expression:
    """Read `expr`; `seed` (the schedule's name) settles `H`. Raises CronError naming the field and a rewrite."""
    text = _plain_text(expr)
    if text.startswith("@"):
        every = _EVERY.fullmatch(text)
        if every:
            return Expression(_every(every[1]), ())
        text = _alias(text)
    return Expression(0, _fields(text, seed))


def _plain_text(expr: object) -> str:
    if not isinstance(expr, str):
        kind = type(expr).__name__
        _refuse("type", f"found {expr!r:.60}, a value of type {kind}; allowed is a text; quote it")
    if len(expr) > MAX_LENGTH:
        _refuse("syntax", f"found {len(expr)} characters; allowed are {MAX_LENGTH}")
    text = expr.strip(" \t\r\n")
    for letter in text:
        if not (letter.isascii() and letter.isprintable()) and letter != "\t":
            _refuse_letter(letter, text)
    return text


def _refuse_letter(letter: str, text: str) -> NoReturn:
    """A space pasted from a web page looks like any other, so it is called by its name."""
    name = unicodedata.name(letter, "a control character").lower()
    found = f"found {name} (U+{ord(letter):04X})"
    refusal = f"{found}; allowed are ASCII characters, with blanks or tabs between the fields"
    typed = " ".join(text.translate(_TYPOGRAPHY).split())
    if typed.isascii() and typed.isprintable() and _is_readable(typed):
        refusal += f"; write {typed}"
    _refuse("syntax", refusal, _field_at(text, text.index(letter)) if not letter.isspace() else "")


def _is_readable(text: str) -> bool:
    try:
        read_expression(text)
    except CronError:
        return False
    return True


def _field_at(text: str, position: int) -> str:
    names = _names(len(text.split()))
    before = len(text[: position + 1].split()) - 1
    return names[before] if before < len(names) else ""


def _names(count: int) -> list[str]:
    kinds = [SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK]
    return [kind.name for kind in (kinds if count == 6 else kinds[1:])]


def _alias(text: str) -> str:
    alias = _ALIASES.get(text.lower())
    if alias is not None:
        return alias
    first, *rest = text.split()
    if rest and first.lower() in _ALIASES:
        beside = f"; {_NO_PART}; write {first}" if any(map(_OF_A_COMMAND.search, rest)) else ""
        _refuse("alias", f"found {first} with more behind it; allowed is {first} alone{beside}")
    allowed = f"allowed are {', '.join(_ALIASES)} and @every 5m"
    lower = text.lower()[:20]
    near = [alias for alias in get_close_matches(lower, _ALIASES, n=1, cutoff=0.75) if alias[:3] == lower[:3]]
    if _WORKDAYS.fullmatch(lower):
        allowed += "; write 0 0 * * 1-5"
    elif near:  # @biweekly has another beginning
        allowed += f"; write {near[0]}"
    if text.lower() == "@reboot":
        _refuse("alias", f"found @reboot, which has no instant in a cluster; {allowed}")
    if text.lower().startswith("@every"):
        allowed = "allowed is one duration after a blank, as in @every 1h30m"
        _refuse("alias", f"found {text!r:.60}; {allowed}{_meant_every(text)}")
    _refuse("alias", f"found {text!r:.60}; {allowed}")


def _every(text: str) -> int:
    seconds = seconds_of(text)
    if seconds is None:
        _refuse(
            "syntax",
            f"found @every {text!r:.60}; allowed are whole numbers of w, d, h, m, s, as in @every 1h30m"
            f"{_meant_every(text)}",
        )
    if seconds == 0:
        _refuse("step", "found an @every of nothing; allowed is 1s or more")
    if seconds > LONGEST_S:
        _refuse("range", f"found @every {text:.60}; allowed is a century at most")
    return seconds


def _meant_every(text: str) -> str:
    meant = meant_duration(text)
    return f"; write @every {meant}" if meant else minutes_or_months(text)


def _fields(text: str, seed: str) -> tuple[Field, ...]:
    written = text.split()
    if len(written) not in (5, 6) or _YEAR.fullmatch(written[-1]) or _is_crontab_line(written):
        _refuse("field-count", _count_advice(written))
    words = written if len(written) == 6 else ["0", *written]
    if "=" in words[0]:
        _refuse("syntax", f"found {words[0].partition('=')[0]!r:.60} and a =; {_BESIDE}")
    kinds = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
    return tuple(read_field(kind, word, seed) for kind, word in zip(kinds, words, strict=True))


def _is_crontab_line(words: Sequence[str]) -> bool:
    """Whether a command stands behind five fields; it may hold a password, and is not shown."""
    return any(map(_OF_A_COMMAND.search, words[5:])) and _is_readable(" ".join(words[:5]))


def _count_advice(words: list[str]) -> str:
    allowed = "allowed are 5 (minute hour day-of-month month day-of-week), or 6 with seconds first"
    padded = " ".join([*words, *["*"] * (5 - len(words))])
    if words and "=" in words[0]:
        allowed += f"; {_BESIDE}"
    elif any(word.startswith("#") for word in words):
        allowed += "; a comment is no part of the expression"
    elif len(words) in (5, 6, 7) and _YEAR.fullmatch(words[-1]):
        allowed += (
            f"; {words[-1]} is a year, and there is no year field: leave it out, which means every year"
        )
        allowed += ", unless start: and end: beside it say which"
    elif len(words) == 7 and words[6] == "*":
        allowed += f"; there is no year field: leave it out{_without_year(words)}"
    elif _is_crontab_line(words):
        allowed += f"; {_NO_PART}; write {' '.join(words[:5])}"
    elif not all(word.isdigit() for word in words) and (every := _meant_every(" ".join(words))):
        allowed += every
    elif 1 < len(words) < 5 and _is_readable(padded):
        allowed += f"; write {padded}"
    return f"found {len(words)} field{'' if len(words) == 1 else 's'}; {allowed}"


def _without_year(words: Sequence[str]) -> str:
    # Where there is a year, Sunday is day 1.
    text = " ".join(words[:6])
    return f"; write {text}" if not re.search("[0-9]", words[5]) and _is_readable(text) else ""


def _refuse(code: str, text: str, field: str = "") -> NoReturn:
    raise CronError(f"{field} field: {text}" if field else f"cron expression: {text}", field=field, code=code)
