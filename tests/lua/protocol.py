"""`python -m tests.lua.protocol` writes the scripts' contracts and the worked example into docs/protocol.md.

What stands between the lines `<!-- contract: NAME -->` or `<!-- example: NAME -->` and the next closing fence is made
here: the contracts from the headers of the scripts, the example from a call that the product makes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from oncue.common.link import Link
from oncue.common.record import pack
from oncue.common.shard import Shard
from oncue.common.writing import Placed, written

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "protocol.md"
BLOCK = re.compile(r"(<!-- (contract|example): (\w+) -->\n+```text\n).*?(^```$)", re.MULTILINE | re.DOTALL)

NAMESPACE, ID, QUEUE, BAND = "oncue", "hello", "emails", 5
NOW = 1_767_225_600_000
DUE = NOW + 500
DATA = (b'{"to":"ada"}', False)


class Recorder:
    """In place of a client: keeps the call and answers that one task was written."""

    def __init__(self) -> None:
        self.call: tuple[Any, ...] = ()

    def execute_command(self, *args: Any, **options: Any) -> list[int]:
        self.call = args
        return [1]

    def at_reset(self, forget: Callable[[], None]) -> None:
        """Nothing is ever reset here."""


class Still:
    """A clock that stands."""

    def now_ms(self) -> int:
        return NOW


def example_call() -> tuple[list[bytes], list[bytes]]:
    """KEYS and ARGV of the schedule call that the product makes for the example's task."""
    recorder = Recorder()
    link = cast(Link, recorder)
    task = Placed(ID, pack(DUE, BAND, QUEUE, DATA), DUE, BAND, QUEUE)
    written(Shard(link, NAMESPACE, 0, Still()), [task])
    number = recorder.call[2]
    words = [word if isinstance(word, bytes) else str(word).encode() for word in recorder.call[3:]]
    return words[:number], words[number:]


def shown(text: bytes) -> str:
    """Bytes as text; what is no printable ASCII as \\xNN."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02x}" for byte in text)


def record_parts(record: bytes) -> list[str]:
    """The bytes of a record in hex, a part per line, with its meaning."""
    at, lines = 0, []
    for size, what in (
        (1, "format 1, no flags"),
        (4, "placement number: zero, the script writes it"),
        (6, f"due: {DUE}"),
        (1, f"band {BAND}"),
        (1, f"length of the queue's name: {len(QUEUE)}"),
        (len(QUEUE), QUEUE),
        (len(DATA[0]), DATA[0].decode()),
    ):
        lines.append(f"{record[at : at + size].hex(' '):<36}  {what}")
        at += size
    assert at == len(record)
    return lines


def examples() -> dict[str, str]:
    keys, args = example_call()
    called = [f"KEYS[{n}]  {shown(key)}" for n, key in enumerate(keys, 1)]
    called += [f"ARGV[{n}]  {shown(arg)}" for n, arg in enumerate(args, 1)]
    return {"record": "\n".join(record_parts(args[2])), "call": "\n".join(called)}


def contracts() -> dict[str, str]:
    """The header of each script, as it stands in the page."""
    found = {}
    for path in sorted((ROOT / "lua").glob("*.lua")):
        lines = path.read_text().splitlines()
        end = next(n for n, line in enumerate(lines) if not line.startswith("--"))
        found[path.stem] = "\n".join(line.removeprefix("--").removeprefix(" ") for line in lines[:end])
    return found


def rewritten(page: str) -> str:
    """The page with its blocks made anew."""
    made: Mapping[str, Mapping[str, str]] = {"contract": contracts(), "example": examples()}

    def block(match: re.Match[str]) -> str:
        start, kind, name, end = match.groups()
        # Of an example that no code makes, the server's part, a test checks what stands there.
        text = made[kind].get(name)
        return match[0] if text is None else f"{start}{text}\n{end}"

    return BLOCK.sub(block, page)


def main() -> int:
    PAGE.write_text(rewritten(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
