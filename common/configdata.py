"""Data in the file: what JSON can hold, as the tasks of a schedule carry it."""

import json
import math

from oncue.common.configsection import Section
from oncue.common.scalar import found
from oncue.common.yamlfile import Entry, Node

_JSON_INTEGERS = range(-(2**63), 2**64)  # beyond these, readers of JSON disagree about the number


def read_data(section: Section, entry: Entry | None, max_bytes: int) -> object:
    """The data of a schedule's entry; what cannot be used is blamed at its place."""
    if entry is None:
        return None
    data = plain_data(section.inside("data"), entry.node)
    if section.faults:
        return None
    check_size(section, entry, "data", data, max_bytes)
    return data


def check_size(section: Section, place: Entry, key: str, data: object, max_bytes: int) -> None:
    """Blames data that is larger than a task's may be."""
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    if size > max_bytes:
        section.blame(place, key, f"found {size} bytes of JSON; allowed: {max_bytes} (max_data_bytes)")


def plain_data(section: Section, node: Node) -> object:
    """A value of the file without its places."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain_data(section.inside(key), entry.node) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain_data(section.inside(str(at)), item) for at, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        section.blame(node, "", f"found {found(value, node.written)}, which JSON cannot hold; quote it")
    if isinstance(value, int) and value not in _JSON_INTEGERS:
        section.blame(node, "", "found a whole number of more than 64 bits; quote it")
    return value
