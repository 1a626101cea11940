"""docs/configuration.md and the code name the same keys, variables and defaults."""

import re
from dataclasses import fields
from pathlib import Path

from oncue.common import config, configcalendars, configkeys, configwork
from oncue.common.configtypes import Config, ScheduleConfig
from oncue.common.retry import RetryPolicy

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def rows(after: str) -> dict[str, str]:
    """The first two columns of the table under a heading of the documentation."""
    section = DOCS.read_text(encoding="utf-8").split(f"\n## {after}\n")[1].split("\n## ")[0]
    return {
        key: second.strip("`") for key, second in re.findall(r"(?m)^\| `([\w.]+)` \| ([^|]+?) \|", section)
    }


def test_the_documentation_lists_every_setting_with_its_variable() -> None:
    expected = {key: name for name, key in config.variables().items() if key}
    assert rows("Settings") == expected
    others = {"queues", "schedules", "invalid", "faulty", "revision", "emptied"}
    assert set(expected.keys()) == {field.name for field in fields(Config)} - others
    assert config.FILE_VARIABLE in DOCS.read_text(encoding="utf-8")


def test_the_documentation_lists_every_key_of_queues_schedules_and_calendars() -> None:
    assert set(rows("Queues")) == {*configkeys.QUEUE, *(f"retry.{key}" for key in configkeys.RETRY)}
    nested = {f"http.{key}" for key in (*configkeys.HTTP, "headers", "body")}
    assert set(rows("Schedules")) == {
        *configkeys.SCHEDULE,
        *("exclude", "data", "retry"),
        *configwork.KEYS,
        *nested,
    }
    assert set(rows("Calendars")) == set(configcalendars.KEYS)
    assert set(configkeys.RETRY) == {field.name for field in fields(RetryPolicy)} - set(RetryPolicy.IN_CODE)


def test_the_documented_defaults_are_those_of_the_code() -> None:
    text = DOCS.read_text(encoding="utf-8")
    documented = rows("Settings")
    for field in fields(Config):
        if field.name in documented:
            row = re.search(rf"(?m)^\| `{field.name}` \| `ONCUE_\w+` \| `?([^|`]+?)`? \|", text)
            assert row, field.name
            default = "none" if field.default is None else field.default
            assert row[1] == (f"{default:.12g}" if isinstance(default, float) else str(default))


def test_the_documented_defaults_of_schedules_are_those_of_the_code() -> None:
    documented = rows("Schedules")
    for field in fields(ScheduleConfig):
        default = "true" if field.default is True else str(field.default)
        if field.name in documented and default not in ("None", "()") and not default.startswith("<"):
            assert documented[field.name] == default
