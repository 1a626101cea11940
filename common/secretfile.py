"""A password kept in a file of its own, so that it stands in no command line and no environment."""

from pathlib import Path

from oncue.common.errors import BadInput

_MAX_BYTES = 64 * 1024


def read_password(path: str) -> str:
    """Return the text of the file without its last line end.

    Raises `BadInput`, which names the file and never its content.
    """
    raw = _bounded(path)
    password = raw.decode("utf-8", "replace")
    # Compared instead of caught: a UnicodeDecodeError would carry the bytes along as its context.
    if password.encode() != raw:
        raise BadInput(f"password_file {path} is not UTF-8 text")
    password = password.removesuffix("\n").removesuffix("\r")
    if not password:
        raise BadInput(f"password_file {path} is empty")
    return password


def _bounded(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"password_file {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadInput("password_file is not a path") from None
    if len(raw) > _MAX_BYTES:
        raise BadInput(
            f"password_file {path} is longer than {_MAX_BYTES} bytes; it must hold the password alone"
        )
    return raw
