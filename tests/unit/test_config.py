"""The configuration: three sources, everything checked, one broken schedule never stops the others."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from oncue.common.config import load
from oncue.common.configtypes import Config, QueueConfig
from oncue.common.errors import ConfigError
from oncue.common.problem import Problem
from oncue.common.retry import RetryPolicy
from tests.support.faults import check

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"
Write = Callable[[str], str]

EXAMPLE = """\
# oncue.yaml
timezone: Europe/Berlin
queues:
  emails: {weight: 3, retry: {max_attempts: 8, backoff: exponential}}
schedules:
  nightly-report: {cron: "30 2 * * *", queue: reports, data: {kind: nightly}, catch_up: latest}
"""


def refusal(
    path: str | None, env: dict[str, str] | None = None, flags: dict[str, object] | None = None
) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, env or {}, flags or {})
    return str(caught.value)


def sentences(path: str) -> list[str]:
    return [problem.sentence for problem in check(path)]


def test_without_any_source_the_defaults_hold() -> None:
    loaded = load(None, {}, {})
    assert loaded == Config()
    assert (loaded.lease_s, loaded.concurrency, loaded.revision) == (15.0, 10, "")


def test_the_example_of_the_documentation_loads(write: Write) -> None:
    example = re.search(r"(?:    .*\n)+(?=\nPut every cron)", DOCS.read_text(encoding="utf-8"))
    assert example
    for text in (EXAMPLE, re.sub(r"(?m)^    ", "", example[0])):
        loaded = load(write(text), {}, {})
        assert loaded.queues == {"emails": QueueConfig(3, RetryPolicy(max_attempts=8))}
        assert loaded.schedules["nightly-report"].data == {"kind": "nightly"}
        assert loaded.schedules["nightly-report"].timezone == "Europe/Berlin"
        assert loaded.invalid == []
        assert check("oncue.yaml") == []


def test_variables_win_over_the_file_and_flags_over_both(write: Write) -> None:
    path = write("lease_s: 20\nconcurrency: 2\nshards: 3\n")
    loaded = load(path, {"ONCUE_CONCURRENCY": "4", "ONCUE_SHARDS": "5"}, {"shards": 6, "lease_s": None})
    assert (loaded.lease_s, loaded.concurrency, loaded.shards) == (20.0, 4, 6)


def test_a_flag_given_as_text_is_read_like_a_variable() -> None:
    loaded = load(None, {"ONCUE_NAMESPACE": "10"}, {"lease_s": "1.5"})
    assert (loaded.namespace, loaded.lease_s) == ("10", 1.5)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load(None, {"ONCUE_URL": "", "ONCUE_LEASE_S": "", "ONCUE_CONFIG": ""}, {}) == Config()


def test_the_file_may_be_named_by_a_variable(write: Write) -> None:
    env = {"ONCUE_CONFIG": write("shards: 3\n")}
    assert load(None, env, {}).shards == 3


def test_a_later_place_replaces_password_and_password_file_alike(write: Write) -> None:
    path = write("password_file: /run/pw\n")
    loaded = load(path, {"ONCUE_PASSWORD": "s3"}, {})
    assert (loaded.password, loaded.password_file) == ("s3", None)
    loaded = load(path, {"ONCUE_PASSWORD": "s3"}, {"password_file": "/x"})
    assert (loaded.password, loaded.password_file) == (None, "/x")


def test_password_and_password_file_in_one_place_are_refused(write: Write) -> None:
    message = "password is set too; give one of them"
    assert refusal(write("password: x\npassword_file: y\n")) == f"oncue.yaml:2:1: password_file: {message}"
    assert refusal(None, {"ONCUE_PASSWORD": "x", "ONCUE_PASSWORD_FILE": "y"}) == (
        f"ONCUE_PASSWORD_FILE: {message}"
    )
    assert refusal(None, {}, {"password": "x", "password_file": "y"}) == f"--password-file: {message}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lease: 15\n", "oncue.yaml:1:1: lease: unknown key 'lease'; did you mean lease_s? allowed: url, "),
        ("lease_s: 0.5\n", "1:1: lease_s: found the number 0.5; allowed: a number from 1 to 86400 (seconds)"),
        ("lease_s: '15'\n", "1:1: lease_s: found the text '15'; allowed: a number"),
        ("lease_s: .nan\n", "1:1: lease_s: found the number .nan; allowed: a number"),
        ("shards: true\n", "1:1: shards: found the truth value true; allowed: a whole number"),
        ("shards: 1.0\n", "1:1: shards: found the number 1.0; allowed: a whole number"),
        ("timezone: Mars/Base\n", "1:1: timezone: found 'Mars/Base'; allowed are IANA names"),
        ("timezone:\n", "1:1: timezone: found nothing; allowed: the IANA name"),
        ("namespace: 'a b'\n", "1:1: namespace: 'a b' is not a namespace"),
        (
            "namespace: 'a\u00a0b'\n",
            "1:1: namespace: found a non-breaking space (U+00A0); type a blank instead",
        ),
        ("username: 10\n", "1:1: username: found the number 10; allowed: text in quotes"),
        ("url: http://x\n", "1:1: url: the server URL must start with redis://"),
        ("just words\n", "oncue.yaml:1:1: found text; allowed: keys with values"),
        ("queues: [a]\n", "1:9: queues: found a list; allowed: keys with values"),
        ("schedules: x\n", "1:12: schedules: found text; allowed: keys with values"),
        ("queues:\n  a b: {}\n", "2:3: queues.a b: 'a b' is not a queue name"),
        (
            "queues:\n  a: {weight: 0}\n",
            "2:7: queues.a.weight: found the number 0; allowed: a number above 0",
        ),
        ("queues:\n  a: {concurrency: 2}\n", "2:7: queues.a.concurrency: not yet supported; remove it"),
        ("queues:\n  a: {retries: 2}\n", "queues.a.retries: unknown key 'retries'; did you mean retry?"),
        ("queues:\n  a: {retry: 3}\n", "2:14: queues.a.retry: found a number; allowed: keys with values"),
        (
            "queues:\n  a: {retry: {backoff: x}}\n",
            "queues.a.retry.backoff: found the text 'x'; allowed: expo",
        ),
        ("queues:\n  a: {retry: {first_s: 9, max_s: 5}}\n", "2:14: queues.a.retry: first_s is 9.0 and max_s"),
        (
            "shards: 1\nshards: 2\n",
            "oncue.yaml:2:1: the key 'shards' is there twice: on line 1 and on line 2; delete one, or give it another name",
        ),
    ],
)
def test_a_fault_of_the_file_stops_it_with_place_key_found_and_allowed(
    write: Write, text: str, sentence: str
) -> None:
    path = write(text)
    assert sentence in refusal(path)
    assert sentence in sentences(path)[0]


def test_two_schedules_of_one_name_are_refused_with_both_lines(write: Write) -> None:
    path = write("schedules:\n  nightly: {cron: '@daily'}\n  nightly: {cron: '@hourly'}\n")
    assert (
        refusal(path)
        == "oncue.yaml:3:3: the key 'nightly' is there twice: on line 2 and on line 3; delete one, or give it another name"
    )


@pytest.mark.parametrize("cron", ["* * * * *", "*/5 * * * *", "@daily"])
def test_an_unquoted_cron_expression_is_refused_with_the_mended_line(write: Write, cron: str) -> None:
    path = write(f"schedules:\n  a:\n    cron: {cron}\n")
    assert refusal(path) == f'oncue.yaml:3:11: cron: quote the cron expression: cron: "{cron}"'


def test_check_gives_all_faults_in_the_order_of_the_lines(write: Write) -> None:
    path = write(
        "shards: 0\nschedules:\n  a: {cron: x, priority: 11}\n  b: {}\nqueues: {q: {weight: -1}}\nshard: 1\n"
    )
    assert [problem.line for problem in check(path)] == [1, 3, 3, 4, 5, 6]
    assert refusal(path).endswith(" (and 2 more)")


def test_check_of_a_file_that_is_not_there_is_a_fault_too(write: Write) -> None:
    assert check("none.yaml") == [Problem("none.yaml", 0, 0, "", "cannot be read: No such file or directory")]


@pytest.mark.parametrize("text", ["", "# all commented out\n", "queues:\nschedules:\n"])
def test_an_empty_file_sets_nothing(write: Write, text: str) -> None:
    loaded = load(write(text), {}, {})
    assert replace(loaded, revision="", emptied=False) == Config()
    assert loaded.revision != ""
    assert loaded.emptied == ("schedules" in text)


def test_the_revision_follows_the_content_of_the_file(write: Write) -> None:
    first = load(write("shards: 1\n"), {}, {}).revision
    assert load(write("shards: 1\n"), {"ONCUE_SHARDS": "2"}, {}).revision == first
    assert load(write("shards: 1 \n"), {}, {}).revision != first


@pytest.mark.parametrize(
    ("env", "flags", "sentence"),
    [
        ({"ONCUE_LEASE_S": "soon"}, {}, "ONCUE_LEASE_S: found the text 'soon'; allowed: a number from 1"),
        ({"ONCUE_SHARDS": "1_0"}, {}, "ONCUE_SHARDS: found the text '1_0'; allowed: a whole number"),
        ({"ONCUE_NAMESPCE": "x"}, {}, "ONCUE_NAMESPCE: unknown variable; did you mean ONCUE_NAMESPACE?"),
        ({}, {"lease_s": True}, "--lease-s: found the truth value true; allowed: a number"),
        ({}, {"leas_s": 1}, "--leas-s: unknown key 'leas_s'; did you mean lease_s?"),
    ],
)
def test_a_bad_variable_or_flag_is_refused_by_its_own_name(
    env: dict[str, str], flags: dict[str, object], sentence: str
) -> None:
    assert sentence in refusal(None, env, flags)


def test_variables_of_other_programs_are_left_alone() -> None:
    assert load(None, {"ONCUE_SERVERS_UNDER_TEST": "x", "HOME": "/"}, {}) == Config()


def test_no_refusal_or_repr_shows_a_secret(write: Write) -> None:
    bad = "redis://:Zq7pw#x@host"
    assert "Zq7pw" not in refusal(write(f"url: '{bad}'\n"))
    assert "Zq7pw" not in refusal(write("url: [Zq7pw]\npassword: {Zq7pw: 1}\n"))
    assert "Zq7pw" not in refusal(write("password: *Zq7pw\n"))
    assert "727272" not in refusal(write("password: 727272\n"))
    assert "Zq7pw" not in refusal(None, {"ONCUE_URL": bad, "ONCUE_PASSWORD": "Zq7pw\udcff"})
    assert "Zq7pw" not in repr(load(None, {"ONCUE_URL": "redis://:Zq7pw@h", "ONCUE_PASSWORD": "Zq7pw"}, {}))
