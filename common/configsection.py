"""One mapping of the configuration file: its keys checked against a table, its faults written down with their place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oncue.common.configkey import Key
from oncue.common.errors import BadInput
from oncue.common.mended import advised, mended, unknown
from oncue.common.problem import Problem
from oncue.common.scalar import blank_lookalike, kind
from oncue.common.yamlfault import lookalike_column
from oncue.common.yamlfile import Entry, Node


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of the file: its dotted name, and the list that its faults are added to."""

    file: str
    name: str
    faults: list[Problem]
    schedule: str = ""

    def inside(self, key: str) -> "Section":
        """The section one level further in."""
        return Section(self.file, self._path(key), self.faults, self.schedule)

    def blame(self, place: Entry | Node, key: str, message: str) -> None:
        """Add a fault of a key of this section; an empty key means the section itself."""
        self.faults.append(
            Problem(self.file, place.line, place.column, self._path(key), message, self.schedule)
        )

    def mapping(self, node: Node, line: str) -> dict[str, Entry]:
        """The entries of a mapping; a section that is left empty has none. `line` is what to write instead of no mapping."""
        if isinstance(node.value, str) and node.plain and (lookalike := blank_lookalike(node.value)):
            at = node.column + lookalike_column(node.value) - 1
            self.blame(replace(node, column=at), "", f"{lookalike} stands where a blank should be")
        elif node.value is not None and not isinstance(node.value, dict):
            self.blame(node, "", f"found {kind(node.value)}; allowed: keys with values; write {line}")
        return node.entries

    def take(
        self,
        entries: Mapping[str, Entry],
        keys: Mapping[str, Key],
        beside: tuple[str, ...] = (),
        later: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """The values of the known keys, checked; every other key but those `beside` is a fault."""
        values: dict[str, Any] = {}
        for name, entry in entries.items():
            if name in beside:
                continue
            if name in later:
                self.blame(entry, name, "not yet supported; remove it")
                continue
            if name not in keys:
                self.blame(entry, name, unknown(name, entries, keys, [*keys, *beside]))
                continue
            try:
                values[name] = keys[name].take(entry.node.value, entry.node.written)
            except BadInput as error:
                line = mended(name, keys[name], entry.node.value)
                self.blame(entry, name, advised(str(error), line))
        return values

    def _path(self, key: str) -> str:
        return ".".join(part for part in (self.name, key) if part)
