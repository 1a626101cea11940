"""The calendars of the file, and what a schedule excludes: dates, ranges, cron expressions, names of calendars."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from oncue.common.configkeys import EXAMPLES, nearest_key, unknown_key
from oncue.common.configsection import Section
from oncue.common.errors import BadInput, CronError
from oncue.common.exclusion import check_entry, is_name, meant_entry
from oncue.common.icalendar import read_calendar
from oncue.common.mended import LONGEST, SUCH_AS, advised, example, is_plain, renamed, unknown
from oncue.common.problem import Problem
from oncue.common.scalar import found
from oncue.common.yamlfile import Entry, Node

KEYS = ("dates", "ics")
MAX_ICS_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_DATES = "dates 2026-12-25, ranges 2026-12-24/2026-12-26, cron expressions such as '* * 25 12 *'"


class Calendars:
    """All calendars of a file by name, None for one with a fault."""

    def __init__(self, file: str, entries: Mapping[str, Entry]) -> None:
        self.faults: list[Problem] = []
        self._digests: list[str] = []
        self._file = file
        self.read = {name: self._calendar(name, entry) for name, entry in entries.items()}

    def revision(self, digest: str) -> str:
        """The hash of the file and all .ics files that it names, from the hash of its own bytes."""
        if not self._digests:
            return digest
        return hashlib.sha256("".join((digest, *self._digests)).encode()).hexdigest()

    def _calendar(self, name: str, entry: Entry) -> tuple[str, ...] | None:
        section = Section(self._file, f"calendars.{name}", [])
        if not _NAME.fullmatch(name):
            allowed = "a letter and up to 63 of the characters A-Z a-z 0-9 _ . -"
            section.blame(entry, "", advised(f"a calendar's name is {allowed}", renamed(name, "days")))
        dates = tuple(self._entries(section, entry.node))
        self.faults += section.faults
        return None if section.faults else dates

    def _entries(self, section: Section, node: Node) -> Iterator[str]:
        if not isinstance(node.value, dict):
            yield from _checked(section, "", node)
            return
        for key, entry in node.entries.items():
            if key == "dates":
                yield from _checked(section, key, entry.node)
            elif key == "ics":
                for place, path in _texts(section, key, entry.node, "the path of an .ics file"):
                    yield from self._ics(section, place, path)
            else:
                section.blame(entry, key, unknown(key, node.entries, {}, list(KEYS)))

    def _ics(self, section: Section, place: Node, path: str) -> tuple[str, ...]:
        """The dates of a calendar file, which is named relative to the configuration file."""
        try:
            with (Path(self._file).parent / path).open("rb") as file:
                raw = file.read(MAX_ICS_BYTES + 1)
            if len(raw) > MAX_ICS_BYTES:
                raise BadInput(f"larger than {MAX_ICS_BYTES} bytes (1 MB), which is the limit")
            self._digests.append(hashlib.sha256(raw).hexdigest())
            return read_calendar(raw.decode("utf-8-sig"))
        except UnicodeDecodeError:
            message = "not UTF-8 text; save the file as UTF-8"
        except OSError as error:
            message = f"cannot be read: {error.strerror}; {_what_to_do(Path(self._file).parent, path)}"
        except ValueError as error:
            message = str(error)
        section.blame(place, "ics", f"{path}: {message}")
        return ()


def read_exclude(
    section: Section, entry: Entry, calendars: Mapping[str, tuple[str, ...] | None]
) -> dict[str, Any]:
    """The fields `exclude` and `calendars` of a schedule; what cannot be used is blamed at its place."""
    texts: list[str] = []
    named: dict[str, tuple[str, ...]] = {}
    mended = cache(lambda: _mended("exclude", entry.node, calendars))
    for place, text in _texts(section, "exclude", entry.node, f"{_DATES}, and names of calendars"):
        texts.append(text)
        dates = calendars.get(text)
        if text not in calendars:
            _check(section, "exclude", place, text, calendars, mended)
        elif dates is None:
            message = f"the calendar {text!r} cannot be used: mend calendars.{text} first"
            section.blame(place, "exclude", message)
        else:
            named[text] = dates
    return {"exclude": tuple(texts), "calendars": named}


def _what_to_do(folder: Path, name: str) -> str:
    """For a calendar file that cannot be opened."""
    path = folder / name
    if path.is_dir():
        return f"this is a folder: write the name of a file in it, as in ics: {Path(name) / 'holidays.ics'}"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}: paths count from the folder of this file"
    if not path.exists():
        return f"put the file there, at {path.absolute()}, or write ics: with its path from the folder of this file"
    return f"let the user who runs this read {path.absolute()}, and its folders"


def _checked(section: Section, key: str, node: Node) -> Iterator[str]:
    mended = cache(lambda: _mended(key, node, {}))
    for place, text in _texts(section, key, node, _DATES):
        _check(section, key, place, text, {}, mended)
        yield text


def _check(
    section: Section,
    key: str,
    place: Node,
    text: str,
    calendars: Mapping[str, object],
    mended: Callable[[], str],
) -> None:
    """Blames an entry that is no date; `mended` is the whole list as it was meant, which is made once."""
    line = _line(key)
    try:
        if is_name(text) and calendars and not meant_entry(text):
            line = f"{SUCH_AS}{key}: [{next(iter(calendars))}]"
            raise BadInput(unknown_key(text, calendars).replace("unknown key", "unknown calendar"))
        check_entry(text)
    except (BadInput, CronError) as error:
        message = str(error).removeprefix("exclude: ")
        if meant := _meant(text, calendars):
            message, line = message.partition("; write ")[0], mended() or f"{meant} instead"
        section.blame(place, key, advised(message, line))


def _meant(text: str, calendars: Mapping[str, object]) -> str:
    """An entry that is right, or what another one was meant as; "" where it may mean anything."""
    try:
        if text not in calendars:
            check_entry(text)
    except CronError:
        return meant_entry(text) or (nearest_key(text, calendars) if is_name(text) else "")
    return text


def _mended(key: str, node: Node, calendars: Mapping[str, object]) -> str:
    """All entries of a list as they were meant; "" where one may mean anything, or the line would be long."""
    items = node.value if isinstance(node.value, list) else [node]
    if len(items) > LONGEST:
        return ""
    texts = [_meant(str(item.value), calendars) for item in items]
    listed = ", ".join(text if is_plain(text) else f'"{text}"' for text in texts)
    line = f"{key}: [{listed}]" if key else f"[{listed}]"
    return line if all(texts) and len(line) <= LONGEST else ""


def _texts(section: Section, key: str, node: Node, allowed: str) -> Iterator[tuple[Node, str]]:
    """One text, or a list of texts."""
    for item in node.value if isinstance(node.value, list) else [node]:
        if isinstance(item.value, str) and item.value:
            yield item, item.value
        else:
            section.blame(
                item, key, f"found {found(item.value, item.written)}; allowed: {allowed}; write {_line(key)}"
            )


def _line(key: str) -> str:
    """What to write instead; a calendar that is a plain list has no key for its dates."""
    return example(key) if key else f"{SUCH_AS}{EXAMPLES['dates']}"
