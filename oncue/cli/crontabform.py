"""Which form a crontab has: that of a user, or that of the system, where a user stands before each command.

A wrong guess writes wrong commands, so only evidence of the file itself counts, and without any there is no answer:
`sync`, `mail` and `backup` are users of any Debian as well as programs, and the users of the host that reads the
file say nothing about those of the host that it ran on.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from oncue.cli.crontab import ASSIGNMENT, split
from oncue.common.errors import BadInput

_USER = re.compile(r"[A-Za-z_][\w.@+\\-]*\$?")
_NEVER_USERS = re.compile(
    r"cd|if|for|while|echo|eval|exec|env|nice|ionice|sudo|time|timeout|nohup|command|flock"
    r"|(ba|da|z|k)?sh|python[\d.]*|perl"
)
_NO_COMMAND = re.compile(r"[-&|;)=].*|[\d&]?[<>].*")
_HEADING = re.compile(r"#.*(?:dow|wday|\*)\s+(?:(user|user-?name|who)\s+)?command\b.*", re.IGNORECASE)
_ASK = "say --format crontab (a user's), or --format system-crontab (a user stands before each command)"


def is_system(path: str, text: str) -> bool:
    """Whether a user stands before each command. Raises BadInput, naming a line, where the file does not tell."""
    place = PurePosixPath(path)
    if str(place) == "/etc/crontab" or place.parent.name == "cron.d":
        return True
    told: dict[bool | None, str] = {}
    for sign, system in _signs(text):
        told.setdefault(system, sign)
    if True in told and False in told:
        raise BadInput(f"{told[True]} tells the system's form, but {told[False]} tells a user's: {_ASK}")
    if told.keys() == {None}:
        raise BadInput(f"{told[None]} may start with a user or with the command: {_ASK}")
    return True in told


def _signs(text: str) -> Iterator[tuple[str, bool | None]]:
    """What could be a sign of a form, with its line, and whether it is one of the system's; None where nobody knows."""
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        heading = _HEADING.fullmatch(line)
        if heading:
            yield f"line {number} (the heading)", heading[1] is not None
        elif line and not line.startswith("#") and not ASSIGNMENT.fullmatch(line):
            word, rest = [*split(line)[1].split(None, 1), "", ""][:2]
            if word:
                yield f"line {number} ({word:.100})", _has_user(word, rest)


def _has_user(word: str, rest: str) -> bool | None:
    """Whether a command with this first word follows a user; None where it could as well be the command itself."""
    if not _USER.fullmatch(word) or _NEVER_USERS.fullmatch(word):
        return False
    if not rest or _NO_COMMAND.fullmatch(rest):
        # `root` may be a program, too, but not one that anybody calls like this.
        return None if word == "root" else False
    return True if word == "root" else None
