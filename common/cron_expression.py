"""A cron expression taken apart: aliases, `@every`, five or six fields; nothing is guessed."""

import re
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from oncue.common.cron_fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field, read_field
from oncue.common.duration import LONGEST_S, meant_duration, seconds_of
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
    if typed.isascii() and typed.isprintable():
        refusal += f"; write {typed}"
    _refuse("syntax", refusal, _field_at(text, text.index(letter)) if not letter.isspace() else "")


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
    allowed = f"allowed are {', '.join(_ALIASES)} and @every 5m"
    if near := get_close_matches(text.lower()[:20], _ALIASES, n=1, cutoff=0.75):
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
    return f"; write @every {meant}" if meant else ""


def _fields(text: str, seed: str) -> tuple[Field, ...]:
    words = text.split()
    if len(words) == 5:
        words.insert(0, "0")
    if len(words) != 6:
        _refuse("field-count", _count_advice(words))
    if "=" in words[0]:
        _refuse(
            "syntax",
            f"found {words[0]!r:.60}; give the zone beside the expression, as timezone: Europe/Berlin",
        )
    kinds = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
    return tuple(read_field(kind, word, seed) for kind, word in zip(kinds, words, strict=True))


def _count_advice(words: list[str]) -> str:
    allowed = "allowed are 5 (minute hour day-of-month month day-of-week), or 6 with seconds first"
    if words and "=" in words[0]:
        allowed += "; give the zone beside the expression, as timezone: Europe/Berlin"
    elif any(word.startswith("#") for word in words):
        allowed += "; a comment is no part of the expression"
    elif len(words) == 7:
        allowed += f"; there is no year field: leave it out, write {' '.join(words[:6])}"
    elif not all(word.isdigit() for word in words) and (every := _meant_every(" ".join(words))):
        allowed += every
    elif 0 < len(words) < 5:
        allowed += f"; write {' '.join([*words, *['*'] * (5 - len(words))])}"
    return f"found {len(words)} field{'' if len(words) == 1 else 's'}; {allowed}"


def _refuse(code: str, text: str, field: str = "") -> NoReturn:
    raise CronError(f"{field} field: {text}" if field else f"cron expression: {text}", field=field, code=code)
