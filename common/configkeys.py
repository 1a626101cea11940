"""Every key that a configuration may hold: what is allowed, in code and in words. docs/configuration.md lists them."""

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from oncue.common import address, work
from oncue.common.allowance import check_pattern, check_start
from oncue.common.duration import meant_duration, read_duration
from oncue.common.errors import BadInput, CronError
from oncue.common.keys import Keys, queue_name
from oncue.common.localtime import meant_first, meant_moment
from oncue.common.retry import LARGEST_COUNT
from oncue.common.scalar import blank_lookalike, found, has_surrogate, kind
from oncue.common.timing_checks import MAX_CATCH_UP, MAX_COUNT
from oncue.common.walltime import wall_clock


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `usable` answers whether a value can be taken; `use` turns it, or raises in words of its own.

    `meant` is what a value that cannot be taken was meant as, as the file has it, or ""; `example` is a value of the
    kind, for those that can mean nothing.
    """

    allowed: str
    example: str
    usable: Callable[[object], bool]
    use: Callable[[Any], object] = lambda value: value
    is_text: bool = False
    secret: bool = False
    names: tuple[str, ...] = ()
    meant: Callable[[object], str] = lambda value: ""

    def take(self, value: object, written: str = "") -> object:
        """Return the value as it is used. Raises `BadInput`: what was found, as it is written; what is allowed."""
        if not self.usable(value):
            shown = kind(value) if self.secret else found(value, written)
            raise BadInput(f"found {shown}; allowed: {self.allowed}")
        if isinstance(value, str):
            self._refuse_characters(value)
        return self.use(value)

    def _refuse_characters(self, text: str) -> None:
        if has_surrogate(text):
            raise BadInput("found bytes that are not UTF-8 text")
        if not self.secret and (lookalike := blank_lookalike(text)):
            raise BadInput(f"found {lookalike}; type a blank instead")


def _number(low: float, high: float, words: str, example: str, *, above: bool = False) -> Key:
    def usable(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return (low < value if above else low <= value) and value <= high

    start = "above" if above else "from"
    return Key(f"a number {start} {low:.12g} to {high:.12g}{words}", example, usable, float)


def _integer(low: int, high: int, example: int, words: str = "") -> Key:
    def usable(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return Key(f"a whole number from {low} to {high}{words}", str(example), usable)


def _text(
    allowed: str,
    example: str,
    use: Callable[[str], object] = str,
    *,
    secret: bool = False,
    meant: Callable[[object], str] = lambda value: "",
) -> Key:
    def usable(value: object) -> bool:
        return isinstance(value, str) and value != ""

    return Key(allowed, example, usable, use, is_text=True, secret=secret, meant=meant)


def _choice(*names: str) -> Key:
    allowed = ", ".join(names) if len(names) > 1 else f"{names[0]}; remove it for anything else"

    def usable(value: object) -> bool:
        return isinstance(value, str) and value in names

    return Key(allowed, names[0], usable, is_text=True, names=names)


def _items(value: object) -> list[Any]:
    """The values of a list, which in the file have places."""
    return [getattr(one, "value", one) for one in value] if isinstance(value, list) else []


def _backoff() -> Key:
    def usable(value: object) -> bool:
        return value in _BACKOFFS or (bool(_items(value)) and all(wait.usable(one) for one in _items(value)))

    wait = _number(0, _YEAR_S, "", "1")
    allowed = "exponential, fixed, or a list of waits in seconds"
    return Key(allowed, "exponential", usable, lambda value: tuple(_items(value)) or value, names=_BACKOFFS)


def _allowance(items: str, example: str, check: Callable[[str], None], *, secret: bool = False) -> Key:
    def usable(value: object) -> bool:
        return isinstance(value, bool) or (
            bool(_items(value)) and all(isinstance(one, str) and one for one in _items(value))
        )

    def use(value: object) -> object:
        for one in _items(value):
            check(one)
        return value if isinstance(value, bool) else tuple(_items(value))

    return Key(f"true, false, or in the file a list of {items}", example, usable, use, secret=secret)


def _statuses() -> Key:
    status = _integer(100, 599, 204)

    def items(value: object) -> list[object]:
        return _items(value) or [value]

    return Key(
        "a status such as 204, or a list of them",
        "[200, 204]",
        lambda value: all(status.usable(one) for one in items(value)),
        lambda value: tuple(items(value)),
    )


def _url_to_call(url: str) -> str:
    try:
        work.check_url(url)
    except ValueError as error:
        raise BadInput(str(error)) from None
    return url


def _folder(path: str) -> str:
    if not path.startswith("/"):
        raise BadInput(f"found {path!r:.80}; allowed: an absolute path")
    return path


def _url(url: str) -> str:
    # A password may come from another source, which only the one who connects knows: the URL is judged alone here.
    address.parse(url, password="")
    return url


def _source(name: str) -> str:
    if not _SOURCE.fullmatch(name):
        raise BadInput(f"found {name!r:.80}; allowed: 1 to 64 of the characters A-Z a-z 0-9 _ . -")
    return name


def _namespace(name: str) -> str:
    Keys(name, 0)
    return name


def _zone(name: str) -> str:
    try:
        wall_clock(name)
    except CronError as error:
        raise BadInput(str(error).removeprefix("time zone: ")) from None
    return name


_DURATION = _text("a duration such as 90m, 6h or 1d", "90m", read_duration, meant=meant_duration)
_TRUTH = Key(
    "true, false",
    "true",
    lambda value: isinstance(value, bool),
    meant=lambda value: {"1": "true", "0": "false"}.get(str(value), ""),
)
_MOMENT = "2026-12-24, 2026-12-24T09:00 (local time of the zone) or 2026-12-24T09:00+01:00"
_FIRST = "2026-12-24T09:00"
_INSTANT = _text(_MOMENT, _FIRST, meant=meant_moment)
_ZONE = _text("the IANA name of a time zone as text, such as Europe/Berlin", "Europe/Berlin", _zone)
_SOURCE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_YEAR_S = 31_536_000
_BACKOFFS = ("exponential", "fixed")

SETTINGS: dict[str, Key] = {
    "url": _text(
        "the server's URL as text, such as redis://localhost:6379/0",
        "redis://localhost:6379/0",
        _url,
        secret=True,
    ),
    "username": _text("text in quotes", '"oncue"'),
    "password": _text("text in quotes", '"PASSWORD"', secret=True),
    "password_file": _text("the path of a file that holds the password alone", "/etc/oncue/password"),
    "ca_file": _text("the path of a file of certificates (PEM)", "/etc/ssl/certs/ca-certificates.crt"),
    "namespace": _text("text of 1 to 32 of the characters A-Z a-z 0-9 _ . -", "shop", _namespace),
    "shards": _integer(1, 1024, 4),
    "timezone": _ZONE,
    "source": _text("text of 1 to 64 of the characters A-Z a-z 0-9 _ . -", "shop", _source),
    "lease_s": _number(1, 86_400, " (seconds)", "15"),
    "stop_timeout_s": _number(0, 86_400, " (seconds)", "10"),
    "concurrency": _integer(1, 10_000, 10),
    "max_data_bytes": _integer(1, 512 * 1024 * 1024, 1_048_576, " (bytes)"),
    "keep_finished_s": _number(40, _YEAR_S, " (seconds)", "60"),
    "dead_max_age_s": _number(0, 100 * _YEAR_S, " (seconds)", "2592000"),
    "dead_max_count": _integer(0, 1_000_000_000, 100_000),
    "dead_max_bytes": _integer(0, 1 << 40, 268_435_456, " (bytes)"),
    "allow_commands": _allowance(
        "absolute paths, or patterns such as /opt/jobs/*", "[/opt/jobs/*]", check_pattern
    ),
    "allow_http": _allowance(
        "beginnings of URLs such as https://example.org/hooks/",
        "[https://example.org/hooks/]",
        check_start,
        secret=True,
    ),
}
"""What the file, an `ONCUE_` variable and a flag can all set: the fields of `Config` by the same names."""

SECTIONS = ("queues", "calendars", "schedules")
"""What the file alone can hold besides."""

QUEUE: dict[str, Key] = {"weight": _number(0, 1_000_000, "", "2", above=True)}

RETRY: dict[str, Key] = {
    "max_attempts": _integer(1, LARGEST_COUNT, 5),
    "backoff": _backoff(),
    "first_s": _number(0, _YEAR_S, " (seconds)", "1"),
    "max_s": _number(0, _YEAR_S, " (seconds)", "3600"),
    "jitter": _number(0, 1, " (a share of the wait)", "0.25"),
    "immediate": _integer(0, LARGEST_COUNT, 1),
    "max_lost": _integer(0, LARGEST_COUNT, 5),
    "max_throttled": _integer(0, LARGEST_COUNT, 100),
}

SCHEDULE: dict[str, Key] = {
    "cron": _text("a cron expression in quotes", '"30 2 * * *"'),
    "every": _DURATION,
    "rrule": _text("an rrule as text, such as FREQ=WEEKLY;BYDAY=MO", '"FREQ=WEEKLY;BYDAY=MO"'),
    "timezone": _ZONE,
    "days": _choice("either", "both"),
    "gap": _choice("run", "skip"),
    "anchor": _INSTANT,
    "from": _choice("end"),
    "dtstart": _text(
        "2026-12-24T09:00 (local time of the zone) or 2026-12-24T09:00+01:00", _FIRST, meant=meant_first
    ),
    "jitter": _DURATION,
    "start": _INSTANT,
    "end": _INSTANT,
    "count": _integer(1, MAX_COUNT, 10),
    "on_excluded": _choice("skip", "next_workday", "previous_workday"),
    "catch_up": _choice("latest", "all", "skip"),
    "catch_up_max": _integer(1, MAX_CATCH_UP, 100),
    "catch_up_within": _DURATION,
    "overlap": _choice("skip", "queue", "allow", "replace"),
    "queue": _text("the name of a queue as text", "reports", queue_name),
    "priority": _integer(0, 9, 5),
    "enabled": _TRUTH,
}
"""Besides `exclude`, `data`, `retry`, `command`, `env` and `http`, which are no single values, and those of `WORK`."""

WORK: dict[str, Key] = {
    "shell": _TRUTH,
    "cwd": _text("an absolute path", "/srv/app", _folder),
    "timeout_s": _number(0, work.LONGEST_S, " (seconds)", "60", above=True),
    "output_limit_bytes": _integer(0, work.MOST_OUTPUT_BYTES, 16_384, " (bytes)"),
}
"""What goes with `command`; the last two with `http`, too."""

HTTP: dict[str, Key] = {
    "url": _text(
        "a URL as text, such as https://example.org/hooks/nightly",
        "https://example.org/hooks/nightly",
        _url_to_call,
    ),
    "method": _choice(*work.METHODS),
    "expect": _statuses(),
}
"""Besides `headers` and `body`, which are no single values."""

EXAMPLES = {
    "queues": "{emails: {weight: 2}}",
    "calendars": "{holidays: [2026-12-25]}",
    "schedules": '{nightly: {cron: "30 2 * * *"}}',
    "retry": "{max_attempts: 5}",
    "exclude": "[2026-12-25]",
    "dates": "[2026-12-25]",
    "ics": "holidays.ics",
    "command": "[/usr/bin/true]",
    "env": "{LANG: C.UTF-8}",
    "http": "{url: https://example.org/hooks/nightly}",
    "headers": "{Accept: application/json}",
}
"""What may be written for the keys that are no single values."""

LATER_QUEUE = ("concurrency", "precision", "spread", "rate_limit")
"""Planned, and refused until they do what they say: an option without effect is a lie."""


def unknown_key(name: str, known: Iterable[str]) -> str:
    """Say why a key is refused, with the nearest known one."""
    allowed = list(known)
    near = nearest_key(name, allowed)
    hint = f"did you mean {near}? " if near else ""
    return f"unknown key {name[:60]!r}; {hint}allowed: {', '.join(allowed)}"


def nearest_key(name: str, known: Iterable[str]) -> str:
    """The known key that a misspelt one may be; "" where none is near."""
    return next(iter(difflib.get_close_matches(name[:40], list(known), n=1, cutoff=0.6)), "")
