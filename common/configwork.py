"""What a schedule of the file runs without a handler: `command` or `http`, and the keys that go with them."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from oncue.common.configdata import check_size, plain_data
from oncue.common.configkeys import EXAMPLES, HTTP, WORK
from oncue.common.configsection import Section
from oncue.common.errors import BadInput
from oncue.common.mended import SUCH_AS, advised, example, renamed
from oncue.common.scalar import has_surrogate, kind
from oncue.common.secret import Secret
from oncue.common.work import QUEUES, VARIABLE, Call, Command, Request, Work, check_header
from oncue.common.yamlfile import Entry, Node

KEYS = ("command", "http", "env", *WORK)
"""All that is read here."""

_WORDS = "allowed: a list of words, the program first"
_QUOTE = "put it in quotes"
_OF_COMMANDS = ("shell", "env", "cwd")
_OF_HTTP = frozenset({*HTTP, "headers", "body"})


def read_work(section: Section, entries: Mapping[str, Entry], max_bytes: int) -> dict[str, Any]:
    """The fields `runs`, `data` and `queue` of a schedule; none where it has an ordinary task."""
    runs = next((key for key in QUEUES if key in entries), None)
    _blame_idle(section, entries, runs)
    if runs is None:
        return {}
    given = {key: entry for key, entry in entries.items() if key in WORK}
    before = len(section.faults)
    values = section.take(given, WORK)
    try:
        work = _command(section, entries, values) if runs == "command" else _call(section, entries, values)
    except ValueError as error:
        if len(section.faults) == before:
            section.blame(entries[runs], runs, str(error))
        return {}
    data = msgspec.json.decode(msgspec.json.encode(work))
    check_size(section, entries[runs], runs, data, max_bytes)
    return {"runs": runs, "data": data, "queue": QUEUES[runs]}


def _blame_idle(section: Section, entries: Mapping[str, Entry], runs: str | None) -> None:
    for key, entry in entries.items():
        if key == "data" and runs:
            section.blame(entry, key, f"has no effect with {runs}, which is what its tasks hold; remove it")
        elif key == "http" and runs == "command":
            section.blame(entry, key, "a schedule has command or http, not both; remove one of them")
        elif key in _OF_COMMANDS and runs != "command":
            section.blame(entry, key, "has no effect without command; remove it")
        elif key in WORK and key not in _OF_COMMANDS and not runs:
            section.blame(entry, key, "has no effect without command or http; remove it")


def _command(section: Section, entries: Mapping[str, Entry], values: dict[str, Any]) -> Work:
    node = entries["command"].node
    command: str | tuple[str, ...]
    if "shell" in entries and "shell" not in values:
        raise ValueError("shell")  # blamed already; what the command should look like depends on it
    if values.get("shell"):
        if not isinstance(node.value, str) or not node.value:
            line = f'{SUCH_AS}command: "ls | wc -l", or remove shell'
            wrong = f"found {kind(node.value)}; with shell: true one text in quotes; write {line}"
            section.blame(node, "command", wrong)
        command = str(node.value)
    else:
        command = _words(section, entries["command"])
    env: dict[str, str | Secret] = {}
    if "env" in entries:
        env = _texts(section, "env", entries, _check_variable)
    return Command(command=command, env=env, **values)


def _words(section: Section, entry: Entry) -> tuple[str, ...]:
    node = entry.node
    if isinstance(node.value, str) and node.value:
        instead = f"write that beside it, or a list of words, the program first: {example('command')}"
        section.blame(node, "command", f"found one text, which goes with shell: true; {instead}")
        return (node.value,)
    words: list[str] = []
    for item in node.value if isinstance(node.value, list) else [node]:
        if not isinstance(item.value, str):
            is_word = item is not node and isinstance(item.value, int | float)
            hint = _QUOTE if is_word else f"{_WORDS}; write {example('command')}"
            section.blame(item, "command", f"found {kind(item.value)}; {hint}")
        words.append(str(item.value))
    if not words or not words[0]:
        section.blame(entry, "command", f"the command is empty; write {example('command')}")
    return tuple(words)


def _call(section: Section, entries: Mapping[str, Entry], values: dict[str, Any]) -> Work:
    inside = section.inside("http")
    node = entries["http"].node
    known = {} if isinstance(node.value, str) else inside.mapping(node, example("http"))
    request = inside.take(known, HTTP, beside=("headers", "body"))
    if "headers" in known:
        request["headers"] = _texts(inside, "headers", known, check_header)
    if "body" in known:
        request["body"] = plain_data(inside.inside("body"), known["body"].node)
    if isinstance(node.value, str):
        section.blame(node, "http", f"found a text; write it behind url, as in http: {EXAMPLES['http']}")
    elif (
        isinstance(node.value, dict | None)
        and not node.partial
        and "url" not in known
        and known.keys() <= _OF_HTTP
    ):
        inside.blame(entries["http"], "url", "is missing; write http: {url: https://HOST/PATH}")
    if "url" not in request:
        raise ValueError("http")
    return Call(http=Request(**request), **{key: values[key] for key in values if key not in _OF_COMMANDS})


def _texts(
    outer: Section, key: str, entries: Mapping[str, Entry], check: Callable[[str, str | Secret], None]
) -> dict[str, str | Secret]:
    """Texts and secrets by name, under `key`."""
    texts: dict[str, str | Secret] = {}
    section = outer.inside(key)
    for name, entry in section.mapping(entries[key].node, example(key)).items():
        value = _text(section, name, entry.node)
        if value is None:
            continue
        try:
            check(name, value)
        except ValueError as error:
            is_name = "is no name" in str(error)
            line = renamed(name, "X", "-" if key == "headers" else "_") if is_name else example(key)
            section.blame(entry, name, advised(str(error), line))
        texts[name] = value
    return texts


def _text(section: Section, name: str, node: Node) -> str | Secret | None:
    value = node.value
    if isinstance(value, str) and not has_surrogate(value):
        return value
    if isinstance(value, dict) and len(value) == 1:
        place, entry = next(iter(value.items()))
        if place in Secret.__struct_fields__ and isinstance(entry.node.value, str) and entry.node.value:
            return Secret(**{place: entry.node.value})
    line = "{file: PATH}" if isinstance(value, dict) else '"text"'
    allowed = f"allowed: text, {{file: PATH}} or {{env: NAME}}; write {line}"
    hint = _QUOTE if isinstance(value, int | float) else allowed
    section.blame(node, name, f"found {kind(value)}; {hint}")
    return None


def _check_variable(name: str, value: str | Secret) -> None:
    if not VARIABLE.fullmatch(name):
        raise BadInput(f"{name!r:.60} is no name of a variable")
