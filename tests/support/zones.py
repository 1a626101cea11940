"""Time zone data of the tests' own: a folder as `PYTHONTZPATH` takes it, with zones of one offset, of any release."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from oncue import App
from oncue.common.zonerules import ZoneRules

ZONE = "Test/Zone"


def tzif(offset_s: int) -> bytes:
    """The file of a zone whose clocks have always been ahead of UTC by so many seconds (RFC 9636, version 2)."""
    counts = struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    block = b"TZif2" + bytes(15) + counts + struct.pack(">lbb", offset_s, 0, 0) + b"TST\0"
    hours, rest = divmod(abs(offset_s), 3600)
    # In this text east of Greenwich is negative.
    shown = f"{'-' if offset_s > 0 else ''}{hours}:{rest // 60:02}:{rest % 60:02}"
    return block + block + f"\nTST{shown}\n".encode()


def rules(release: str, offset_s: int) -> ZoneRules:
    return ZoneRules(release, tzif(offset_s))


def next_ms(app: App, name: str = "payroll") -> int:
    """The next planned instant of a schedule that has one."""
    found = app.schedules.get(name).next_ms
    assert found is not None
    return found


def zone_folder(folder: Path, release: str, **offsets_s: int) -> dict[str, str]:
    """The environment of a host with data of this release, whose zones Test/<name> are ahead of UTC by so much."""
    (folder / "Test").mkdir(parents=True)
    (folder / "tzdata.zi").write_text(f"# version {release}\n")
    (folder / "UTC").write_bytes(tzif(0))
    for name, offset_s in offsets_s.items():
        (folder / "Test" / name).write_bytes(tzif(offset_s))
    return {"PYTHONTZPATH": os.fspath(folder)}
