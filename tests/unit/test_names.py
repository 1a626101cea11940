"""Ids, queue names and namespaces: what is allowed in, where each key lies, and what is refused at the door."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue import App
from oncue.common import ids
from oncue.common.errors import BadInput
from oncue.common.keys import Keys, opens_at, page_of, queue_name, schedule_name, shard_of

HOSTILE = [
    "",
    " ",
    "a b",
    "a{b",
    "a}b",
    "{a}",
    "a\n",
    "\n",
    "a:\x00",
    "ä",
    "\ud800",
    "a" * 200,
    None,
    1,
    b"a",
    True,
]


def test_fresh_ids_are_short_usable_and_all_different() -> None:
    fresh = ids.new_ids(20_000)
    assert len(set(fresh)) == 20_000
    assert all(re.fullmatch(r"[A-Za-z0-9._]{12}", one) for one in fresh)
    assert [ids.checked(one) for one in fresh[:100]] == fresh[:100]
    assert ids.new_ids(0) == []


@pytest.mark.parametrize(
    "good", ["a", "0", ".x", "_", "user:17", "a@b.c/d+e-f", "nightly@2026-01-01T00:00:00Z", "x" * 128]
)
def test_a_usable_id_passes_unchanged(good: str) -> None:
    assert ids.checked(good) == good


@pytest.mark.parametrize("bad", [*HOSTILE, "-a", "=1:2:q", "+x", ":a", "a" * 129, "a*"])
def test_an_unusable_id_is_refused_with_the_characters_that_are_allowed(bad: object) -> None:
    with pytest.raises(BadInput) as refusal:
        ids.checked(bad)
    assert str(refusal.value) == (
        f"{bad!r} is not a task id: use 1 to 128 of the characters A-Z a-z 0-9 . _ : @ / + -,"
        " the first of them a letter, digit, dot or underscore"
    )


@pytest.mark.parametrize("bad", [*HOSTILE, "a:b", "a/b", "a@b", "x" * 65])
def test_an_unusable_queue_name_is_refused_wherever_it_is_given(bad: object) -> None:
    with pytest.raises(
        BadInput, match="is not a queue name: use 1 to 64 of the characters A-Z a-z 0-9 _ . -"
    ):
        queue_name(bad)
    with pytest.raises(BadInput, match="is not a queue name"):
        App("redis://localhost").handler(bad)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("bad", ["", "a b", "a:b", "{a}", "ä", "a\n", "x" * 129])
def test_an_unusable_name_of_a_schedule_is_shown_beside_what_is_allowed(bad: str) -> None:
    allowed = "is not a schedule's name: use 1 to 128 of the characters A-Z a-z 0-9 _ . -"
    with pytest.raises(BadInput) as refusal:
        schedule_name(bad)
    assert str(refusal.value) == f"{bad!r} {allowed}"
    assert schedule_name("x" * 128) == "x" * 128


@pytest.mark.parametrize("bad", ["", "{a}", "a}", "a:b", "x" * 33, "a\n"])
def test_an_unusable_namespace_is_refused(bad: str) -> None:
    with pytest.raises(BadInput, match="is not a namespace: use 1 to 32 of the characters"):
        Keys(bad, 0)


@given(st.from_regex(r"[A-Za-z0-9_.-]{1,32}", fullmatch=True), st.integers(0, 99))
def test_all_keys_of_a_shard_share_one_hash_tag(namespace: str, number: int) -> None:
    keys = Keys(namespace, number)
    fixed = [value for value in vars(keys).values() if isinstance(value, bytes)]
    made = [keys.page(7), keys.bucket(1, 2, "q"), keys.segment(b"=1:2:q"), keys.ready("q", 2), keys.wake("q")]
    tags = {re.match(rb"\{([^{}]+)\}", key) for key in (*fixed, *made)}
    assert {tag[1] for tag in tags if tag} == {f"{namespace}:{number}".encode()}
    assert None not in tags
    assert keys.segment(b"=1:2:q") == keys.bucket(1, 2, "q")
    assert len({*fixed, *made}) == len(fixed) + len(made) - 1


def test_a_queue_lives_in_the_same_shard_for_every_process_and_version() -> None:
    # Fixed for ever: a change would look for the tasks of running clusters in the wrong place.
    assert [shard_of(queue, 3) for queue in ("default", "a", "b", "c")] == [1, 0, 2, 0]
    assert {shard_of(f"q{n}", 3) for n in range(50)} == {0, 1, 2}


def test_a_page_is_a_minute_and_opens_a_page_ahead() -> None:
    assert [page_of(ms) for ms in (0, 59_999, 60_000, 119_999)] == [0, 0, 1, 1]
    assert opens_at(page_of(180_000)) == 120_000


def test_a_queue_has_one_handler() -> None:
    app = App("redis://localhost")
    app.handler("q")(print)
    with pytest.raises(BadInput, match="queue q has a handler already"):
        app.handler("q")(print)
