"""The units as files: systemd accepts them, and what they promise fits what the processes do."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from oncue.common import config, notify
from oncue.common.configtypes import Config

ROOT = Path(__file__).resolve().parents[2]
UNITS = ROOT / "systemd"
SERVICES = ["oncue-scheduler@.service", "oncue-worker@.service"]
RELOAD = ["oncue-reload.path", "oncue-changed.service", "oncue-reload.service"]
# What a worker may need after its stop time-out: handing back over a connection made anew, two attempts of 5 s.
HAND_BACK_S = 10


def settings(name: str) -> dict[str, list[str]]:
    """Each directive of a unit with all its values, in order."""
    found: dict[str, list[str]] = {}
    for line in (UNITS / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def seconds(span: str) -> float:
    """`30s`, `10min`, or a bare number of seconds."""
    number, unit = re.fullmatch(r"(\d+)(s|min|)", span).groups()  # type: ignore[union-attr]
    return int(number) * (60 if unit == "min" else 1)


def tool(name: str) -> str:
    found = shutil.which(name)
    # No skip: a gate without systemd would check nothing here and look green.
    assert found, f"{name} is missing: install systemd (on Debian: apt-get install systemd)"
    return found


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_systemd_accepts_every_unit_without_a_word() -> None:
    units = [str(UNITS / name) for name in [*SERVICES, "oncue.target", *RELOAD]]
    assert run(tool("systemd-analyze"), "verify", "--man=no", "--recursive-errors=no", *units) == ""


@pytest.mark.parametrize(("service", "worst"), [(SERVICES[0], 2.0), (SERVICES[1], 4.0)])
def test_the_sandbox_stays_tight(service: str, worst: float) -> None:
    # systemd's own measure, 0 (safe) to 10; `offline` reads the file and asks no running manager.
    shown = run(tool("systemd-analyze"), "security", "--offline=yes", "--no-pager", str(UNITS / service))
    exposure = re.search(r"exposure level for \S+ (\d+\.\d)", shown)
    assert exposure, shown
    assert float(exposure[1]) <= worst


@pytest.mark.parametrize("service", SERVICES)
def test_a_unit_starts_stops_and_is_watched_as_the_processes_expect(service: str) -> None:
    unit = settings(service)
    assert unit["Type"] == ["notify"]
    assert unit["NotifyAccess"] == ["main"]
    assert unit["KillMode"] == ["mixed"]
    assert "KillSignal" not in unit
    assert unit["Restart"] == ["always"]
    assert unit["PartOf"] == ["oncue.target"]
    assert unit["WantedBy"] == ["oncue.target"]
    assert unit["EnvironmentFile"] == ["/etc/oncue/oncue.env", "-/etc/oncue/%i.env"]


@pytest.mark.parametrize("service", SERVICES)
def test_the_watchdog_leaves_room_for_two_turns_of_a_minute(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = seconds(settings(service)["WatchdogSec"][0])
    assert allowed >= 2 * 65
    monkeypatch.setenv("WATCHDOG_USEC", str(int(allowed * 1e6)))
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    assert notify.watchdog_period_s() == allowed / 2


def test_a_password_reaches_the_units_through_a_credential(tmp_path: Path) -> None:
    unit = settings("oncue-password.conf")
    assert unit["LoadCredential"] == ["password:/etc/oncue/password"]
    assert unit["Environment"] == ["ONCUE_PASSWORD_FILE=%d/password"]
    for service in SERVICES:
        shutil.copy(UNITS / service, tmp_path)
        (tmp_path / f"{service}.d").mkdir()
        shutil.copy(UNITS / "oncue-password.conf", tmp_path / f"{service}.d")
    units = [str(tmp_path / service) for service in SERVICES]
    assert run(tool("systemd-analyze"), "verify", "--man=no", "--recursive-errors=no", *units) == ""


def test_the_commands_are_the_documented_ones() -> None:
    scheduler, worker = (settings(name)["ExecStart"] for name in SERVICES)
    assert scheduler == ["/usr/bin/env oncue scheduler --config /etc/oncue/oncue.yaml"]
    assert worker == ["/usr/bin/env oncue worker ${ONCUE_APP}"]
    assert settings(SERVICES[0])["ExecReload"] == ["/bin/sh -c 'kill -HUP ${MAINPID}'"]


def test_a_changed_file_is_read_by_the_schedulers_that_were_started_with_it() -> None:
    watch, changed, reload = (settings(name) for name in RELOAD)
    (command,) = settings(SERVICES[0])["ExecStart"]
    assert watch["PathChanged"] == [command.rpartition("--config ")[2]]
    # The watch is on again before the file is read, so the service that it starts must not be the one that reads.
    assert watch["Unit"] == [RELOAD[1]]
    assert changed["OnSuccess"] == changed["After"] == [RELOAD[2]]
    assert changed["ExecStart"] == ["/bin/true"]
    assert watch["PartOf"] == watch["WantedBy"] == ["oncue.target"]
    assert changed["Type"] == reload["Type"] == ["oneshot"]
    assert "WantedBy" not in {*changed, *reload}
    # A unit without ExecReload would be restarted instead.
    assert reload["ExecStart"] == ['systemctl try-reload-or-restart "oncue-scheduler@*"']
    assert "ExecReload" in settings(SERVICES[0])
    # As many starts as there are changes: the watch ends where systemd refuses one.
    assert changed["StartLimitIntervalSec"] == reload["StartLimitIntervalSec"] == ["0"]


def test_every_unit_is_among_those_that_the_documentation_installs() -> None:
    text = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert all(path.name in text for path in UNITS.iterdir())


def test_a_worker_has_time_to_hand_back_before_it_is_killed() -> None:
    limit = seconds(settings("oncue-worker@.service")["TimeoutStopSec"][0])
    assert limit >= Config().stop_timeout_s + HAND_BACK_S


def test_the_environment_file_sets_what_is_read_and_nothing_else() -> None:
    lines = [line for line in (UNITS / "oncue.env").read_text().splitlines() if line]
    assignments = dict(
        line.removeprefix("#").split("=", 1) for line in lines if re.match(r"#?[A-Z][A-Z_]*=\S+$", line)
    )
    assert all(line.startswith("#") or line.split("=")[0] in assignments for line in lines)
    assert set(assignments) <= {*config.variables(), "ONCUE_APP", "PATH", "PYTHONPATH"}
    del assignments["ONCUE_CONFIG"]
    assert config.load(None, assignments, {}).url == assignments["ONCUE_URL"]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
def test_user_and_folders_are_made_with_the_rights_that_keep_secrets(tmp_path: Path) -> None:
    etc = tmp_path / "etc/oncue"
    etc.mkdir(parents=True)
    for name in ("oncue.yaml", "oncue.env", "emails.env", "password"):
        (etc / name).write_text("")
        (etc / name).chmod(0o644)
    run(tool("systemd-sysusers"), f"--root={tmp_path}", str(UNITS / "oncue.sysusers.conf"))
    user = next(
        line for line in (tmp_path / "etc/passwd").read_text().splitlines() if line.startswith("oncue:")
    )
    gid = int(user.split(":")[3])
    run(tool("systemd-tmpfiles"), "--create", f"--root={tmp_path}", str(UNITS / "oncue.tmpfiles.conf"))

    def rights(path: Path) -> tuple[str, int, int]:
        found = path.stat()
        return stat.filemode(found.st_mode), found.st_uid, found.st_gid

    assert rights(etc) == ("drwxr-x---", 0, gid)
    assert rights(etc / "oncue.yaml") == ("-rw-r-----", 0, gid)
    for name in ("oncue.env", "emails.env", "password"):
        assert rights(etc / name) == ("-rw-------", 0, 0)
    assert rights(tmp_path / "var/lib/oncue")[0] == "drwxr-x---"
