"""docs/protocol.md says what the code does: every key, every script, and the bytes of one call."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, get_args

import pytest

from oncue.common import keys as keys_module
from oncue.common.keys import Keys
from oncue.common.record import FORMAT, pack, unpack
from oncue.common.scripts import script
from oncue.common.task import State
from tests.lua import protocol
from tests.lua.instants import NOW
from tests.lua.scripts import Lua
from tests.lua.tasks import Task
from tests.support.servers import RedisServer

TYPES = ("hash", "list", "sorted set", "string", "stream")
SCRIPTS = sorted(path.stem for path in (protocol.ROOT / "lua").glob("*.lua"))
METHODS = {
    "page": Keys("oncue", 0).page(7),
    "schedule": Keys("oncue", 0).schedule("nightly"),
    "history": Keys("oncue", 0).history("nightly"),
    "backfilled": Keys("oncue", 0).backfilled("nightly"),
    "bucket": Keys("oncue", 0).bucket(7, 5, "emails"),
    "ready": Keys("oncue", 0).ready("emails", 5),
    "wake": Keys("oncue", 0).wake("emails"),
    "result": Keys("oncue", 0).result("hello"),
}
"""A key of each function that makes them."""


@pytest.fixture(scope="module")
def page() -> str:
    return protocol.PAGE.read_text()


def section(page: str, title: str) -> str:
    """The text under a heading, down to the next of any level."""
    match = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert match, f"the page has no section {title}"
    return match[1]


def rows(text: str) -> list[list[str]]:
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in lines[2:]]


def documented_keys(page: str) -> dict[str, str]:
    """Patterns of the keys, as regular expressions, to their types."""
    found = {}
    for name, kind, _ in rows(section(page, "Keys")):
        found[re.sub(r"<\w+>", r"[\\w.-]+", name.strip("`"))] = kind
    return found


def fixed_keys() -> dict[str, bytes]:
    keys = Keys("oncue", 0)
    return {name: key for name, key in vars(keys).items() if name != "prefix"}


def test_every_key_is_in_the_page_and_no_other(page: str) -> None:
    prefix = Keys("oncue", 0).prefix.decode()
    names = [key.decode().removeprefix(prefix) for key in (*fixed_keys().values(), *METHODS.values())]
    patterns = documented_keys(page)
    matches = {name: [pattern for pattern in patterns if re.fullmatch(pattern, name)] for name in names}
    assert {name: found for name, found in matches.items() if len(found) != 1} == {}
    assert len(patterns) == len(names)


def test_the_states_that_are_counted_are_all_that_there_are(page: str) -> None:
    found = re.search(r"States in `counts` are (.*?);", page, re.DOTALL)
    assert found
    assert set(re.findall(r"`(\w+)`", found[1])) == set(get_args(State))


def test_every_function_that_makes_keys_is_known_here() -> None:
    made = {name for name in vars(Keys) if not name.startswith("_")}
    assert made - {"segment", "ready_beside"} == set(METHODS)


def test_the_types_are_those_that_the_code_says(page: str) -> None:
    source = Path(str(keys_module.__file__)).read_text()
    documented = documented_keys(page)
    for name in fixed_keys():
        match = re.search(rf"self\.{name} = .*?# ({'|'.join(TYPES)})", source, re.DOTALL)
        assert match
        assert documented[name] == match[1]
    for name in METHODS:
        made = getattr(Keys, name).__doc__.split(":")[0].lower()
        assert [kind for pattern, kind in documented.items() if pattern.startswith(f"{name}:")] == [made]


def test_every_script_is_in_the_page_once_with_its_contract_and_when_to_call_it(page: str) -> None:
    assert sorted(re.findall(r"<!-- contract: (\w+) -->", page)) == SCRIPTS
    for name in SCRIPTS:
        assert section(page, name).startswith("\nCalled by ")


def test_contracts_and_example_are_what_the_code_says_now(page: str) -> None:
    assert protocol.rewritten(page) == page, "run `python -m tests.lua.protocol`"


def test_the_call_is_introduced_with_its_number_of_keys_and_the_place_of_its_slot(page: str) -> None:
    keys, args = protocol.example_call()
    slot = f"KEYS[{int(args[-1])}] to KEYS[{len(keys)}] are the slot"
    introduced = " ".join(page.split())
    assert f"`EVALSHA <hash of schedule> {len(keys)}`" in introduced
    assert slot in introduced


def test_the_example_leaves_in_the_store_what_the_page_says(page: str, valkey: RedisServer) -> None:
    keys, args = protocol.example_call()
    client: Any = valkey.client()
    assert script("schedule")(client, keys, args) == [1]
    lua = Lua(client, protocol.NAMESPACE)
    records = client.hgetall(lua.keys.records)
    counts = client.hgetall(lua.keys.counts)
    found = {
        "records": [f"{protocol.shown(name)} = {protocol.shown(text)}" for name, text in records.items()],
        "timetable": [f"{protocol.shown(member)} = {at}" for member, at in lua.timetable().items()],
        "counts": [f"{name.decode()} = {int(number)}" for name, number in counts.items()],
        "seq": [client.get(lua.keys.seq).decode()],
        "armed": [client.get(lua.keys.armed).decode()],
        "notify": [f"due = {instant}" for instant in lua.notified()],
    }
    block = re.search(r"<!-- example: store -->\n+```text\n(.*?)```", page, re.DOTALL)
    assert block
    told: dict[str, list[str]] = {}
    for line in block[1].splitlines():
        name, _, text = line.partition(" ")
        told.setdefault(name, []).append(text.strip())
    assert told == found
    assert script("schedule")(client, keys, args) == [0]
    assert {name.decode() for name in lua.names()} == set(found)


def test_the_sizes_in_the_page_are_those_of_the_code(page: str, valkey: RedisServer) -> None:
    record = pack(1, 5, "q", (b"", True), b"12345678")
    assert f"format, now {FORMAT};" in section(page, "Record")
    offsets = [cells[:2] for cells in rows(section(page, "Record"))]
    assert offsets[:5] == [["0", "1"], ["1", "4"], ["5", "6"], ["11", "1"], ["12", "1"]]
    assert len(record) == 13 + 1 + 8
    assert unpack(record).due_ms == 1

    lua = Lua(valkey.client(), protocol.NAMESPACE)
    lua.schedule(NOW, Task("a", nonce=b"12345678")).run()
    (held,) = lua.take_all(NOW)
    run = lua.client.hget(lua.keys.runs, "a")
    state, token, rest, due = struct.unpack(">c6s6s6s", run[:19])
    assert (state, rest, run[19:]) == (b"l", b"\0\x01\0\0\0\0", b"\0\x0012345678")
    assert (int.from_bytes(token, "big"), int.from_bytes(due, "big")) == (held.token, NOW)
    assert [cells[0] for cells in rows(section(page, "Run"))] == ["0", "1", "7", "9", "11", "13", "19", "21"]


def test_every_kind_of_member_is_in_the_page(page: str) -> None:
    told = {cells[0].strip("`")[0] for cells in rows(section(page, "Members of the timetable"))}
    members = (protocol.ROOT / "lua" / "include" / "members.lua").read_text()
    assert told == set(re.findall(r'"(.)" ', members.split("local", 1)[0])) == set("+=pltgfd")
