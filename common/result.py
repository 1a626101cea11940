"""The result of a done task, as it is kept: 8 bytes instant of its end in ms, then "j" and JSON, or "b" and bytes.

The server drops it by itself some time after that instant; who reads it goes by the instant.
"""

from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode


def kept(body: bytes, raw: bool, until_ms: int) -> bytes:
    """A result as the store keeps it."""
    return until_ms.to_bytes(8, "big") + (b"b" if raw else b"j") + body


def read(value: bytes, now_ms: int) -> Any:
    """The result, or None if its time is over or nobody of ours wrote it; nothing in it can execute."""
    if len(value) < 9 or int.from_bytes(value[:8], "big") <= now_ms:
        return None
    if value[8:9] == b"b":
        return value[9:]
    try:
        return _decode(value[9:])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
