"""The machine of these tests is a world of its own, and leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.support.machine import Machine


def names(cgroup: Path) -> set[str]:
    """Of the processes in a cgroup and those below it."""
    pids: list[str] = []
    found = set[str]()
    for folder, _, _ in os.walk(cgroup):
        # Any of them may end while we look, and its cgroup go with it.
        with suppress(OSError):
            pids += (Path(folder) / "cgroup.procs").read_text().split()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            found.add(psutil.Process(int(pid)).name())
    return found


def test_what_happens_on_a_machine_stays_there(
    boot: Callable[[Path, Mapping[Path, str]], Machine], tmp_path: Path
) -> None:
    lent = tmp_path / "lent"
    lent.mkdir()
    (lent / "file").write_text("of the host")
    with boot(tmp_path / "machine", {lent: "/srv/lent"}) as machine:
        assert machine.run("cat", "/srv/lent/file") == "of the host"
        assert "Read-only" in machine.run("touch", "/srv/lent/file", check=False)
        machine.run("sh", "-c", "touch /etc/of-the-machine; rm -f /etc/hostname; hostname machine")
        assert machine.path("/etc/of-the-machine").exists()
        assert machine.run("cat", "/proc/net/dev").count(":") == 1, "lo alone"
        machine.run("systemd-run", "--service-type=exec", "sleep", "600")
        cgroup = machine.cgroup
        assert cgroup is not None
        assert "sleep" in names(cgroup)
    # Only one without processes can be removed.
    assert not cgroup.exists()
    assert not Path("/etc/of-the-machine").exists()
    assert list((tmp_path / "machine" / "scratch").iterdir()) == []
