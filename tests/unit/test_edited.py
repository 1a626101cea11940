"""A difference between two definitions shows what a command and a URL are, and no password in them."""

import time
from dataclasses import replace

import pytest

from oncue.cli.edited import edited
from oncue.common.configtypes import ScheduleConfig

COMMAND = ScheduleConfig("a", "@daily", "UTC", "commands", None, runs="command")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["pg_dump", "--password=hunter2"], ["pg_dump", "--password=(hidden)"]),
        (["mysqldump", "-phunter2", "shop"], ["mysqldump", "-p(hidden)", "shop"]),
        (["x", "--api-token", "hunter2", "y"], ["x", "--api-token", "(hidden)", "y"]),
        (["env", "PGPASSWORD=hunter2", "pg_dump"], ["env", "PGPASSWORD=(hidden)", "pg_dump"]),
        (["curl", "-u", "me:hunter2", "x"], ["curl", "-u", "(hidden)", "x"]),
        (["curl", "-H", "Authorization: Bearer hunter2"], ["curl", "-H", "Authorization:(hidden)"]),
        (["psql", "postgres://me:hunter2@h/shop"], ["psql", "postgres://(hidden)"]),
        (["curl", "https://h/x?token=hunter2"], ["curl", "https://h/x?(hidden)"]),
        (["curl", "--header=Authorization: Bearer hunter2"], ["curl", "--header=Authorization:(hidden)"]),
        (["curl", "-ume:hunter2", "--user=me:hunter2"], ["curl", "-u(hidden)", "--user=(hidden)"]),
        (["git", "clone", "https://hunter2@h/x"], ["git", "clone", "https://(hidden)"]),
        (["sh", "-c", "cd /x; PGPASSWORD=hunter2 y"], ["sh", "-c", "cd /x; PGPASSWORD=(hidden)"]),
        (["sh", "-c", "mysqldump -phunter2 shop"], ["sh", "-c", "(hidden)"]),
        (["pg_dump", "--host=db", "shop"], ["pg_dump", "--host=db", "shop"]),
        (["curl", "https://auth.h:8443/x", "-s y"], ["curl", "https://auth.h:8443/x", "-s y"]),
    ],
)
def test_a_word_that_may_be_a_password_is_hidden(words: list[str], shown: list[str]) -> None:
    before = replace(COMMAND, data={"command": ["old"]})
    after = replace(COMMAND, data={"command": words})
    assert edited(before, after)["command"] == [["old"], shown]
    other = replace(COMMAND, data={"command": [word.replace("hunter2", "s3cret") for word in words]})
    assert edited(after, other).get("command", []) == (
        [shown, "(hidden, another one)"] if words != shown else []
    )


@pytest.mark.parametrize(
    "text",
    [
        "PGPASSWORD=hunter2 pg_dump shop",
        "curl -H 'Authorization: Bearer hunter2' https://h/x",
        'curl --header="X-Api-Key: hunter2" https://h/x',
        "mysqldump --password 'hunter2' shop",
    ],
)
def test_a_text_for_the_shell_with_a_password_is_hidden_whole(text: str) -> None:
    texts = ("pg_dump shop | gzip", text)
    one, other = (replace(COMMAND, data={"command": text, "shell": True}) for text in texts)
    assert edited(one, other)["command"] == [texts[0], "(hidden)"]


@pytest.mark.parametrize("part", ["://", "key", "a b ", "a://x:", "-"])
def test_a_long_word_is_looked_through_at_once(part: str) -> None:
    one, other = (replace(COMMAND, data={"command": [word, "x"]}) for word in ("y", part * 60_000))
    begin = time.process_time()
    assert edited(one, other)["command"][0] == ["y", "x"]
    assert time.process_time() - begin < 10


def test_the_query_of_a_url_is_hidden() -> None:
    call = ScheduleConfig("a", "@daily", "UTC", "http", None, runs="http")
    urls = ("https://h/a?token=hunter2", "https://h/b?token=hunter2")
    one, other = (replace(call, data={"http": {"url": url}}) for url in urls)
    assert edited(one, other)["http.url"] == ["https://h/a?(hidden)", "https://h/b?(hidden)"]
