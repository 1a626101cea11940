"""Under a real systemd: a changed file of schedules is noticed, and a broken one changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.waiting import eventually
from tests.systemd.deployment import SCHEDULERS, Deployment

pytestmark = pytest.mark.slow

WATCH = "oncue-reload.path"


@pytest.fixture
def watched(deployed: Deployment) -> Iterator[Deployment]:
    """With the unit that watches the file."""
    deployed.run("systemctl", "enable", "--now", WATCH)
    yield deployed
    deployed.run("systemctl", "disable", "--now", WATCH)
    eventually(lambda: deployed.show("oncue-reload.service", "ActiveState") == ["inactive"], what="its end")


def names(deployed: Deployment) -> set[str]:
    return {schedule.name for schedule in deployed.app.schedules.list() if schedule.state == "active"}


def becomes_active(deployed: Deployment, name: str, timeout_s: float = 10) -> None:
    eventually(lambda: names(deployed) == {name}, timeout_s, what=f"{name} as the only schedule")


def fired(deployed: Deployment, name: str) -> int:
    return deployed.app.schedules.get(name).fired


def test_a_changed_file_is_in_force_at_once(watched: Deployment) -> None:
    pids = [watched.pid(unit) for unit in SCHEDULERS]
    watched.write_schedules("put-in-place: {every: 1s, queue: emails}")
    becomes_active(watched, "put-in-place")
    eventually(lambda: fired(watched, "put-in-place") >= 2, what="two ticks")
    # Written where it is, as `echo >file` does.
    path = watched.machine.path("/etc/oncue/oncue.yaml")
    path.write_text(path.read_text().replace("put-in-place", "written-over"))
    becomes_active(watched, "written-over")
    assert [watched.pid(unit) for unit in SCHEDULERS] == pids


def test_a_broken_file_changes_nothing_and_the_journal_says_why(watched: Deployment) -> None:
    watched.write_schedules("good: {every: 1s, queue: emails}")
    becomes_active(watched, "good")
    watched.write_schedules("good: {every: 1s, queue: emails", "bad: [")
    for unit in SCHEDULERS:
        watched.tells(unit, "what was in force stays in force")
        watched.tells(unit, "/etc/oncue/oncue.yaml:4:9: this '{' is not closed")
    before = fired(watched, "good")
    eventually(lambda: fired(watched, "good") > before, what="one more tick")
    assert names(watched) == {"good"}
    watched.write_schedules("mended: {every: 1h, queue: emails}")
    becomes_active(watched, "mended")


def test_a_file_that_changes_often_is_watched_on(watched: Deployment) -> None:
    for number in range(12):
        watched.write_schedules(f"number-{number}: {{every: 1h, queue: emails}}")
        becomes_active(watched, f"number-{number}")
    assert watched.show(WATCH, "ActiveState", "SubState") == ["active", "waiting"]


def test_a_change_during_a_reload_is_seen_too(watched: Deployment) -> None:
    # As long as the service runs that a path unit has started, systemd watches nothing.
    with watched.edited("ExecStartPost=/bin/sleep 4", "oncue-reload.service"):
        watched.write_schedules("before: {every: 1h, queue: emails}")
        becomes_active(watched, "before")
        assert watched.show("oncue-reload.service", "ActiveState") == ["activating"]
        watched.write_schedules("meanwhile: {every: 1h, queue: emails}")
        becomes_active(watched, "meanwhile", 20)


def test_a_reload_by_hand_does_the_same(deployed: Deployment) -> None:
    pids = [deployed.pid(unit) for unit in SCHEDULERS]
    deployed.write_schedules("by-hand: {every: 1h, queue: emails}")
    deployed.run("systemctl", "reload", "oncue-scheduler@*")
    becomes_active(deployed, "by-hand")
    assert [deployed.pid(unit) for unit in SCHEDULERS] == pids
