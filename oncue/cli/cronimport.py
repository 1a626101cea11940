"""`oncue cron import`: another scheduler's file as an oncue.yaml."""

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from oncue.cli.failure import NO, printable
from oncue.cli.options import Json
from oncue.cli.output import print_json
from oncue.common.errors import BadInput

if TYPE_CHECKING:
    from oncue.cli.imported import Imported

MAX_BYTES = 1024 * 1024
FORMATS = ("crontab", "system-crontab", "celery", "kubernetes")

File = Annotated[str, typer.Argument(metavar="FILE", help="The file; - reads stdin.")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help=f"{', '.join(FORMATS)}; told by the file without it."),
]
Zone = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="Zone of what names none, such as Europe/Berlin.")
]


def import_(file: File, format_: Format = None, tz: Zone = None, as_json: Json = False) -> None:
    """Turn a crontab, Celery beat's settings or CronJobs of Kubernetes into an oncue.yaml on stdout.

    No code is executed. What has no counterpart stands in comments. Exit code 1: entries were left out.

    Example: oncue cron import /etc/crontab --tz Europe/Berlin
    """
    if tz is not None:
        from oncue.common.walltime import wall_clock

        wall_clock(tz)
    text = _content(file)
    read = _read(file, text, format_ or _guess(file, text), tz)
    if not read.entries:
        # An empty file is what `apply --prune` takes everything away with.
        raise BadInput(f"{'stdin' if file == '-' else file} holds no entry that could become a schedule")
    found = read.settled()
    if as_json:
        schedules = {job.name: {**job.settings, "notes": job.notes} for job in found.jobs}
        print_json({"schedules": schedules, "notes": found.notes, "refused": found.refused})
    else:
        print(found.text("stdin" if file == "-" else PurePath(file).name), end="")
    for refused in found.refused:
        print(f"oncue: left out: {printable(refused)}", file=sys.stderr)
    if found.refused:
        raise typer.Exit(NO)


def _content(file: str) -> str:
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                raw = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(raw) > MAX_BYTES:
        raise BadInput(f"{file} is larger than {MAX_BYTES} bytes (1 MB), which is the limit")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{file}:{line}: not UTF-8 text from here on; save the file as UTF-8") from None


def _guess(file: str, text: str) -> str:
    from oncue.cli.crontabform import is_system

    if '"CronJob"' in text or any(line.split() == ["kind:", "CronJob"] for line in text.split("\n")):
        return "kubernetes"
    suffix = PurePath(file).suffix
    if suffix in (".yaml", ".yml"):
        return "kubernetes"
    if suffix in (".py", ".json") or text.lstrip().startswith("{") or "beat_schedule" in text.lower():
        return "celery"
    return "system-crontab" if is_system(file, text) else "crontab"


def _read(file: str, text: str, format_: str, tz: str | None) -> "Imported":
    if format_ == "kubernetes":
        from oncue.cli.cronjobs import read_cronjobs

        return read_cronjobs(text, tz, file)
    if format_ == "celery":
        from oncue.cli.celerybeat import read_celery

        return read_celery(text, tz, is_json=text.lstrip().startswith(("{", "[")))
    if format_ not in FORMATS:
        raise BadInput(f"--format: found {format_!r:.40}; allowed: {', '.join(FORMATS)}")
    from oncue.cli.crontab import read_crontab

    return read_crontab(text, tz, system=format_ == "system-crontab")
