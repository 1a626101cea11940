"""Every key that a configuration may hold: what is allowed, in code and in words. docs/configuration.md lists them."""

import difflib
import re
from collections.abc import Callable, Iterable

from oncue.common import address, work
from oncue.common.allowance import check_pattern, check_start
from oncue.common.configkey import Key, choice, integer, items, number, text
from oncue.common.duration import meant_duration, read_duration
from oncue.common.errors import BadInput, CronError
from oncue.common.keys import Keys, queue_name
from oncue.common.localtime import meant_first, meant_moment
from oncue.common.recurrence_text import MAX_COUNT
from oncue.common.retry import LARGEST_COUNT
from oncue.common.timing_checks import MAX_CATCH_UP
from oncue.common.walltime import wall_clock


def _backoff() -> Key:
    def usable(value: object) -> bool:
        return value in _BACKOFFS or (bool(items(value)) and all(wait.usable(one) for one in items(value)))

    wait = number(0, _YEAR_S, "", "1")
    allowed = "exponential, fixed, or a list of waits in seconds"
    return Key(allowed, "exponential", usable, lambda value: tuple(items(value)) or value, names=_BACKOFFS)


def _allowance(of: str, example: str, check: Callable[[str], None], *, secret: bool = False) -> Key:
    def usable(value: object) -> bool:
        return isinstance(value, bool) or (
            bool(items(value)) and all(isinstance(one, str) and one for one in items(value))
        )

    def use(value: object) -> object:
        for one in items(value):
            check(one)
        return value if isinstance(value, bool) else tuple(items(value))

    return Key(f"true, false, or in the file a list of {of}", example, usable, use, secret=secret)


def _statuses() -> Key:
    status = integer(100, 599, 204)

    def statuses(value: object) -> list[object]:
        return items(value) or [value]

    return Key(
        "a status such as 204, or a list of them",
        "[200, 204]",
        lambda value: all(status.usable(one) for one in statuses(value)),
        lambda value: tuple(statuses(value)),
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


_DURATION = text("a duration such as 90m, 6h or 1d", "90m", read_duration, meant=meant_duration)
_TRUTH = Key(
    "true, false",
    "true",
    lambda value: isinstance(value, bool),
    meant=lambda value: {"1": "true", "0": "false"}.get(str(value), ""),
)
_MOMENT = "2026-12-24, 2026-12-24T09:00 (local time of the zone) or 2026-12-24T09:00+01:00"
_FIRST = "2026-12-24T09:00"
_INSTANT = text(_MOMENT, _FIRST, meant=meant_moment)
_ZONE = text("the IANA name of a time zone as text, such as Europe/Berlin", "Europe/Berlin", _zone)
_SOURCE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_YEAR_S = 31_536_000
_BACKOFFS = ("exponential", "fixed")

SETTINGS: dict[str, Key] = {
    "url": text(
        "the server's URL as text, such as redis://localhost:6379/0",
        "redis://localhost:6379/0",
        _url,
        secret=True,
    ),
    "username": text("text in quotes", '"oncue"'),
    "password": text("text in quotes", '"PASSWORD"', secret=True),
    "password_file": text("the path of a file that holds the password alone", "/etc/oncue/password"),
    "ca_file": text("the path of a file of certificates (PEM)", "/etc/ssl/certs/ca-certificates.crt"),
    "namespace": text("text of 1 to 32 of the characters A-Z a-z 0-9 _ . -", "shop", _namespace),
    "shards": integer(1, 1024, 4),
    "timezone": _ZONE,
    "source": text("text of 1 to 64 of the characters A-Z a-z 0-9 _ . -", "shop", _source),
    "lease_s": number(1, 86_400, " (seconds)", "15"),
    "stop_timeout_s": number(0, 86_400, " (seconds)", "10"),
    "concurrency": integer(1, 10_000, 10),
    "max_data_bytes": integer(1, 512 * 1024 * 1024, 1_048_576, " (bytes)"),
    "keep_finished_s": number(40, _YEAR_S, " (seconds)", "60"),
    "dead_max_age_s": number(0, 100 * _YEAR_S, " (seconds)", "2592000"),
    "dead_max_count": integer(0, 1_000_000_000, 100_000),
    "dead_max_bytes": integer(0, 1 << 40, 268_435_456, " (bytes)"),
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

QUEUE: dict[str, Key] = {"weight": number(0, 1_000_000, "", "2", above=True)}

RETRY: dict[str, Key] = {
    "max_attempts": integer(1, LARGEST_COUNT, 5),
    "backoff": _backoff(),
    "first_s": number(0, _YEAR_S, " (seconds)", "1"),
    "max_s": number(0, _YEAR_S, " (seconds)", "3600"),
    "jitter": number(0, 1, " (a share of the wait)", "0.25"),
    "immediate": integer(0, LARGEST_COUNT, 1),
    "max_lost": integer(0, LARGEST_COUNT, 5),
    "max_throttled": integer(0, LARGEST_COUNT, 100),
}

SCHEDULE: dict[str, Key] = {
    "cron": text("a cron expression in quotes", '"30 2 * * *"'),
    "every": _DURATION,
    "rrule": text("an rrule as text, such as FREQ=WEEKLY;BYDAY=MO", '"FREQ=WEEKLY;BYDAY=MO"'),
    "timezone": _ZONE,
    "days": choice("either", "both"),
    "gap": choice("run", "skip"),
    "anchor": _INSTANT,
    "from": choice("end"),
    "dtstart": text(
        "2026-12-24T09:00 (local time of the zone) or 2026-12-24T09:00+01:00", _FIRST, meant=meant_first
    ),
    "jitter": _DURATION,
    "start": _INSTANT,
    "end": _INSTANT,
    "count": integer(1, MAX_COUNT, 10),
    "on_excluded": choice("skip", "next_workday", "previous_workday"),
    "catch_up": choice("latest", "all", "skip"),
    "catch_up_max": integer(1, MAX_CATCH_UP, 100),
    "catch_up_within": _DURATION,
    "overlap": choice("skip", "queue", "allow", "replace"),
    "queue": text("the name of a queue as text", "reports", queue_name),
    "priority": integer(0, 9, 5),
    "enabled": _TRUTH,
}
"""Besides `exclude`, `data`, `retry`, `command`, `env` and `http`, which are no single values, and those of `WORK`."""

WORK: dict[str, Key] = {
    "shell": _TRUTH,
    "cwd": text("an absolute path", "/srv/app", _folder),
    "timeout_s": number(0, work.LONGEST_S, " (seconds)", "60", above=True),
    "output_limit_bytes": integer(0, work.MOST_OUTPUT_BYTES, 16_384, " (bytes)"),
}
"""What goes with `command`; the last two with `http`, too."""

HTTP: dict[str, Key] = {
    "url": text(
        "a URL as text, such as https://example.org/hooks/nightly",
        "https://example.org/hooks/nightly",
        _url_to_call,
    ),
    "method": choice(*work.METHODS),
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
