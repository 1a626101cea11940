"""One schedule of the file: its faults stay its own, so that a broken entry does not stop the others."""

import json
import math
import re
from typing import Any

from oncue.common.configkeys import LATER_SCHEDULE, SCHEDULE
from oncue.common.configsection import Section
from oncue.common.configtypes import ScheduleConfig
from oncue.common.cron import Cron
from oncue.common.errors import CronError
from oncue.common.problem import Problem
from oncue.common.scalar import found
from oncue.common.yamlfile import Entry, Node

_DEFAULT_QUEUE = "default"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_CUT_OFF = re.compile(r"[\d*/,LW#? -]+")
_COMMENT_OR_NTH = re.compile(r"\s+#\d")
_JSON_INTEGERS = range(-(2**63), 2**64)  # beyond these, readers of JSON disagree about the number


def read_schedule(
    file: str, name: str, entry: Entry, timezone: str, max_data_bytes: int
) -> tuple[ScheduleConfig | None, list[Problem]]:
    """Check one entry of `schedules`; `timezone` stands in where it names none. Returns it, or its faults."""
    section = Section(file, f"schedules.{name}", [], schedule=name)
    if not _NAME.fullmatch(name):
        section.blame(entry, "", "a schedule's name has 1 to 128 of the characters A-Z a-z 0-9 _ . -")
    values = _values(section, entry, timezone)
    data = _data(section, entry.node.entries.get("data"), max_data_bytes)
    if section.faults:
        return None, section.faults
    values = {"timezone": timezone, "queue": _DEFAULT_QUEUE, **values}
    return ScheduleConfig(name=name, data=data, line=entry.line, **values), []


def _values(section: Section, schedule: Entry, timezone: str) -> dict[str, Any]:
    entries = section.mapping(schedule.node)
    if not isinstance(schedule.node.value, dict | None):
        return {}
    cut_off = [key for key, entry in entries.items() if _is_cut_off(key, entry)]
    values = section.take(entries, SCHEDULE, beside=("data", *cut_off), later=LATER_SCHEDULE)
    values.pop("catch_up", None)
    if cut_off:
        section.blame(
            entries[cut_off[0]], "cron", "in braces a comma ends a value: quote the cron expression"
        )
    elif "cron" not in entries:
        section.blame(schedule, "cron", f"is missing; allowed: {SCHEDULE['cron'].allowed}")
    elif "cron" in values:
        _check_cron(section, entries["cron"], values["cron"], values.get("timezone", timezone))
    return values


def _is_cut_off(key: str, entry: Entry) -> bool:
    """In braces `cron: 0 0 1,15 * *` ends at the comma, and `15 * *` is a key without a value."""
    return key not in SCHEDULE and entry.node.value is None and bool(_CUT_OFF.fullmatch(key))


def _check_cron(section: Section, entry: Entry, cron: str, timezone: str) -> None:
    comment = "a blank and '#' start a comment: quote the cron expression"
    if _COMMENT_OR_NTH.match(entry.node.after):
        section.blame(entry, "cron", comment)
        return
    try:
        Cron(cron, timezone, seed=section.schedule)
    except CronError as error:
        hint = f"; {comment}" if entry.node.after.lstrip().startswith("#") else ""
        section.blame(entry, "cron", f"{error}{hint}")


def _data(section: Section, entry: Entry | None, max_bytes: int) -> object:
    if entry is None:
        return None
    data = _plain_data(section.inside("data"), entry.node)
    if section.faults:
        return None
    size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
    if size > max_bytes:
        section.blame(entry, "data", f"found {size} bytes of JSON; allowed: {max_bytes} (max_data_bytes)")
    return data


def _plain_data(section: Section, node: Node) -> object:
    value = node.value
    if isinstance(value, dict):
        return {key: _plain_data(section.inside(key), entry.node) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain_data(section.inside(str(at)), item) for at, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        section.blame(node, "", f"found {found(value)}, which JSON cannot hold; quote it")
    if isinstance(value, int) and value not in _JSON_INTEGERS:
        section.blame(node, "", "found a whole number of more than 64 bits; quote it")
    return value
