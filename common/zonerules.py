"""The rules of a time zone as its data file has them, and which release of the tz database this host has."""

import hashlib
import zoneinfo
from functools import lru_cache
from importlib import import_module, resources
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
            return ZoneRules(version_in(folder), file.read_bytes())
    file_of_package = resources.files("tzdata").joinpath("zoneinfo", *key.split("/"))
    return ZoneRules(version_of_package(), file_of_package.read_bytes())


def own_source() -> tuple[str, str]:
    """The release that this host has, "" if it does not say, and where."""
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / "UTC").exists() or (folder / "Europe").exists():
            return version_in(folder), str(folder)
    return version_of_package(), "package tzdata"


@lru_cache(maxsize=16)
def version_in(folder: Path) -> str:
    """The release of the files in a folder, "" where nothing says it."""
    try:
        with (folder / "tzdata.zi").open(encoding="utf-8", errors="replace") as text:
            first = text.readline()
    except OSError:
        return ""
    return first.removeprefix(_VERSION_LINE).strip() if first.startswith(_VERSION_LINE) else ""


def version_of_package() -> str:
    """The release that the package tzdata holds; only hosts without files of their own need it."""
    return str(import_module("tzdata").IANA_VERSION)
