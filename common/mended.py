"""Mended: the line to write instead of what the file has and cannot be taken."""

import difflib
import re

from oncue.common.configkeys import EXAMPLES, Key

_TRUTHS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}
_SAID = re.compile(r"[;,] (?:write (?!it )|did you mean |type |remove )")


def advised(message: str, line: str) -> str:
    """A fault with the line to write instead, unless it says that already, nearer to what was meant."""
    return message if _SAID.search(message) else f"{message}; write {line}"


def mended(name: str, key: Key, value: object) -> str:
    """`key: value` with the nearest value that the key takes, else with an example."""
    nearest = _nearest(key, value.strip().lower()) if isinstance(value, str) else ""
    return f"{name}: {nearest or key.example}"


def example(name: str) -> str:
    """`key: value` for a key whose value is a mapping or a list."""
    return f"{name}: {EXAMPLES[name]}"


def renamed(name: str, start: str) -> str:
    """The nearest name of letters, digits and `_`; one that has none of them at its beginning begins with `start`."""
    nearest = re.sub(r"[^A-Za-z0-9_]+", "_", name[:60]).strip("_")
    return nearest if nearest[:1].isascii() and nearest[:1].isalpha() else f"{start}_{nearest}".rstrip("_")


def _nearest(key: Key, text: str) -> str:
    """What a text may have been meant as: a number or a truth in quotes, a word that is misspelt."""
    if text.isascii() and text.isdigit() and len(text) < 10 and key.usable(int(text)):
        return str(int(text))
    if text in _TRUTHS and key.usable(_TRUTHS[text] == "true"):
        return _TRUTHS[text]
    names = {name.lower(): name for name in key.names}
    return next((names[name] for name in difflib.get_close_matches(text[:40], names, n=1)), "")
