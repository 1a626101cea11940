"""P18: the defaults of redis-py differ from version to version; nothing here depends on them."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.processes import Process
from tests.support.servers import Server

VERSIONS = ("5", "6", "7")


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path | None]:
    """A folder with each older redis-py, and None for the one that is installed."""
    folders: dict[str, Path | None] = {
        version: tmp_path_factory.mktemp(f"redis{version}") for version in VERSIONS
    }
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    installs = [
        subprocess.Popen(
            [*pip, "--target", str(folder), f"redis=={version}.*"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for version, folder in folders.items()
    ]
    said = [_said(install) for install in installs]
    for install, text in zip(installs, said, strict=True):
        if install.returncode:
            # Whatever keeps them from coming is no fault of the product's.
            pytest.skip(f"the package index gives no older redis-py: {text.strip()[-300:]}")
    return {**folders, "installed": None}


def _said(install: subprocess.Popen[str]) -> str:
    try:
        return install.communicate(timeout=100)[0]
    except subprocess.TimeoutExpired:
        install.kill()
        return f"{install.communicate()[0]}no end within 100 s"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["valkey", "cluster"])
def test_every_redis_py_since_5_works_and_outlasts_an_idle_time(
    clients: dict[str, Path | None],
    kind: str,
    namespace: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    server: Server = request.getfixturevalue(kind)
    with ExitStack() as stack:
        processes = {
            version: stack.enter_context(
                Process(
                    [server.url, f"{namespace}-{version}", str(server.shards)],
                    tmp_path / f"{version}.txt",
                    {"PYTHONPATH": f"{folder}:{Path(__file__).parents[2]}"} if folder else None,
                    command=(sys.executable, "-m", "tests.support.round_trip"),
                    cwd=tmp_path,
                )
            )
            for version, folder in clients.items()
        }
        for version, process in processes.items():
            found = process.wait_for_line(r"redis-py (\d+)\.\S+ woke in \S+ ms, all went well", 90)
            assert version in (found[1], "installed")
            assert process.wait() == 0
            # No word of a broken or renewed connection in between.
            assert process.output.count("\n") == 1, process.output
