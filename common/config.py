"""The configuration of a process: the file, then `ONCUE_` variables, then flags, in rising order."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from oncue.common import allowance, configfile, zonenames
from oncue.common.configfile import Source
from oncue.common.configkeys import SETTINGS, unknown_key
from oncue.common.configschedule import Surroundings, read_schedule, written_hash
from oncue.common.configtypes import Config
from oncue.common.errors import BadInput
from oncue.common.problem import Problem, Refused
from oncue.common.scalar import plain_scalar

_PREFIX = "ONCUE_"
FILE_VARIABLE = "ONCUE_CONFIG"
"""Names the file where no path is given."""


def variables() -> dict[str, str]:
    """Every variable that is read, with the key that it sets; that of the file sets none."""
    return {FILE_VARIABLE: ""} | {_PREFIX + name.upper(): name for name in SETTINGS}


def load(path: str | None, env: Mapping[str, str], flags: Mapping[str, object]) -> Config:
    """Read and check everything. `flags` are named like the fields of `Config`; None stands for a flag not given.

    Raises `ConfigError` for whatever makes the configuration unusable; faults of single schedules are in `invalid`.
    """
    path = path or env.get(FILE_VARIABLE) or None
    source = configfile.read(path) if path else Source()
    faults = list(source.faults)
    layers = [source.settings, _from_env(env, faults), _from_flags(flags, faults)]
    if faults:
        raise Refused(faults)
    config = Config(**_merged(layers), queues=source.queues, revision=source.revision, emptied=source.emptied)
    _add_schedules(config, source)
    return config


def examined(path: str, raw: bytes | None = None) -> tuple[Config, list[Problem]]:
    """What a file by itself, or what was read of it, comes to, and every fault of it, in the order of its lines."""
    try:
        source = configfile.read(path, raw)
    except Refused as refused:
        return Config(), refused.problems
    trial = Config(**_merged([source.settings]), queues=source.queues, emptied=source.emptied)
    _add_schedules(trial, source)
    faults = [*source.faults, *source.calendar_faults, *trial.invalid]
    return trial, sorted(faults, key=lambda problem: (problem.line, problem.column))


def _add_schedules(config: Config, source: Source) -> None:
    zonenames.begin_file()
    for name, entry in source.schedules.items():
        given = Surroundings(source.file, config.timezone, config.max_data_bytes, source.calendars)
        schedule, faults = read_schedule(name, entry, given)
        config.invalid.extend(faults)
        written = written_hash(entry, given)
        if schedule is None:
            config.faulty[name] = written
        else:
            config.schedules[name] = replace(schedule, written=written)


def _merged(layers: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in layers:
        # A password and a password file are two ways to say one thing: the later layer replaces either.
        if "password" in layer or "password_file" in layer:
            merged.pop("password", None)
            merged.pop("password_file", None)
        merged |= layer
    for name in ("allow_commands", "allow_http"):
        merged[name] = allowance.of(layer[name] for layer in layers if name in layer)
    return merged


def _from_env(env: Mapping[str, str], faults: list[Problem]) -> dict[str, Any]:
    known = variables()
    faults.extend(_misspelt(env, known))
    given = {known[name]: value for name, value in env.items() if known.get(name) and value}
    return _taken(given, faults, lambda key: _PREFIX + key.upper())


def _misspelt(env: Mapping[str, str], known: Mapping[str, str]) -> Iterator[Problem]:
    """Other programs may own a variable of the same prefix; one that is nearly ours is a slip of ours."""
    for name in env:
        if name.startswith(_PREFIX) and name not in known:
            for close in difflib.get_close_matches(name, known, n=1, cutoff=0.85):
                yield Problem(name, 0, 0, "", f"unknown variable; did you mean {close}?")


def _from_flags(flags: Mapping[str, object], faults: list[Problem]) -> dict[str, Any]:
    given = {name: value for name, value in flags.items() if value is not None}
    for name in [name for name in given if name not in SETTINGS]:
        del given[name]
        faults.append(Problem(_flag(name), 0, 0, "", unknown_key(name, SETTINGS)))
    return _taken(given, faults, _flag)


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _taken(given: Mapping[str, object], faults: list[Problem], label: Callable[[str], str]) -> dict[str, Any]:
    taken: dict[str, Any] = {}
    for name, value in given.items():
        key = SETTINGS[name]
        try:
            if isinstance(value, str) and not key.is_text:
                taken[name] = key.take(plain_scalar(value), value)
            else:
                taken[name] = key.take(value)
        except BadInput as error:
            faults.append(Problem(label(name), 0, 0, "", str(error)))
    if "password" in taken and "password_file" in taken:
        faults.append(Problem(label("password_file"), 0, 0, "", "password is set too; give one of them"))
    return taken
