"""Task ids: made by the client, so that sending a schedule call twice leaves one task."""

import os
import re
from binascii import b2a_base64
from collections.abc import Iterable

from oncue.common.errors import BadInput

_NAMES = bytes.maketrans(b"+/", b"._")
_ID = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._:@/+-]{0,127}")


def new_ids(count: int) -> list[str]:
    """``count`` fresh ids of 12 characters, 72 random bits each, none of which starts with a dash."""
    text = b2a_base64(os.urandom(9 * count), newline=False).translate(_NAMES).decode()
    return [text[i : i + 12] for i in range(0, 12 * count, 12)]


def new_id() -> str:
    """One fresh id, as ``new_ids`` makes them."""
    return b2a_base64(os.urandom(9), newline=False).translate(_NAMES).decode()


def checked(task_id: object) -> str:
    """``task_id`` if it is a usable id; raises BadInput."""
    if not isinstance(task_id, str) or not _ID.fullmatch(task_id):
        raise BadInput(
            f"{task_id!r} is not a task id: use 1 to 128 of the characters A-Z a-z 0-9 . _ : @ / + -,"
            " the first of them a letter, digit, dot or underscore"
        )
    return task_id


def checked_all(task_ids: Iterable[str]) -> list[str]:
    """All of them, if each is a usable id; raises BadInput."""
    return [checked(task_id) for task_id in task_ids]


def new_nonce() -> bytes:
    """8 random bytes that tell a repeated call from a second call with the same id of the caller's choice."""
    return os.urandom(8)
