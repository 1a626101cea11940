"""Under a real systemd: what the processes may not do, and who gets to see the password."""

from __future__ import annotations

import pwd

import pytest

from tests.systemd.deployment import PASSWORD, UNITS, WORKER, Deployment

pytestmark = pytest.mark.slow

READ_ONLY = "Read-only file system"
ROOTS_HOME = pwd.getpwuid(0).pw_dir
CLOSED = ["/etc/oncue/new", "/usr/local/new", "/opt/oncue/new", "/srv/new"]


def status(deployed: Deployment, unit: str) -> dict[str, str]:
    text = deployed.machine.path(f"/proc/{deployed.pid(unit)}/status").read_text()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


@pytest.mark.parametrize("unit", UNITS)
def test_a_process_is_the_user_oncue_without_any_privilege(deployed: Deployment, unit: str) -> None:
    user = deployed.machine.path("/var/lib/oncue").stat()
    found = status(deployed, unit)
    assert set(found["Uid"].split()) == {str(user.st_uid)} != {"0"}
    assert set(found["Gid"].split()) == {str(user.st_gid)}
    assert {found[kind] for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    # 2: system calls are filtered.
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


def test_handlers_write_to_their_folder_and_to_tmp_alone(deployed: Deployment) -> None:
    said = deployed.attempts("/var/lib/oncue/new", "/tmp/new", f"{ROOTS_HOME}/new", *CLOSED)
    assert said.pop("/var/lib/oncue/new") == said.pop("/tmp/new") == "written"
    assert said.pop(f"{ROOTS_HOME}/new") == "Permission denied"
    assert said == dict.fromkeys(CLOSED, READ_ONLY)
    # A /tmp of its own.
    assert not deployed.machine.path("/tmp/new").exists()


@pytest.mark.parametrize("unit", UNITS)
def test_even_root_could_not_write_where_a_unit_is(deployed: Deployment, unit: str) -> None:
    inside = ["nsenter", f"--target={deployed.pid(unit)}", "--mount"]
    closed = CLOSED if unit == WORKER else [*CLOSED, "/var/lib/oncue/new"]
    for path in closed:
        assert READ_ONLY in deployed.run(*inside, "touch", path, check=False)
    assert sorted(deployed.run(*inside, "ls", "-A", ROOTS_HOME, "/home").split()) == [
        "/home:",
        f"{ROOTS_HOME}:",
    ]


@pytest.mark.parametrize("unit", UNITS)
def test_the_password_reaches_the_process_through_a_file_of_its_own(deployed: Deployment, unit: str) -> None:
    given = deployed.machine.path(f"/run/credentials/{unit}/password")
    assert given.read_text() == PASSWORD + "\n"
    environ = deployed.machine.path(f"/proc/{deployed.pid(unit)}/environ").read_bytes().decode().split("\0")
    assert f"ONCUE_PASSWORD_FILE=/run/credentials/{unit}/password" in environ
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    refused = deployed.run(*nobody, "cat", f"/run/credentials/{unit}/password", check=False)
    assert "Permission denied" in refused
    inside = ["nsenter", f"--target={deployed.pid(unit)}", "--mount"]
    seen = deployed.run(*inside, "ls", "-A", "/run/credentials").split()
    assert seen == [unit]


def test_the_password_shows_nowhere(deployed: Deployment) -> None:
    for command in (
        ("systemctl", "show", "oncue-*", "--all"),
        ("systemctl", "cat", "oncue-*"),
        ("systemctl", "status", "oncue-*"),
        ("journalctl", "--no-pager", "--all"),
        ("sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"),
    ):
        shown = deployed.run(*command, check=False)
        assert shown
        assert PASSWORD not in shown
        assert PASSWORD.split()[0] not in shown
