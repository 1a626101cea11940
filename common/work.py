"""Work without a handler of the app: the description of a command, or of a call of a URL, as a task's data holds it."""

import re
import string
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from oncue.common.errors import BadInput
from oncue.common.expected import expected
from oncue.common.secret import Secret

Runs = Literal["task", "command", "http"]

QUEUES = {"command": "commands", "http": "http"}
"""Where its tasks go unless said otherwise: to workers that allow it, and to no handler of an app."""

OUTPUT_LIMIT_BYTES = 16_384
MOST_OUTPUT_BYTES = 131_072
"""A result has at most 1 MB of JSON, which takes six bytes for the worst character."""

CALL_TIMEOUT_S = 30.0
LONGEST_S = 31_536_000.0
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_URL_CHARACTERS = frozenset(string.ascii_letters + string.digits + "-._~:/?[]@!$&'()*+,;=%")
_DOTS = re.compile(r"(?i)(?:^|/)(?:\.|%2e){1,2}(?:/|$)")


class Work(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """What commands and calls have in common; ``output_limit_bytes`` is how much of an answer is kept."""

    timeout_s: float | None = None
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES

    def __post_init__(self) -> None:
        """Refuse what no worker could do."""
        if self.timeout_s is not None and not 0 < self.timeout_s <= LONGEST_S:
            raise ValueError(f"timeout_s is {self.timeout_s}; allowed: above 0 to {LONGEST_S:.0f}")
        if not 0 <= self.output_limit_bytes <= MOST_OUTPUT_BYTES:
            raise ValueError(
                f"output_limit_bytes is {self.output_limit_bytes}; allowed: 0 to {MOST_OUTPUT_BYTES}"
            )
        self.check()

    def check(self) -> None:
        """Raises ValueError for what no worker could do."""


class Command(Work, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A program and its arguments; with ``shell`` one text for /bin/sh. ``env`` is added to the worker's variables."""

    command: str | tuple[str, ...]
    shell: bool = False
    env: dict[str, str | Secret] = {}
    cwd: str | None = None

    def check(self) -> None:
        """As ``Work``."""
        if not self.command or not self.command[0]:
            raise ValueError("the command is empty")
        if isinstance(self.command, str) != self.shell:
            raise ValueError("a command is a list of words, or with shell one text")
        values = [value for value in self.env.values() if isinstance(value, str)]
        if any("\0" in text for text in (*self.words, self.cwd or "", *values)):
            raise ValueError("a command cannot hold the character U+0000")
        for name in self.env:
            if not VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r:.60} is no name of a variable")
        if self.cwd is not None and not self.cwd.startswith("/"):
            raise ValueError(f"cwd is {self.cwd!r:.60}; give an absolute path")

    @property
    def words(self) -> tuple[str, ...]:
        """What is run."""
        return ("/bin/sh", "-c", self.command) if isinstance(self.command, str) else self.command


class Request(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An HTTP request; a body that is no text is sent as JSON. ``expect``: the good statuses, all of 2xx if none."""

    url: str
    method: str | None = None
    headers: dict[str, str | Secret] = {}
    body: Any = None
    expect: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be sent."""
        check_url(self.url)
        if self.method is not None and self.method not in METHODS:
            raise ValueError(f"found {self.method!r:.40}; allowed: {', '.join(METHODS)}")
        for name, value in self.headers.items():
            check_header(name, value)


class Call(Work, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A call of a URL."""

    http: Request


def check_url(url: str) -> None:
    """Raises ValueError for what is no plain URL of http or https."""
    strange = next((char for char in url if char not in _URL_CHARACTERS), None)
    if strange is not None:
        raise ValueError(f"a URL holds {strange!r} only percent-encoded, and no fragment")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        # Its login may hold a password.
        raise ValueError("found another kind of URL; allowed: http://HOST/... and https://HOST/...")
    if "@" in parts.netloc:
        raise ValueError("a login does not belong into a URL: use headers: {Authorization: {file: PATH}}")
    _ = parts.port
    # A server may resolve these, and a prefix that is allowed would say nothing.
    if _DOTS.search(parts.path):
        raise ValueError("the path of a URL must not hold . or .. as a part")


def check_header(name: str, value: str | Secret) -> None:
    """Raises ValueError for what no header can be."""
    if not _HEADER.fullmatch(name):
        raise ValueError(f"{name!r:.60} is no name of a header")
    if isinstance(value, str) and not (value.isprintable() and value.isascii()):
        raise ValueError("a header's value is printable ASCII on one line")


def read_work(runs: Runs, data: object) -> Work:
    """The description that a task's data is. Raises BadInput in one sentence."""
    kind: type[Work] = Command if runs == "command" else Call
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, ValueError) as error:
        # Its value may be a secret.
        refused = expected(str(error))
        why = ": ".join(refused) if refused else str(error)
        raise BadInput(f"its data does not describe a {_NAMES[runs]}: {why}") from None


_NAMES = {"command": "command", "http": "call of a URL", "task": "task"}
