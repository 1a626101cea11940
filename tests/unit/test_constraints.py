"""constraints.txt pins all that pyproject.toml asks for, by hash, and says nothing of where it came from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "constraints.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(text: str) -> dict[str, Requirement]:
    """Each pinned requirement of (a part of) the file, by name."""
    logical = text.replace("\\\n", "").splitlines()
    found = [Requirement(line.split("--hash")[0]) for line in logical if line and not line.startswith("#")]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def test_every_pin_is_exact_and_has_hashes() -> None:
    for line in TEXT.replace("\\\n", "").splitlines():
        if not line.startswith("#"):
            assert re.fullmatch(r"[a-z0-9-]+==\S+( ; [^\\]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*", line), (
                line
            )


def test_no_address_is_in_it() -> None:
    assert not re.search(r"://|index|find-links|trusted|@", TEXT)


def test_the_first_part_is_enough_to_build_and_run() -> None:
    runtime, mark, _ = TEXT.partition("\n# Development")
    assert mark
    names = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    asked = [Requirement(name) for name in names]
    assert fitting(asked, pins(runtime)) == asked


def test_all_of_it_is_enough_to_develop() -> None:
    asked = [Requirement(line) for line in PROJECT["project"]["optional-dependencies"]["dev"]]
    assert fitting(asked, pins(TEXT)) == asked


def fitting(asked: list[Requirement], pinned: dict[str, Requirement]) -> list[Requirement]:
    """Those of `asked` whose pin is a version that they allow."""

    def version(requirement: Requirement) -> str:
        pin = pinned.get(canonicalize_name(requirement.name))
        return next(iter(pin.specifier)).version if pin else ""

    return [each for each in asked if (found := version(each)) and each.specifier.contains(found)]
