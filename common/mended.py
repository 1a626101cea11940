"""Mended: the line to write instead of a schedule's value that cannot be taken."""

import difflib

from oncue.common.configkeys import Key

_TRUTHS = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}
_EXAMPLES = {
    "cron": '"30 2 * * *"',
    "every": "90m",
    "rrule": '"FREQ=WEEKLY;BYDAY=MO"',
    "timezone": "Europe/Berlin",
    "anchor": "2026-12-24T09:00",
    "dtstart": "2026-12-24T09:00",
    "start": "2026-12-24T09:00",
    "end": "2026-12-24T09:00",
    "jitter": "5m",
    "catch_up_within": "6h",
    "count": "10",
    "catch_up_max": "100",
    "queue": "reports",
    "priority": "5",
    "enabled": "true",
}


def mended(name: str, key: Key, value: object) -> str:
    """`key: value` with the nearest value that the key takes, else with an example; "" for keys that have none."""
    nearest = _nearest(key, value.strip().lower()) if isinstance(value, str) else ""
    choice = key.names[0] if key.names else ""
    written = nearest or _EXAMPLES.get(name, choice)
    return f"{name}: {written}" if written else ""


def _nearest(key: Key, text: str) -> str:
    """What a text may have been meant as: a number or a truth in quotes, a word that is misspelt."""
    if text.isascii() and text.isdigit() and len(text) < 10 and key.usable(int(text)):
        return str(int(text))
    if text in _TRUTHS and key.usable(_TRUTHS[text] == "true"):
        return _TRUTHS[text]
    return next(iter(difflib.get_close_matches(text[:40], key.names, n=1)), "")
