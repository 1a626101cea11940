"""The machine of these tests is a world of its own, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from tests.support.machine import Machine


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
        pids = [int(pid) for file in cgroup.rglob("cgroup.procs") for pid in file.read_text().split()]
        assert "sleep" in {psutil.Process(pid).name() for pid in pids}
    # Only one without processes can be removed.
    assert not cgroup.exists()
    assert not Path("/etc/of-the-machine").exists()
    assert list((tmp_path / "machine" / "scratch").iterdir()) == []
