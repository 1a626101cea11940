"""P28: passwords with every awkward character, in every place that takes them, and in none that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from tests.support.commands import ended
from tests.support.processes import Process
from tests.support.servers import RedisServer
from tests.support.waiting import eventually

Start = Callable[..., Process]
PASSWORD = "a#b@c/d%e+f=g:h?i j"
USER, USER_PASSWORD = "u:1", "p+w/d%#@: \u00e9"
APP = """
import oncue
app = oncue.App()

@app.handler("emails")
def email(task):
    print("email", task.data, flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer("valkey", tmp_path_factory.mktemp("login")) as found:
        admin = found.admin
        admin.acl_setuser(
            USER,
            enabled=True,
            passwords=[f"+{USER_PASSWORD}"],
            keys=["*"],
            channels=["*"],
            commands=["+@all"],
        )
        admin.config_set("requirepass", PASSWORD)
        yield found
        # The client has authenticated already, so it may take the password away again.
        admin.config_set("requirepass", "")


def in_url(server: RedisServer, user: str, password: str) -> str:
    return f"redis://{quote(user, safe='')}:{quote(password, safe='')}@127.0.0.1:{server.port}/0"


def settings(server: RedisServer, folder: Path, place: str) -> tuple[dict[str, str], str]:
    """Variables, and the content of the file, for each place where a password can stand."""
    bare = f"redis://127.0.0.1:{server.port}/0"
    (folder / "password").write_text(PASSWORD + "\n")
    return {
        "url": ({"ONCUE_URL": in_url(server, "", PASSWORD)}, ""),
        # A plus is a plus: a form decoder would make a blank of it.
        "url with raw signs": (
            {"ONCUE_URL": f"redis://:{quote(PASSWORD, safe='+=:')}@127.0.0.1:{server.port}/0"},
            "",
        ),
        "url of an ACL user": ({"ONCUE_URL": in_url(server, USER, USER_PASSWORD)}, ""),
        "variables": ({"ONCUE_URL": bare, "ONCUE_PASSWORD": PASSWORD}, ""),
        "variables of an ACL user": (
            {"ONCUE_URL": bare, "ONCUE_USERNAME": USER, "ONCUE_PASSWORD": USER_PASSWORD},
            "",
        ),
        "password file": ({"ONCUE_URL": bare, "ONCUE_PASSWORD_FILE": str(folder / "password")}, ""),
        "oncue.yaml": ({}, f"url: '{bare}'\nusername: 'u:1'\npassword: '{USER_PASSWORD}'\n"),
    }[place]


PLACES = (
    "url",
    "url with raw signs",
    "url of an ACL user",
    "variables",
    "variables of an ACL user",
    "password file",
    "oncue.yaml",
)


@pytest.mark.parametrize("place", PLACES)
def test_scheduler_worker_and_commands_log_in_and_show_no_password(
    run_oncue: Start, server: RedisServer, tmp_path: Path, namespace: str, place: str
) -> None:
    env, content = settings(server, tmp_path, place)
    env["ONCUE_NAMESPACE"] = namespace
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "oncue.yaml").write_text(
        content + 'schedules: {beat: {cron: "* * * * * *", queue: emails, data: beat}}\n'
    )
    debug = ("--config", "oncue.yaml", "--log-level", "debug")
    scheduler = run_oncue("scheduler", *debug, env=env, cwd=tmp_path)
    worker = run_oncue("worker", "shop:app", *debug, env=env, cwd=tmp_path)
    commands = [
        ended(run_oncue, *words, "--config", "oncue.yaml", env=env, cwd=tmp_path)
        for words in (("schedule", "emails", '"hello"'), ("stats",), ("doctor",), ("cron", "list"))
    ]
    assert [end.code for end in commands] == [0, 0, 1, 0]
    worker.wait_for_line("email hello")
    worker.wait_for_line("email beat")
    shown = [scheduler.output, worker.output, *(end.output for end in commands)]
    shown += [" ".join(psutil.Process(process.pid).cmdline()) for process in (scheduler, worker)]
    for text in shown:
        assert not [secret for secret in secrets() if secret in text]


def secrets() -> set[str]:
    return {
        form
        for password in (PASSWORD, USER_PASSWORD)
        for form in (password, quote(password, safe=""), quote(password, safe="+=:"), repr(password)[1:-1])
    }


@pytest.mark.parametrize("words", [("scheduler",), ("worker", "shop:app"), ("stats",), ("doctor",)])
def test_a_wrong_password_is_one_sentence_without_it(
    run_oncue: Start, server: RedisServer, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "shop.py").write_text(APP)
    env = {"ONCUE_URL": f"redis://127.0.0.1:{server.port}/0", "ONCUE_PASSWORD": "wrong-and-secret"}
    end = ended(run_oncue, *words, env=env, cwd=tmp_path)
    assert end.code == 2
    assert "refuses the login: check user name and password" in end.output
    assert end.output.count("\n") == 1
    assert "wrong-and-secret" not in end.output


@pytest.mark.parametrize(
    ("url", "character"),
    [
        (f"redis://:{PASSWORD}@127.0.0.1:6379/0", "'#'"),
        ("redis://:sec ret@127.0.0.1:6379/0", "a space"),
        ("redis://:secret%zz@127.0.0.1:6379/0", "'%'"),
    ],
)
def test_a_malformed_url_is_refused_by_its_character(run_oncue: Start, url: str, character: str) -> None:
    end = ended(run_oncue, "stats", env={"ONCUE_URL": url})
    assert end.code == 2
    assert character in end.output
    assert not [part for part in (PASSWORD, "secret", "sec ret") if part in end.output]


def test_a_password_in_the_command_line_is_warned_of(run_oncue: Start, server: RedisServer) -> None:
    process = run_oncue("scheduler", "--url", in_url(server, USER, USER_PASSWORD))
    process.wait_for_line("other users of this host can read the password in --url")
    eventually(lambda: "at work" in process.output, what="the login")
