"""CronJobs of Kubernetes, from manifests in YAML or JSON, several documents and lists too."""

import re
from collections.abc import Iterator
from typing import Any, TypeVar

from oncue.cli.imported import COMMAND_NOTE, Imported, Job, command_settings, duration
from oncue.common import yamlfile
from oncue.common.errors import BadInput
from oncue.common.problem import Refused
from oncue.common.scalar import kind
from oncue.common.yamlfile import Node

_MARK = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_PREFIX = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)")
_STEP = re.compile(r"[*?]/0*(?:[2-9]|1[0-9])[0-9]*")
_T = TypeVar("_T")
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    str: "a text in quotes",
    list: "a list",
}
_OVERLAP = {"Allow": "allow", "Forbid": "skip", "Replace": "replace"}
_KNOWN = {
    "schedule",
    "timeZone",
    "suspend",
    "concurrencyPolicy",
    "startingDeadlineSeconds",
    "jobTemplate",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
}
_OF_JOB = ("parallelism", "completions", "ttlSecondsAfterFinished")
_BACKOFF_LIMIT = 6
"""That of Kubernetes where a Job has none."""

_OF_POD = ("initContainers", "volumes", "serviceAccountName", "nodeSelector", "tolerations", "affinity")
_OF_CONTAINER = ("envFrom", "volumeMounts", "resources", "securityContext")


def read_cronjobs(text: str, timezone: str | None, path: str) -> Imported:
    """Reads all CronJobs of a file. Raises Refused for what is no YAML, BadInput where there is no CronJob.

    A value of a kind that Kubernetes would refuse leaves its CronJob out: whoever wrote it meant something by it.
    """
    found = Imported()
    manifests = [manifest for root in _documents(text, path) for manifest in _manifests(root)]
    if not manifests:
        raise BadInput(f"{path} holds no object of kind: CronJob")
    if timezone is None:
        found.notes.append(
            "Where there is no timeZone, the zone was the cluster's: UTC here, unless --tz says otherwise."
        )
    found.notes.append(COMMAND_NOTE)
    for manifest in manifests:
        _read(found, manifest, timezone or "UTC")
    return found


def _documents(text: str, path: str) -> Iterator[Any]:
    start = 0
    for mark in [*_MARK.finditer(text), None]:
        end = len(text) if mark is None else mark.start()
        # Blank lines before it, so that faults are told with the file's own lines.
        document = yamlfile.parse(path, "\n" * text.count("\n", 0, start) + text[start:end])
        if document.faults:
            raise Refused(document.faults)
        yield _plain(document.root)
        start = end if mark is None else mark.end()


def _plain(node: Node) -> Any:
    value = node.value
    if isinstance(value, dict):
        return {name: _plain(entry.node) for name, entry in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _manifests(root: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(root, dict):
        return
    if root.get("kind") == "CronJob":
        yield root
    items = root.get("items")
    for item in items if isinstance(items, list) else ():
        yield from _manifests(item)


def _read(found: Imported, manifest: dict[str, Any], timezone: str) -> None:
    name = str(_inside(manifest, "metadata").get("name") or "job")
    spec, place = _inside(manifest, "spec"), f"CronJob {name}"
    cron = spec.get("schedule")
    if not isinstance(cron, str):
        found.refuse(place, str(cron), "schedule is no text")
        return
    prefixed = _PREFIX.fullmatch(cron)
    zone, cron = prefixed.groups() if prefixed else (spec.get("timeZone") or timezone, cron)
    notes: list[str] = [f"{key} was not carried over." for key in spec if key not in _KNOWN]
    settings = {"cron": _days(cron.strip(), notes), "timezone": zone}
    try:
        settings |= _policy(spec) | _command(_inside(_inside(spec, "jobTemplate"), "spec"), notes)
    except BadInput as error:
        found.refuse(place, cron, str(error))
    else:
        found.entries.append(Job(name, place, settings, notes))


def _days(cron: str, notes: list[str]) -> str:
    """The same with day fields that mean the same here: to Kubernetes `*/2` is no star, and a day matches either field."""
    words = cron.split()
    if len(words) != 5 or any(
        field.split("/")[0] in "*?" and not _is_step(field) for field in (words[2], words[4])
    ):
        return cron
    for at, first in ((2, "1-31"), (4, "0-6")):
        if _is_step(words[at]):
            notes.append(
                f"{words[at]} is no star to Kubernetes: the day matches either field, so {first} is written out."
            )
            words[at] = first + words[at][1:]
    return " ".join(words)


def _is_step(field: str) -> bool:
    return _STEP.fullmatch(field) is not None


def _policy(spec: dict[str, Any]) -> dict[str, Any]:
    policy = _of(str, spec, "concurrencyPolicy") or "Allow"
    if policy not in _OVERLAP:
        raise BadInput(f"concurrencyPolicy: {policy:.60} is none; write {', '.join(_OVERLAP)}")
    settings: dict[str, Any] = {"overlap": _OVERLAP[policy]}
    deadline = _of(int, spec, "startingDeadlineSeconds")
    if deadline is not None:
        settings |= {"catch_up_within": duration(deadline)} if deadline > 0 else {"catch_up": "skip"}
    if _of(bool, spec, "suspend"):
        settings["enabled"] = False
    return settings


def _command(job: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    pod = _inside(_inside(job, "template"), "spec")
    containers = [one for one in _list(pod, "containers") if isinstance(one, dict)]
    container: dict[str, Any] = containers[0] if containers else {}
    words = [_checked(str, word, key) or "" for key in ("command", "args") for word in _list(container, key)]
    if not container.get("command"):
        notes.append("The image's own entrypoint was run: put its command before the arguments.")
    if any("$(" in word for word in words):
        notes.append("$(NAME) in the command was replaced by Kubernetes; here nothing is.")
    if len(containers) > 1:
        notes.append(f"Of {len(containers)} containers this is the first.")
    lost = [f"{key}: {job[key]}" for key in _OF_JOB if key in job]
    lost += [key for key in _OF_POD if key in pod] + [key for key in _OF_CONTAINER if key in container]
    if "image" in container:
        lost.insert(0, f"image: {container['image']}")
    if lost:
        notes.append(f"Not carried over: {', '.join(lost)}.")
    directory = _of(str, container, "workingDir")
    return command_settings(words, _environment(container, notes), directory) | _limits(job)


def _limits(job: dict[str, Any]) -> dict[str, Any]:
    deadline, again = _of(int, job, "activeDeadlineSeconds"), _of(int, job, "backoffLimit")
    settings: dict[str, Any] = {"retry": {"max_attempts": (_BACKOFF_LIMIT if again is None else again) + 1}}
    if deadline is not None:
        settings |= {"timeout_s": deadline}
    # Each of its Jobs waits for somebody to let it start.
    return settings | {"enabled": False} if _of(bool, job, "suspend") else settings


def _environment(container: dict[str, Any], notes: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in _list(container, "env"):
        if isinstance(entry, dict) and "valueFrom" in entry:
            notes.append(f"env {entry.get('name')} came from a secret or the like: set it for the worker.")
        elif isinstance(entry, dict) and entry.get("name"):
            name = str(entry["name"])
            found[name] = _checked(str, entry.get("value"), f"env {name}") or ""
    return found


def _inside(of: dict[str, Any], key: str) -> dict[str, Any]:
    value = of.get(key)
    return value if isinstance(value, dict) else {}


def _list(of: dict[str, Any], key: str) -> list[Any]:
    return _of(list, of, key) or []


def _of(wanted: type[_T], of: dict[str, Any], key: str) -> _T | None:
    """The value of a key; None where it is left out or empty. Raises BadInput for one of another kind."""
    return _checked(wanted, of.get(key), key)


def _checked(wanted: type[_T], value: Any, key: str) -> _T | None:
    # True is an int to Python.
    if value is None or (isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))):
        return value
    raise BadInput(f"{key}: found {kind(value)}; write {_KINDS[wanted]}")
