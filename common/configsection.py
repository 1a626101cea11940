"""One mapping of the configuration file: its keys checked against a table, its faults written down with their place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncue.common.configkeys import Key, unknown_key
from oncue.common.errors import BadInput
from oncue.common.mended import mended
from oncue.common.problem import Problem
from oncue.common.scalar import kind
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

    def mapping(self, node: Node) -> dict[str, Entry]:
        """The entries of a mapping; a section that is left empty has none."""
        if node.value is not None and not isinstance(node.value, dict):
            written = '; write {cron: "30 2 * * *"}' if self.name == f"schedules.{self.schedule}" else ""
            self.blame(node, "", f"found {kind(node.value)}; allowed: keys with values{written}")
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
            if name not in keys:
                self.blame(entry, name, unknown_key(name, [*keys, *beside], later))
                continue
            try:
                values[name] = keys[name].take(entry.node.value)
            except BadInput as error:
                self.blame(entry, name, self._advised(str(error), name, keys[name], entry))
        return values

    def _advised(self, message: str, name: str, key: Key, entry: Entry) -> str:
        """The fault of a schedule's value with the line to write instead, unless what refused it says that."""
        if (
            not self.schedule
            or key.usable(entry.node.value)
            or not (line := mended(name, key, entry.node.value))
        ):
            return message
        return f"{message}; write {line}"

    def _path(self, key: str) -> str:
        return ".".join(part for part in (self.name, key) if part)
