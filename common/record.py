"""The record of a task: the one value that a waiting task costs. Only a move changes it: placement and due time.

Layout, big-endian; the same bytes are in ``docs/protocol.md``, for producers in other languages:

    0     1  format (high four bits, now 1) and flags: 1 nonce follows, 2 options follow, 4 data is bytes, not JSON,
                8 extras follow
    1     4  placement number, written by the script; zero when sent
    5     6  due time in ms
    11    1  priority band, 0 to 9
    12    1  length of the queue's name
    13    n  the queue's name
          8  nonce, if flagged: set for ids of the caller's choice, and wherever extras are
          6  extras, if flagged: the instant in ms by which the task has to have begun, or 0,
        1+k  and the length and name of its field in "claims", or 0
          2+n  options, if flagged: length, then a JSON object
          n  data

The header is fixed in place so that a script reads a due time or a queue without decoding anything. To change the
format: raise ``FORMAT``, keep reading the old one for as long as tasks may wait, and change lua/include/record.lua.
"""

import math
import struct
from typing import Any, NamedTuple

import msgspec

from oncue.common.errors import BadInput

FORMAT = 1
_NONCE, _OPTIONS, _BYTES, _EXTRAS = 1, 2, 4, 8
_HEADER = struct.Struct(">BIHIBB")
_RAW = (bytes, bytearray, memoryview)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Record(NamedTuple):
    """A record taken apart. ``due_ms`` is the time that the producer asked for."""

    due_ms: int
    band: int
    queue: str
    options: dict[str, Any]
    data: Any


def encoded(data: object, limit_bytes: int) -> tuple[bytes, bool]:
    """``data`` as bytes, and whether it was bytes already; raises BadInput if it is no JSON or over the limit."""
    if isinstance(data, _RAW):
        body, raw = bytes(data), True
    else:
        try:
            body, raw = _encode(data), False
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise BadInput(
                f"the data cannot be written as JSON ({error}): give JSON values or bytes"
            ) from None
        # The encoder writes null for what JSON has no number for; a handler would get None, and nobody know why.
        if b"null" in body and _holds_no_number(data):
            raise BadInput(
                "the data holds a number that is NaN or infinite, which JSON cannot hold: give None or a text"
            )
    if len(body) > limit_bytes:
        raise BadInput(
            f"the data has {len(body)} bytes, the limit is {limit_bytes}: store it elsewhere, send its key"
        )
    return body, raw


def _holds_no_number(data: object) -> bool:
    if isinstance(data, float):
        return not math.isfinite(data)
    if isinstance(data, dict):
        return any(map(_holds_no_number, data.values()))
    return isinstance(data, list | tuple | set | frozenset) and any(map(_holds_no_number, data))


def pack(
    due_ms: int,
    band: int,
    queue: str,
    data: tuple[bytes, bool],
    nonce: bytes = b"",
    options: dict[str, Any] | None = None,
    *,
    expires_ms: int = 0,
    claim: bytes = b"",
) -> bytes:
    """The record of a new task; ``data`` as ``encoded`` gives it, ``nonce`` of 8 bytes or none.

    A task that expires, or has a claim, needs a nonce.
    """
    body, raw = data
    name = queue.encode()
    extras = expires_ms.to_bytes(6, "big") + bytes((len(claim),)) + claim if expires_ms or claim else b""
    flags = FORMAT << 4 | (_NONCE if nonce else 0) | (_OPTIONS if options else 0) | (_BYTES if raw else 0)
    flags |= _EXTRAS if extras else 0
    head = _HEADER.pack(flags, 0, due_ms >> 32, due_ms & 0xFFFFFFFF, band, len(name)) + name + nonce + extras
    if options:
        text = _encode(options)
        head += len(text).to_bytes(2, "big") + text
    return head + body


def has_nonce(record: bytes) -> bool:
    """Whether its id may have been another task's before."""
    return record[0] & (_NONCE | _EXTRAS) != 0


def queue_and_band(record: bytes) -> tuple[str, int]:
    """Whose a record is, from the part that every script reads."""
    return record[_HEADER.size : _HEADER.size + record[_HEADER.size - 1]].decode(), record[_HEADER.size - 2]


def due_of(record: bytes) -> int:
    """When a record is due, in ms, from the part that every script reads."""
    return int.from_bytes(record[5:11], "big")


def unpack(record: bytes) -> Record:
    """The parts of a record; raises BadInput for what no oncue wrote, and never executes anything."""
    try:
        flags, _, high, low, band, length = _HEADER.unpack_from(record)
        if flags >> 4 != FORMAT:
            raise ValueError(f"its format is {flags >> 4}, not {FORMAT}")
        if band > 9:
            raise ValueError(f"its band is {band}")
        at = _HEADER.size + length
        queue = record[_HEADER.size : at].decode("ascii")
        at += 8 if flags & _NONCE else 0
        at += 7 + record[at + 6] if flags & _EXTRAS else 0
        options: dict[str, Any] = {}
        if flags & _OPTIONS:
            size = int.from_bytes(record[at : at + 2], "big")
            options = msgspec.json.decode(record[at + 2 : at + 2 + size], type=dict[str, Any])
            at += 2 + size
        body = record[at:]
        return Record(high << 32 | low, band, queue, options, body if flags & _BYTES else _decode(body))
    except (struct.error, ValueError, IndexError, msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"a record of {len(record)} bytes cannot be read ({error})") from None
