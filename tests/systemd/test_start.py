"""Under a real systemd, set up as docs/deploy.md says: oncue comes up, says so, and does its work."""

from __future__ import annotations

import pytest

from tests.support.waiting import eventually
from tests.systemd.deployment import SCHEDULERS, UNITS, Deployment, block

pytestmark = pytest.mark.slow


def says(deployed: Deployment, unit: str, start: str) -> None:
    eventually(lambda: deployed.show(unit, "StatusText")[0].startswith(start), what=f"{start} of {unit}")


def test_the_target_starts_what_was_enabled(deployed: Deployment) -> None:
    deployed.run("systemctl", "stop", "oncue.target", *UNITS)
    deployed.run("systemctl", "start", "oncue.target")
    for unit in UNITS:
        says(deployed, unit, "at work on 127.0.0.1:6379")
    wanted = deployed.run("systemctl", "list-dependencies", "--plain", "multi-user.target")
    assert {word.strip() for word in wanted.splitlines()} >= {"oncue.target", *UNITS}


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_up_once_its_process_has_said_so(deployed: Deployment, unit: str) -> None:
    shown = deployed.show(unit, "Type", "ActiveState", "SubState", "StatusText", "NRestarts")
    assert shown == ["notify", "active", "running", "at work on 127.0.0.1:6379", "0"]
    assert 'Status: "at work on 127.0.0.1:6379"' in deployed.run("systemctl", "status", unit)


def test_a_unit_waits_for_a_server_that_is_away(deployed: Deployment) -> None:
    unit = "oncue-scheduler@3.service"
    deployed.run("systemctl", "stop", "valkey.service")
    deployed.run("systemctl", "start", "--no-block", unit)
    says(deployed, unit, "waiting for the server")
    assert deployed.show(unit, "ActiveState") == ["activating"]
    for degraded in UNITS:
        says(deployed, degraded, "degraded: the server at 127.0.0.1:6379 is away")
    deployed.run("systemctl", "start", "valkey.service")
    for waiting in (unit, *UNITS):
        says(deployed, waiting, "at work")
    assert deployed.show(unit, "ActiveState") == ["active"]
    deployed.run("systemctl", "stop", unit)
    assert [deployed.show(unit, "NRestarts") for unit in UNITS] == [["0"]] * 3


def test_a_server_on_a_unix_socket_is_reached_by_its_group(deployed: Deployment) -> None:
    unit = "oncue-scheduler@socket.service"
    deployed.shell(
        "groupadd --system --force redis; chgrp redis /run/valkey.sock; chmod 770 /run/valkey.sock"
    )
    deployed.write("/etc/oncue/socket.env", "ONCUE_URL=unix:///run/valkey.sock\n")
    with deployed.edited("SupplementaryGroups=redis", unit):
        deployed.run("systemctl", "start", unit)
        assert deployed.show(unit, "StatusText") == ["at work on /run/valkey.sock"]
        deployed.run("systemctl", "stop", unit)


def test_a_delayed_task_runs_on_time(deployed: Deployment) -> None:
    assert any(deployed.is_punctual() for _ in range(3))


def test_a_restart_of_the_target_restarts_every_unit(deployed: Deployment) -> None:
    before = [deployed.pid(unit) for unit in UNITS]
    deployed.run("systemctl", "restart", "oncue.target", *UNITS)
    after = [deployed.pid(unit) for unit in UNITS]
    assert all(pid > 0 for pid in after)
    assert not set(after) & set(before)


def test_a_worker_for_commands_needs_no_app(deployed: Deployment) -> None:
    deployed.shell(block("ONCUE_ALLOW_COMMANDS=true"))
    try:
        deployed.write_schedules("by-command: {every: 1s, command: [touch, by-command]}")
        deployed.run("systemctl", "reload", *SCHEDULERS)
        eventually(deployed.machine.path("/var/lib/oncue/by-command").exists, what="the work of the command")
    finally:
        deployed.run("systemctl", "disable", "--now", "oncue-worker@commands.service")


def test_an_app_that_cannot_be_used_is_not_started_again(deployed: Deployment) -> None:
    unit = "oncue-worker@wrong.service"
    deployed.write("/etc/oncue/wrong.env", "ONCUE_APP=shop.nothing:app\n")
    deployed.run("systemctl", "start", unit, check=False)
    shown = deployed.show(unit, "ActiveState", "Result", "ExecMainStatus", "NRestarts")
    assert shown == ["failed", "exit-code", "2", "0"]
    deployed.tells(unit, "there is no module shop.nothing")
    deployed.run("systemctl", "reset-failed", unit)
