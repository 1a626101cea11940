"""Frames: what a worker and its child processes say to each other over pipes: JSON, and bytes as they are.

A frame is 4 bytes length of the JSON, 4 bytes length of the body, the JSON, the body. Nothing of it can execute.
"""

from typing import Any, BinaryIO

import msgspec

_encode = msgspec.json.Encoder().encode


class Gone(Exception):
    """The other side has closed its end."""


def send(pipe: BinaryIO, head: dict[str, Any], body: bytes = b"") -> None:
    """One frame; raises Gone."""
    text = _encode(head)
    try:
        pipe.write(len(text).to_bytes(4, "big") + len(body).to_bytes(4, "big") + text + body)
        pipe.flush()
    except (OSError, ValueError) as error:
        raise Gone from error


def receive(pipe: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """The next frame; raises Gone, also for what is no frame."""
    sizes = _exactly(pipe, 8)
    text = _exactly(pipe, int.from_bytes(sizes[:4], "big"))
    body = _exactly(pipe, int.from_bytes(sizes[4:], "big"))
    try:
        return msgspec.json.decode(text, type=dict[str, Any]), body
    except msgspec.DecodeError as error:
        raise Gone from error


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    try:
        found = pipe.read(size)
    except (OSError, ValueError) as error:
        raise Gone from error
    if len(found) < size:
        raise Gone
    return found
