"""The machine of the tests under a real systemd, with oncue at work on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.archives import build
from tests.support.machine import Machine, NoMachine
from tests.systemd.deployment import UNITS, Deployment, block, folders

Boot = Callable[[Path, Mapping[Path, str]], Machine]


@pytest.fixture(scope="session")
def boot() -> Boot:
    """Makes a machine and starts it, or skips the test where there can be none; the caller ends it."""

    def start(directory: Path, lent: Mapping[Path, str]) -> Machine:
        try:
            return Machine(directory, lent).start()
        except NoMachine as reason:
            # Unlike a missing tool: what a container or an ordinary user may not do, no package brings.
            pytest.skip(f"no systemd of our own on this host: {reason}")

    return start


@pytest.fixture(scope="session")
def deployment(boot: Boot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with boot(tmp_path_factory.mktemp("machine"), folders()) as machine:
        at = tmp_path_factory.mktemp("archives")
        build(at, "wheel")
        made = Deployment(machine)
        made.install(next(at.glob("*.whl")))
        made.shell(block("systemctl enable --now oncue.target"))
        yield made
        made.close()


@pytest.fixture
def deployed(deployment: Deployment) -> Iterator[Deployment]:
    """oncue on a machine, all units at work."""
    deployment.run("systemctl", "start", "oncue.target", *UNITS)
    yield deployment
    # Shown by pytest if the test has failed.
    print("\n".join(deployment.journal().splitlines()[-60:]))
