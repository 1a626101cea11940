"""`command` and `http` in the file: what they become, and each fault with its place and a mended line."""

from collections.abc import Callable
from typing import Any

import pytest

from oncue.common.allowance import Allowance
from oncue.common.config import load
from oncue.common.configtypes import Config, ScheduleConfig
from oncue.common.errors import BadInput
from oncue.scheduler.definition import checked, defined, read
from tests.support.faults import check

Write = Callable[[str], str]


def schedule(write: Write, text: str) -> ScheduleConfig:
    path = write(f"schedules:\n  a: {text}\n")
    assert check(path) == []
    return load(path, {}, {}).schedules["a"]


def test_a_command_becomes_the_data_of_its_tasks_with_nothing_in_it_that_was_not_given(write: Write) -> None:
    found = schedule(write, "{every: 1m, command: [echo, hi]}")
    assert (found.runs, found.queue, found.data) == ("command", "commands", {"command": ["echo", "hi"]})
    found = schedule(
        write,
        "{every: 1m, command: echo $A | cat, shell: true, env: {A: b, C: {file: /c}, D: {env: E}}, cwd: /tmp,"
        " timeout_s: 5, output_limit_bytes: 10, queue: mine, retry: {max_attempts: 2}}",
    )
    assert found.queue == "mine"
    assert found.retry == {"max_attempts": 2}
    assert found.data == {
        "command": "echo $A | cat", "shell": True, "env": {"A": "b", "C": {"file": "/c"}, "D": {"env": "E"}},
        "cwd": "/tmp", "timeout_s": 5.0, "output_limit_bytes": 10,
    }  # fmt: skip


def test_a_call_becomes_the_data_of_its_tasks(write: Write) -> None:
    found = schedule(
        write,
        "{every: 1m, timeout_s: 3, http: {url: 'https://e.org/x?y', method: PUT, expect: 204, body: {a: [1]},"
        " headers: {Authorization: {env: TOKEN}, X: y}}}",
    )
    assert (found.runs, found.queue) == ("http", "http")
    assert found.data == {
        "timeout_s": 3.0,
        "http": {
            "url": "https://e.org/x?y", "method": "PUT", "expect": [204], "body": {"a": [1]},
            "headers": {"Authorization": {"env": "TOKEN"}, "X": "y"},
        },
    }  # fmt: skip


def test_definitions_of_before_have_the_hash_that_they_had(write: Write) -> None:
    plain = schedule(write, "{cron: '@daily', queue: q, data: {a: 1}}")
    assert plain.options() == {}
    assert "runs" in schedule(write, "{cron: '@daily', command: [x]}").options()


def test_a_definition_comes_back_from_the_store_as_it_was(write: Write) -> None:
    config = schedule(write, "{every: 1m, command: [a, b], retry: {backoff: [1, 2]}}")
    definition = defined(config, "f")
    back = read("a", definition.hash + definition.stored())
    assert back.config.definition_hash == config.definition_hash
    assert (back.config.runs, back.config.data) == ("command", {"command": ["a", "b"]})


def test_a_program_cannot_create_what_no_worker_could_run() -> None:
    unusable: list[Any] = [None, {"command": []}, {"command": "x"}, {"command": ["x"], "cwd": "here"}]
    for data in unusable:
        config = ScheduleConfig("a", None, "UTC", "commands", data, every_s=60.0, runs="command")
        with pytest.raises(BadInput, match="does not describe a command"):
            checked(config)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{every: 1m, command: dump -f "a b"}', '2:27: schedules.a.command: found one text, which goes with shell: true; write that beside it'),
        ("{every: 1m, command: [sleep, 5]}", '2:35: schedules.a.command: found a number; put it in quotes'),
        ("{every: 1m, command: []}", "2:18: schedules.a.command: the command is empty"),
        ("{every: 1m, command: {a: b}}", "found a mapping; allowed: a list of words, the program first"),
        ("{every: 1m, command: [x], shell: true}", "found a list; with shell: true one text in quotes"),
        ("{every: 1m, command: [x], data: 1}", "2:32: schedules.a.data: has no effect with command"),
        ("{every: 1m, command: [x], http: {url: 'http://h/'}}", "a schedule has command or http, not both"),
        ("{every: 1m, command: [x], env: {A: 5}}", '2:41: schedules.a.env.A: found a number; put it in quotes'),
        ("{every: 1m, command: [x], env: {A: {file: x, env: y}}}", "found a mapping; allowed: text, {file: PATH} or"),
        ("{every: 1m, command: [x], env: {A-: b}}", "schedules.a.env.A-: 'A-' is no name of a variable"),
        ("{every: 1m, command: [x], cwd: here}", "schedules.a.cwd: found 'here'; allowed: an absolute path"),
        ("{every: 1m, command: [x], output_limit_bytes: 1000000}", "allowed: a whole number from 0 to 131072"),
        ("{every: 1m, comand: [x]}", "unknown key 'comand'; did you mean command?"),
        ("{every: 1m, timeout_s: 3}", "schedules.a.timeout_s: has no effect without command or http"),
        ("{every: 1m, http: {url: 'http://h/'}, cwd: /x}", "schedules.a.cwd: has no effect without command"),
        ("{every: 1m, http: 'http://h/'}", "2:24: schedules.a.http: found a text; write it behind url, as in http: {url:"),
        ("{every: 1m, http: {method: GET}}", "schedules.a.http.url: is missing; write http: {url:"),
        ("{every: 1m, http: {url: 'ftp://h/'}}", "allowed: http://HOST/... and https://HOST/..."),
        ("{every: 1m, http: {url: 'http://u:p@h/'}}", "schedules.a.http.url: a login does not belong into a URL"),
        ("{every: 1m, http: {url: 'http://h/a/%2e./b'}}", "must not hold . or .. as a part"),
        ("{every: 1m, http: {url: 'http://h/ä'}}", "'ä' only percent-encoded"),
        ("{every: 1m, http: {url: 'http://h:99999/'}}", "Port out of range"),
        ("{every: 1m, http: {url: 'http://h/', methd: GET}}", "unknown key 'methd'; did you mean method?"),
        ("{every: 1m, http: {url: 'http://h/', method: get}}", "found the text 'get'; allowed: GET, HEAD"),
        ("{every: 1m, http: {url: 'http://h/', expect: ok}}", "allowed: a status such as 204, or a list of them"),
        ('{every: 1m, http: {url: "http://h/", headers: {A: "b\\nC: d"}}}', "printable ASCII on one line"),
        ("{every: 1m, http: {url: 'http://h/', headers: {A b: c}}}", "'A b' is no name of a header"),
        ("{every: 1m, retry: {max_attempts: 0}}", "schedules.a.retry.max_attempts: found the number 0"),
    ],
)  # fmt: skip
def test_a_fault_is_one_sentence_with_its_place(write: Write, text: str, sentence: str) -> None:
    path = write(f"schedules:\n  a: {text}\n")
    problems = check(path)
    assert len(problems) == 1, [problem.sentence for problem in problems]
    assert sentence in problems[0].sentence
    assert load(path, {}, {}).schedules == {}


def allowance(write: Write, text: str, env: dict[str, str], flag: bool | None = None) -> Config:
    return load(write(text), env, {"allow_commands": flag})


def test_a_list_turns_nothing_on_and_what_turns_on_keeps_the_list(write: Write) -> None:
    listed = "allow_commands: [/opt/jobs/*]\n"
    on = {"ONCUE_ALLOW_COMMANDS": "true"}
    only = ("/opt/jobs/*",)
    assert allowance(write, "", {}).allow_commands == Allowance(False)
    assert allowance(write, listed, {}).allow_commands == Allowance(False, only)
    assert allowance(write, listed, on).allow_commands == Allowance(True, only)
    assert allowance(write, listed, {}, True).allow_commands == Allowance(True, only)
    assert allowance(write, listed, on, False).allow_commands == Allowance(False, only)
    assert allowance(write, "allow_commands: true\n", {}).allow_commands == Allowance(True)


@pytest.mark.parametrize(
    "text",
    ["allow_commands: [jobs/*]", "allow_commands: []", "allow_commands: [/a/../b]", "allow_commands: yes",
     "allow_http: ['https://h']", "allow_http: ['h/']", "allow_http: [5]"],
)  # fmt: skip
def test_a_list_that_says_nothing_sure_is_refused(write: Write, text: str) -> None:
    assert len(check(write(text + "\n"))) == 1


def test_a_pattern_fits_whole_paths_and_no_path_that_goes_up() -> None:
    some = Allowance(True, ("/opt/jobs/*", "/bin/true"))
    assert some.allows_program("/opt/jobs/a")
    assert some.allows_program("/bin/true")
    for path in ("/opt/jobs/../a", "/opt/jobs/b/c", "/x/opt/jobs/a", "/bin/truer", "opt/jobs/a", "/opt/jobs"):
        assert not some.allows_program(path)
    assert Allowance(True).allows_program("/any")
    assert not Allowance(False, ("/any",)).allows_program("/any")


def test_a_beginning_fits_its_own_host_alone() -> None:
    some = Allowance(True, ("https://h.org/a/", "http://h.org:8080/?x="))
    assert some.allows_url("https://h.org/a/b?c")
    assert some.allows_url("https://H.ORG/a/")
    assert some.allows_url("http://h.org:8080/?x=1")
    for url in (
        "https://h.org/b",
        "http://h.org/a/",
        "https://h.org.evil/a/",
        "https://h.org:444/a/",
        "http://h.org:8080/",
    ):
        assert not some.allows_url(url)  # fmt: skip
