"""What msgspec says of a value that it cannot convert, in words of Python."""

import re

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "null": "None",
    "array": "a list",
    "object": "a dict",
}
_REFUSED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`(?P<found>, got `\w+`)? - at (?P<inside>`key` in )?`\$\.(?P<key>\w+)(?P<rest>.*)`"
)


def expected(text: str) -> tuple[str, str] | None:
    """The key that a refusal is about, and what it allows: `"every_s", "allowed: a number or None"`; None for others."""
    refused = _REFUSED.fullmatch(text)
    if refused is None:
        return None
    inside = " in it" if refused["inside"] or refused["rest"] else ""
    kinds = " or ".join(_WORDS.get(kind, kind) for kind in refused["kinds"].split(" | "))
    return refused["key"], f"allowed{inside}: {kinds}"
