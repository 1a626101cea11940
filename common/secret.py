"""A secret by its place, a file or a variable of the worker: so that the store and the file name it and never hold it."""

import os

import msgspec

from oncue.common.errors import BadInput

_MOST_BYTES = 65_536


class Secret(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Exactly one of the two: a path, or the name of a variable."""

    file: str | None = None
    env: str | None = None

    def __post_init__(self) -> None:
        """Refuse one without a place, or with two."""
        if bool(self.file) == bool(self.env):
            raise ValueError("a secret is {file: PATH} or {env: NAME}")


def resolved(value: str | Secret) -> str:
    """The text itself, or what stands in the secret's place now. Raises BadInput, which never shows it."""
    if isinstance(value, str):
        return value
    if value.env is not None:
        found = os.environ.get(value.env)
        if not found:
            raise BadInput(f"the variable {value.env} of the worker is not set")
        return found
    try:
        with open(str(value.file), "rb") as file:
            text = file.read(_MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{value.file} is not UTF-8 text") from None
    except OSError as error:
        raise BadInput(f"{value.file} cannot be read: {error.strerror}") from None
    return text.removesuffix("\n").removesuffix("\r")
