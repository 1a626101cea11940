"""Mended: the line to write instead of what the file has and cannot be taken."""

import difflib
import json
import re
from collections.abc import Mapping

from oncue.common.configkey import Key
from oncue.common.configkeys import EXAMPLES, nearest_key, unknown_key
from oncue.common.errors import BadInput
from oncue.common.scalar import plain_scalar
from oncue.common.yamlfile import Entry, Node

SUCH_AS = "a line such as "
"""Begins an example, which is not the user's own line mended."""

_TRUTHS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}
_SAID = re.compile(r"[;,] (?:write (?!it )|type |remove |put )")
_MEANT = re.compile(r"did you mean (\S+)\?$")
_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:/+-]*[A-Za-z0-9])?")
LONGEST = 200
"""Characters of a line that is shown whole."""

_UNSHOWN = frozenset({"schedules", "command", "env", "http", "headers", "body", "data", "password", "url"})
"""Keys whose values may hold a secret."""


def advised(message: str, line: str) -> str:
    """A fault with the line to write instead, unless it says that already, nearer to what was meant."""
    if meant := _MEANT.search(message):
        return f"{message[: meant.start()]}write {line.removeprefix(SUCH_AS).partition(':')[0]}: {meant[1]}"
    return message if _SAID.search(message) else f"{message}; write {line}"


def unknown(name: str, given: Mapping[str, Entry], keys: Mapping[str, Key], names: list[str]) -> str:
    """Why a key is refused that is none of these names, and the line with the nearest one."""
    message, near = unknown_key(name, names), nearest_key(name, names)
    if not near:
        return message
    if near in given:
        return f"{message}; remove {name:.60}, since {near} is there"
    return f"{message}; write {_with_key(near, given[name], keys.get(near))}"


def _with_key(name: str, entry: Entry, key: Key | None) -> str:
    if isinstance(entry.node.value, dict | list) and entry.node.line > entry.line:
        return f"{name}: (what stands below it can stay)"
    if key is not None:
        try:
            key.take(entry.node.value)
        except BadInput as error:
            meant = _MEANT.search(str(error))
            return f"{name}: {meant[1]}" if meant else mended(name, key, entry.node.value)
    text = "" if name in _UNSHOWN or (key and key.secret) else _shown(name, entry.node)
    return f"{name}: {text or '... (what stands behind it can stay)'}"


def _shown(name: str, node: Node) -> str:
    """A value in one line of YAML; "" where it is long."""
    value, text = node.value, ""
    if isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_shown(key, entry.node)}" for key, entry in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(_shown("", item) for item in value) + "]"
    elif isinstance(value, str) and name not in ("cron", "rrule") and is_plain(value):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else ""


def is_plain(text: str) -> bool:
    """Whether a text stays itself without quotes."""
    return _PLAIN.fullmatch(text) is not None and isinstance(plain_scalar(text), str)


def mended(name: str, key: Key, value: object) -> str:
    """`key: value` with what the value was meant as, else an example, and called one."""
    nearest = key.meant(value) or (_nearest(key, value.strip().lower()) if isinstance(value, str) else "")
    is_new = nearest and not (key.is_text and nearest == value)
    return f"{name}: {nearest}" if is_new else f"{SUCH_AS}{name}: {key.example}"


def example(name: str) -> str:
    """An example of a key whose value is a mapping or a list."""
    return f"{SUCH_AS}{name}: {EXAMPLES[name]}"


def renamed(name: str, start: str, joint: str = "_") -> str:
    """The nearest name of letters, digits and `joint`; one that has no letter at its beginning begins with `start`."""
    nearest = re.sub(r"[^A-Za-z0-9_]+", joint, name[:60]).strip(joint)
    return nearest if nearest[:1].isalpha() else f"{start}{joint}{nearest}".rstrip(joint)


def _nearest(key: Key, text: str) -> str:
    """What a text may have been meant as: a number or a truth in quotes, a word that is misspelt."""
    if text.isascii() and text.isdigit() and len(text) < 10 and key.usable(int(text)):
        return str(int(text))
    if text in _TRUTHS and key.usable(_TRUTHS[text] == "true"):
        return _TRUTHS[text]
    names = {name.lower(): name for name in key.names}
    return next((names[name] for name in difflib.get_close_matches(text[:40], names, n=1, cutoff=0.7)), "")
