"""A record comes back as it was packed, and no bytes whatever do more harm than a BadInput."""

from __future__ import annotations

import marshal
import pickle
import subprocess
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue.common import record
from oncue.common.due import LAST_MS
from oncue.common.errors import BadInput

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
).filter(lambda value: "Infinity" not in repr(value) and "inf" not in repr(value))
QUEUES = st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True)
NONCES = st.just(b"") | st.binary(min_size=8, max_size=8)
OPTIONS = st.none() | st.dictionaries(
    st.text(max_size=20), st.integers(0, 9) | st.text(max_size=20), max_size=5
)
DUES = st.integers(0, LAST_MS)
BANDS = st.integers(0, 9)


@given(DUES, BANDS, QUEUES, JSON | st.binary(), NONCES, OPTIONS)
def test_what_is_packed_comes_back(
    due: int, band: int, queue: str, data: Any, nonce: bytes, options: dict[str, Any] | None
) -> None:
    packed = record.pack(due, band, queue, record.encoded(data, 1 << 20), nonce, options)
    assert record.unpack(packed) == (due, band, queue, options or {}, data)
    assert record.queue_and_band(packed) == (queue, band)


@given(st.binary(max_size=60) | st.builds(lambda head, tail: head + tail, st.just(b"\x10"), st.binary()))
def test_any_bytes_are_read_or_refused(hostile: bytes) -> None:
    with suppress(BadInput):
        found = record.unpack(hostile)
        assert isinstance(found.queue, str)
        assert 0 <= found.band <= 9


@given(DUES, QUEUES, JSON, NONCES, OPTIONS, st.data())
def test_a_record_that_was_damaged_or_cut_is_read_or_refused(
    due: int, queue: str, data: Any, nonce: bytes, options: dict[str, Any] | None, draw: st.DataObject
) -> None:
    whole = record.pack(due, 5, queue, record.encoded(data, 1 << 20), nonce, options)
    at = draw.draw(st.integers(0, len(whole) - 1))
    for hostile in (whole[:at], whole[:at] + draw.draw(st.binary(max_size=3)) + whole[at + 1 :]):
        with suppress(BadInput):
            record.unpack(hostile)


class Bomb:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return subprocess.call, (["false"],)


@pytest.mark.parametrize(
    "body",
    [
        pickle.dumps(Bomb(), 0),
        pickle.dumps(Bomb(), 5),
        marshal.dumps(compile("1/0", "x", "exec")),
        b"!!python/object/apply:os.system ['false']",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"NaN",
        b'"\xff"',
        b'"\\ud800"',
        b"",
    ],
)
def test_what_would_execute_elsewhere_is_refused_here(body: bytes) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        record.unpack(record.pack(0, 5, "q", (body, False)))
    with pytest.raises(BadInput, match="cannot be read"):
        record.unpack(body)


def test_another_format_and_a_wrong_band_are_named() -> None:
    packed = bytearray(record.pack(0, 5, "q", (b"1", False)))
    packed[0] = 0x20
    with pytest.raises(BadInput, match=r"a record of 15 bytes cannot be read \(its format is 2, not 1\)"):
        record.unpack(bytes(packed))
    with pytest.raises(BadInput, match="its band is 200"):
        record.unpack(record.pack(0, 200, "q", (b"1", False)))


class Opaque:
    """No JSON value."""


def _endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "data",
    [
        Opaque(),
        {1, Opaque()},
        {"a": Opaque()},
        "\ud800",
        {"\ud800": 1},
        10**5000,
        {(1, 2): 3},
        _endless(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_data_that_is_no_json_is_refused(data: Any) -> None:
    with pytest.raises(BadInput, match="the data cannot be written as JSON .*: give JSON values or bytes"):
        record.encoded(data, 1 << 20)


@pytest.mark.parametrize("data", [float("nan"), [1, float("inf")], {"a": {"b": -float("inf")}}])
def test_a_number_that_json_lacks_is_refused_rather_than_lost(data: Any) -> None:
    with pytest.raises(BadInput, match="NaN or infinite"):
        record.encoded(data, 1 << 20)
    assert record.encoded([None, {"null": "null"}], 100) == (b'[null,{"null":"null"}]', False)


def test_the_limit_counts_the_bytes_as_sent() -> None:
    assert record.encoded("ä" * 4, 10) == ('"ääää"'.encode(), False)
    with pytest.raises(
        BadInput, match="the data has 10 bytes, the limit is 9: store it elsewhere, send its key"
    ):
        record.encoded("ä" * 4, 9)
    assert record.encoded(memoryview(b"abc"), 3) == (b"abc", True)
    assert record.encoded(bytearray(b"abc"), 3) == (b"abc", True)
