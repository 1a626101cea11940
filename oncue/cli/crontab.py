"""Crontab files: those of users, and those of the system, where a user stands before the command."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from oncue.cli.imported import COMMAND_NOTE, QUEUE, Imported, Job, command_settings
from oncue.common.errors import CronError
from oncue.common.timing_checks import MAX_JITTER_S
from oncue.common.walltime import wall_clock
from oncue.common.work import VARIABLE

ASSIGNMENT = re.compile(r"""\s*("[^"]+"|'[^']+'|[A-Za-z_]\w*)\s*=\s*(.*)""")
_RANDOM = re.compile(r"(?<![\d~])(\d+)~(\d+)(?![\d~])")
_WRAPPERS = {"nice", "ionice", "sudo", "env", "exec", "time", "nohup", "command", "test", "["}
_INTERPRETERS = re.compile(r"(ba|da|z|k)?sh|python[\d.]*|php[\d.]*|perl|ruby|node")
_SHELLS = ("/bin/sh", "/usr/bin/sh", "sh")
_LIKE_CRON = {"overlap": "allow", "catch_up": "skip", "retry": {"max_attempts": 1}}


@dataclass
class _State:
    """What the lines so far have set for those that follow."""

    host_timezone: str
    timezone: str
    system: bool
    environment: dict[str, str] = field(default_factory=dict)
    shell: str = _SHELLS[0]
    directory: str | None = None
    jitter_minutes: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    """By variable, why no job can follow it as it stands."""
    comments: list[str] = field(default_factory=list)


def read_crontab(text: str, timezone: str | None, *, system: bool) -> Imported:
    """Reads a crontab; ``timezone`` is that of the host that it ran on, None where nobody knows."""
    found = Imported()
    known = timezone or "UTC"
    state = _State(known, known, system)
    form = "the system's form, a user before each command" if system else "a user's form"
    found.notes.append(f"Read as a crontab of {form}; --format says otherwise.")
    if timezone is None:
        found.notes.append("Times were those of the host's zone, which is not known here: --tz names it.")
    found.notes.append(
        "As with cron, runs may overlap, missed ones are not made up for, and failed ones are not tried again."
    )
    found.notes.append(COMMAND_NOTE)
    for number, line in enumerate(text.split("\n"), 1):
        _read_line(found, state, f"line {number}", line.strip(" \t\r"))
    return found


def _read_line(found: Imported, state: _State, place: str, line: str) -> None:
    if line.startswith("#"):
        state.comments.append(line.lstrip("# "))
        return
    variable = ASSIGNMENT.fullmatch(line)
    if variable:
        _set(found, state, place, variable[1].strip("\"'"), _unquoted(variable[2]))
    elif line:
        _read_job(found, state, place, line)
    state.comments = []


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _set(found: Imported, state: _State, place: str, name: str, value: str) -> None:
    state.faults.pop(name, None)
    if name == "CRON_TZ":
        state.timezone = value or state.host_timezone
        try:
            wall_clock(state.timezone)
        except CronError as error:
            state.faults[name] = f"CRON_TZ of {place}: {error}"
    elif name == "RANDOM_DELAY" and re.fullmatch(r"[0-9]{1,4}", value) and int(value) * 60 <= MAX_JITTER_S:
        state.jitter_minutes = int(value)
    elif name in ("MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"):
        found.notes.append(
            f"{place}: {name}={value}: nobody is mailed; `oncue dead list` has the runs that failed, "
            "and `oncue dead show ID` what one of them printed last."
        )
    elif name in ("RANDOM_DELAY", "START_HOURS_RANGE", "PERIODIC_DELAY"):
        if name == "RANDOM_DELAY":
            # Or the delay before it would hold on.
            state.jitter_minutes = 0
        found.notes.append(f"{place}: {name}={value} has no counterpart here; look at `jitter`.")
    elif name == "SHELL":
        state.shell = value
    elif name == "HOME":
        state.directory = value
        state.environment[name] = value
        if value and not value.startswith("/"):
            state.faults[name] = f"HOME of {place}: found {value!r:.60}; write an absolute path"
    elif VARIABLE.fullmatch(name):
        state.environment[name] = value
    else:
        found.notes.append(
            f"{place}: {name!r:.60} is no name of a variable here: the commands after it go without."
        )


def split(line: str) -> tuple[str, str]:
    """The expression, and what stands after it."""
    count = 1 if line.startswith("@") else 5
    words = line.split(None, count)
    return " ".join(words[:count]), words[count] if len(words) > count else ""


def _read_job(found: Imported, state: _State, place: str, line: str) -> None:
    cron, command = split(line)
    user = ""
    if state.system:
        user, command = [*command.split(None, 1), "", ""][:2]
    if cron.lower() == "@reboot":
        found.refuse(place, line, "@reboot has no instant in a cluster: let the service manager start it")
        return
    if not command or state.faults:
        found.refuse(place, line, "; ".join(state.faults.values()) if command else "there is no command")
        return
    notes = list(state.comments)
    settings: dict[str, Any] = {"cron": _hashed(cron, notes), "timezone": state.timezone, **_LIKE_CRON}
    if state.jitter_minutes:
        settings["jitter"] = f"{state.jitter_minutes}m"
    shell_line = _shell_line(command, notes)
    words = shell_line if state.shell in _SHELLS else [state.shell, "-c", shell_line]
    queue = QUEUE
    if user:
        queue = f"{QUEUE}-{user}"
        notes.append(
            f"It ran as {user}: start a worker of that user with --allow-commands --config FILE --queues {queue}."
        )
    settings |= command_settings(words, dict(state.environment), state.directory, queue)
    found.entries.append(Job(name_of(command), place, settings, notes))


def _hashed(cron: str, notes: list[str]) -> str:
    """`0~29`, a random minute in newer crons, as the `H(0-29)` that a name settles."""
    hashed = _RANDOM.sub(r"H(\1-\2)", cron)
    hashed = " ".join("H" if word == "~" else word for word in hashed.split())
    if hashed != cron:
        notes.append(
            f"{cron}: a random value at each start there; here H, which the schedule's name settles."
        )
    return hashed


def _shell_line(command: str, notes: list[str]) -> str:
    """The line for the shell: after the first bare % stands its stdin, each further one a line end."""
    line, *stdin = (part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", command))
    if not stdin:
        return line
    notes.append("What stood after % was the command's stdin.")
    # A comment at the end of the line must not take the bracket with it.
    end = "\n)" if "#" in line else ")"
    return f"printf '%s\\n' {' '.join(map(shlex.quote, stdin))} | ({line.strip()}{end}"


def name_of(command: str) -> str:
    """A name for a command: that of its program, or of the script that an interpreter runs."""
    words = [word for word in re.split(r"[\s;&|(){}<>\"']+", command) if word]
    if words[:1] == ["cd"]:
        words = words[2:]
    program = ""
    for word in words:
        if word.startswith(("-", "$")) or "=" in word or word in _WRAPPERS:
            continue
        program = PurePosixPath(word).name
        if not _INTERPRETERS.fullmatch(program):
            break
    return re.sub(r"\.(sh|py|php|pl|rb|js)$", "", program) or "job"
