"""One YAML 1.2 document, with the place of each key and without YAML's traps.

ruamel.yaml scans and parses; the tree is built here, because the loader would resolve dates, keep no place for
scalars, and expand aliases before anybody could refuse them.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from oncue.common.problem import Problem, Refused
from oncue.common.scalar import Scalar, blank_lookalike, found, has_surrogate, plain_scalar
from oncue.common.yamlfault import pitfall, syntax_problem

MAX_BYTES = 1024 * 1024
"""Largest file that is read, and most characters that its aliases may stand for."""

MAX_NODES = 75_000
"""Most keys, values, lists and mappings of a file. The parser is Python: it reads some 30,000 of them a second where
they stand close, and 0.6 MB a second where they do not. So whatever the file, the answer comes within two or
three seconds; ten thousand schedules of a `cron` and a `queue` still have their place in it."""

MAX_DEPTH = 64
"""Most levels of lists and mappings inside each other."""

_LOOK_AHEAD = 80  # a rest of line is kept per scalar; whole lines would make one long line quadratic
_STRING_TAG = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place, counted from 1. `plain` tells an unquoted scalar; `after` is what its line holds then.

    `written` is the beginning of an unquoted scalar as it stands there, whatever its value became.
    `size` counts characters and entries with every alias expanded; `aliased` tells that there is one inside, `partial`
    that an entry of a mapping could not be kept.
    """

    value: "Scalar | list[Node] | dict[str, Entry]"
    line: int
    column: int
    plain: bool = False
    after: str = ""
    written: str = ""
    size: int = 1
    aliased: bool = False
    partial: bool = False

    @property
    def entries(self) -> "dict[str, Entry]":
        """The entries of a mapping; none where the value is left empty or is no mapping."""
        return self.value if isinstance(self.value, dict) else {}


@dataclass(frozen=True, slots=True)
class Entry:
    """The place of a key, counted from 1, and what it holds."""

    line: int
    column: int
    node: Node


@dataclass(frozen=True, slots=True)
class Document:
    """A file that could be read. `faults` are those of its keys; `digest` is a hash of its bytes."""

    file: str
    root: Node
    digest: str
    faults: list[Problem] = field(default_factory=list)


def read(path: str, raw: bytes | None = None) -> Document:
    """Read a file, or what was read of it. Raises `Refused` (a `ConfigError`) where there is no document to speak of."""
    if raw is None:
        raw = _content(path)
    if len(raw) > MAX_BYTES:
        raise Refused([Problem(path, 0, 0, "", f"larger than {MAX_BYTES} bytes (1 MB), which is the limit")])
    return parse(path, _text(path, raw), hashlib.sha256(raw).hexdigest())


def parse(file: str, text: str, digest: str = "") -> Document:
    """Read the text of a file called `file`. Raises `Refused` where it is not one plain YAML document."""
    builder = _Builder(file, text)
    try:
        root = builder.document()
    except (YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, Refused):
            raise
        problem = syntax_problem(file, text, error)
    else:
        return Document(file, root, digest, builder.faults)
    raise Refused([*builder.faults, problem])


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Refused([Problem(path, 0, 0, "", f"cannot be read: {error.strerror}")]) from None
    except ValueError:
        raise Refused([Problem("", 0, 0, "", "the name of the configuration file is not a path")]) from None


def _text(path: str, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, start = raw.count(b"\n", 0, error.start) + 1, raw.rfind(b"\n", 0, error.start)
        fault = Problem(
            path, line, error.start - start, "", "not UTF-8 text from here on; save the file as UTF-8"
        )
    raise Refused([fault])


class _Builder:
    """Builds the tree from the parser's events, so that each limit holds before the next event is read."""

    def __init__(self, file: str, text: str) -> None:
        self.faults: list[Problem] = []
        self._file = file
        self._lines = text.split("\n")
        self._events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)
        self._anchors: dict[str, Node] = {}
        self._expanded = 0
        self._nodes = 0

    def document(self) -> Node:
        next(self._events)
        start = next(self._events)
        if type(start).__name__ == "StreamEndEvent":
            return Node(None, 1, 1)
        if start.version not in (None, (1, 2)):
            raise self._refused(start, "this file asks for another version of YAML; oncue reads YAML 1.2")
        root = self._node(next(self._events), 0)
        next(self._events)
        after = next(self._events)
        if type(after).__name__ != "StreamEndEvent":
            raise self._refused(after, "a second document ('---') starts here; a file holds one")
        return root

    def _node(self, event: Any, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._refused(
                event, f"more than {MAX_NODES} keys and values in one file, which is the limit"
            )
        if depth > MAX_DEPTH:
            raise self._refused(event, f"more than {MAX_DEPTH} levels inside each other")
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event)
        if kind == "ScalarEvent":
            node = self._scalar(event)
        else:
            self._no_tag(event)
            node = self._mapping(event, depth) if kind == "MappingStartEvent" else self._list(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any) -> Node:
        mark, target = event.start_mark, self._anchors.get(event.anchor)
        if target is None:
            problem = pitfall(self._file, self._lines, mark.line, mark.column)
            raise Refused([*self.faults, problem]) if problem else self._refused(event, "unknown alias")
        if target.aliased:
            raise self._refused(event, "an alias for something that holds an alias itself; write it out")
        self._expanded += target.size
        if self._expanded > MAX_BYTES:
            raise self._refused(event, f"the aliases stand for more than {MAX_BYTES} characters")
        return Node(
            target.value,
            mark.line + 1,
            mark.column + 1,
            target.plain,
            "",
            target.written,
            target.size,
            aliased=True,
            partial=target.partial,
        )

    def _scalar(self, event: Any) -> Node:
        text: str = event.value
        if has_surrogate(text):
            raise self._refused(event, "half of a surrogate pair (\\uD800 to \\uDFFF) is no character")
        plain = event.style is None and event.tag is None
        if event.tag not in (None, "!", _STRING_TAG):
            self._no_tag(event)
        value = plain_scalar(text) if plain else text
        end = event.end_mark
        after = (
            self._lines[end.line][end.column : end.column + _LOOK_AHEAD]
            if plain and end.line < len(self._lines)
            else ""
        )
        written = text[:_LOOK_AHEAD] if plain else ""
        start = event.start_mark
        return Node(value, start.line + 1, start.column + 1, plain, after, written, len(text) + 1)

    def _list(self, start: Any, depth: int) -> Node:
        items: list[Node] = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            items.append(self._node(event, depth + 1))
        return self._branch(start, items, items)

    def _mapping(self, start: Any, depth: int) -> Node:
        entries: dict[str, Entry] = {}
        nodes: list[Node] = []
        partial = False
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._node(event, depth + 1)
            node = self._node(next(self._events), depth + 1)
            nodes += key, node
            name = self._key(key, entries)
            if name is None:
                partial = True
            else:
                entries[name] = Entry(key.line, key.column, node)
        return self._branch(start, entries, nodes, partial)

    def _branch(
        self, start: Any, value: list[Node] | dict[str, Entry], nodes: list[Node], partial: bool = False
    ) -> Node:
        size, aliased = 1 + sum(node.size for node in nodes), any(node.aliased for node in nodes)
        mark = start.start_mark
        return Node(value, mark.line + 1, mark.column + 1, size=size, aliased=aliased, partial=partial)

    def _key(self, key: Node, entries: dict[str, Entry]) -> str | None:
        """Return the name to file an entry under; None, and a fault, where it cannot be kept."""
        name, message = key.value, ""
        if not isinstance(name, str):
            message = f"a key must be text, found {found(name, key.written)}; quote it"
        elif key.plain and (lookalike := blank_lookalike(name)):
            message = f"{lookalike} stands in this key; type a blank instead"
        elif key.plain and name == "<<":
            message = "merge keys ('<<') are not part of YAML 1.2; write the lines out"
        elif name in entries:
            lines = f"on line {entries[name].line} and on line {key.line}"
            message = f"the key {name!r} is there twice: {lines}; delete one, or give it another name"
        if not message:
            return str(name)
        self.faults.append(Problem(self._file, key.line, key.column, "", message))
        return None

    def _no_tag(self, event: Any) -> None:
        if event.tag is not None:
            raise self._refused(
                event, "tags other than !!str are not allowed; remove the one that starts with '!'"
            )

    def _refused(self, event: Any, message: str) -> Refused:
        mark = event.start_mark
        return Refused([*self.faults, Problem(self._file, mark.line + 1, mark.column + 1, "", message)])
