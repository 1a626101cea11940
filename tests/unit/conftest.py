"""A file of configuration in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write files into an empty working directory, so that sentences start with the bare name."""
    monkeypatch.chdir(tmp_path)

    def put(text: str, name: str = "oncue.yaml") -> str:
        Path(name).write_text(text, encoding="utf-8")
        return name

    return put
