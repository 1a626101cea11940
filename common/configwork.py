"""What a schedule of the file runs without a handler: `command` or `http`, and the keys that go with them."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from oncue.common.configdata import check_size, plain_data
from oncue.common.configkeys import HTTP, WORK
from oncue.common.configsection import Section
from oncue.common.errors import BadInput
from oncue.common.mended import LONGEST, SUCH_AS, advised, example, renamed
from oncue.common.scalar import found, has_surrogate, kind
from oncue.common.secret import Secret
from oncue.common.work import QUEUES, VARIABLE, Call, Command, Request, Work, check_header, check_url
from oncue.common.yamlfile import Entry, Node

KEYS = ("command", "http", "env", *WORK)
"""All that is read here."""

_WORDS = "allowed: a list of words, the program first"
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
            wrong = f"found {found(node.value, node.written)}; with shell: true one text in quotes"
            section.blame(node, "command", advised(wrong, _shell_line(node)))
        command = str(node.value)
    else:
        command = _words(section, node)
    env: dict[str, str | Secret] = {}
    if "env" in entries:
        env = _texts(section, "env", entries, _check_variable)
    return Command(command=command, env=env, **values)


def _words(section: Section, node: Node) -> tuple[str, ...]:
    if isinstance(node.value, str) and node.value:
        section.blame(
            node, "command", f"found one text, which goes with shell: true; write {_mended(node.value)}"
        )
        return (node.value,)
    words: list[str] = []
    for item in node.value if isinstance(node.value, list) else [node]:
        if not isinstance(item.value, str):
            number = isinstance(item.value, int | float) and not isinstance(item.value, bool)
            hint = f'write "{item.written or item.value}"' if number else _WORDS
            section.blame(
                item,
                "command",
                advised(f"found {found(item.value, item.written)}; {hint}", example("command")),
            )
        words.append(str(item.value))
    return tuple(words)


def _shell_line(node: Node) -> str:
    """A list of words as one text for the shell; a single one may be a line for it already."""
    words = [str(item.value) for item in node.value] if isinstance(node.value, list) else []
    text = words[0] if len(words) == 1 else shlex.join(words)
    if not text or len(text) > LONGEST:
        return f'{SUCH_AS}command: "ls | wc -l"'
    return f"command: {msgspec.json.encode(text).decode()}"


def _mended(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words or len(text) > LONGEST:
        return example("command")
    return f"command: [{', '.join(msgspec.json.encode(word).decode() for word in words)}]"


def _mended_http(text: str) -> str:
    try:
        check_url(text)
    except ValueError:
        return example("http")
    return f"http: {{url: {text:.100}}}"


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
        section.blame(node, "http", f"found a text; write {_mended_http(node.value)}")
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
    quote = isinstance(value, int | float)
    allowed = 'allowed: text, {file: PATH} or {env: NAME}; write "text"'
    hint = f'write "{node.written}"' if quote else allowed
    section.blame(node, name, f"found {kind(value)}; {hint}")
    return None


def _check_variable(name: str, value: str | Secret) -> None:
    if not VARIABLE.fullmatch(name):
        raise BadInput(f"{name!r:.60} is no name of a variable")
