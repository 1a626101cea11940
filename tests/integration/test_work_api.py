"""Commands and calls created at run time, with the keys that the file has for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oncue import App, BadInput
from oncue.common.config import load
from tests.support.fixtures import valkey_store

store = valkey_store()

YAML = """schedules:
  dump:
    cron: "30 2 * * *"
    command: [pg_dump, shop]
    env: {PGHOST: db, PGPASSWORD: {file: /etc/key}}
    cwd: /var
    timeout_s: 60
    retry: {max_attempts: 2}
  ping:
    every: 5m
    http: {url: "http://localhost/", headers: {Authorization: {env: KEY}}, body: {kind: weekly}, expect: [200, 202]}
    output_limit_bytes: 10
"""
DUMP: dict[str, Any] = {
    "cron": "30 2 * * *",
    "command": ["pg_dump", "shop"],
    "env": {"PGHOST": "db", "PGPASSWORD": {"file": "/etc/key"}},
    "cwd": "/var",
    "timeout_s": 60,
    "retry": {"max_attempts": 2},
}
PING: dict[str, Any] = {
    "every_s": 300.0,
    "http": {
        "url": "http://localhost/",
        "headers": {"Authorization": {"env": "KEY"}},
        "body": {"kind": "weekly"},
        "expect": [200, 202],
    },
    "output_limit_bytes": 10,
}


def test_a_command_and_a_call_are_what_the_file_would_have_made_of_them(app: App, tmp_path: Path) -> None:
    file = tmp_path / "oncue.yaml"
    file.write_text(YAML)
    wanted = load(str(file), {}, {}).schedules
    for name, settings in (("dump", DUMP), ("ping", PING)):
        made = app.schedules.create(name, **settings).config
        assert made is not None
        assert made.definition_hash == wanted[name].definition_hash


def test_a_change_keeps_what_it_does_not_name(app: App) -> None:
    app.schedules.create("dump", **DUMP)
    changed = app.schedules.change("dump", command=["pg_dump", "mail"], timeout_s=30).config
    assert changed is not None
    assert changed.data == {
        "command": ["pg_dump", "mail"],
        "env": DUMP["env"],
        "cwd": "/var",
        "timeout_s": 30.0,
    }
    called = app.schedules.change("dump", http={"url": "http://localhost/"}).config
    assert called is not None
    assert (called.runs, called.queue, called.data) == (
        "http",
        "http",
        {"http": {"url": "http://localhost/"}},
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": ["ls"], "http": {"url": "http://localhost/"}}, "command or http, not both"),
        ({"command": ["ls"], "data": {}}, "data has no effect"),
        ({"cwd": "/var"}, "cwd has no effect without command"),
        ({"timeout_s": 5}, "timeout_s has no effect"),
        ({"command": "ls -l"}, "a list of words"),
        ({"command": ["ls"], "cwd": "var"}, "absolute path"),
        ({"command": ["ls"], "env": {"A": {"place": "x"}}}, "does not describe a command"),
        ({"command": ["ls"], "env": {"A": object()}}, "what JSON can hold"),
        ({"http": {"url": "ftp://localhost/"}}, "allowed: http://HOST/"),
        ({"http": "http://localhost/"}, "does not describe a call"),
    ],
)
def test_what_the_file_would_refuse_is_refused(app: App, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        app.schedules.create("any", cron="@daily", **settings)
    assert app.schedules.list() == []
