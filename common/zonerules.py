"""The rules of a time zone as its data file has them, and which release of the tz database this host has."""

import hashlib
import zoneinfo
from importlib import resources
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

DIGEST_BYTES = 16
_VERSION_LINE = "# version "


class ZoneRules(NamedTuple):
    """``version`` is the release, such as "2026b", or "" where the host does not say; ``data`` is the file (TZif)."""

    version: str
    data: bytes

    @property
    def digest(self) -> bytes:
        """What tells these rules from others, whatever release they came with."""
        return hashlib.sha256(self.data).hexdigest()[:DIGEST_BYTES].encode()

    def zone(self, key: str) -> ZoneInfo:
        """The zone that has these rules. Raises ValueError and OSError for bytes that are no such file."""
        return ZoneInfo.from_file(BytesIO(self.data), key=key)


def own_rules(key: str) -> ZoneRules:
    """What this host knows of the zone ``key``, found where `zoneinfo` finds it; raises what that raises."""
    ZoneInfo(key)
    for folder in map(Path, zoneinfo.TZPATH):
        file = folder / key
        if file.is_file():
            return ZoneRules(_version_in(folder), file.read_bytes())
    package = _package()
    return ZoneRules(_version_in(package), package.joinpath(*key.split("/")).read_bytes())


def own_source() -> tuple[str, str]:
    """The release that this host has, "" if it does not say, and where."""
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / "UTC").exists() or (folder / "Europe").exists():
            return _version_in(folder), str(folder)
    return _version_in(_package()), "package tzdata"


def _package() -> Traversable:
    # As files, for what has been imported once stays as it was when the package is updated.
    return resources.files("tzdata").joinpath("zoneinfo")


def _version_in(folder: Traversable) -> str:
    try:
        with folder.joinpath("tzdata.zi").open(encoding="utf-8", errors="replace") as text:
            first = text.readline()
    except OSError:
        return ""
    return first.removeprefix(_VERSION_LINE).strip() if first.startswith(_VERSION_LINE) else ""
