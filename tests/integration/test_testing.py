"""The testing kit: a test schedules, travels, and sees what ran, at its own time and without waiting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from freezegun import freeze_time

import oncue
from oncue.testing import Kit, oncue_kit, oncue_server

__all__ = ["oncue_kit", "oncue_server"]
POLICY = {"backoff": "fixed", "first_s": 30, "jitter": 0}


def test_each_task_runs_at_its_own_time_on_the_way(oncue_kit: Kit) -> None:
    oncue_kit.app.handler("mail")(lambda task: None)
    start = oncue_kit.now
    for offset_s in (86_400, 0.5, 3600):
        oncue_kit.app.schedule_task(start + timedelta(seconds=offset_s), offset_s, "mail")
    assert oncue_kit.run() == []
    assert [ran.data for ran in oncue_kit.travel(3600)] == [0.5, 3600]
    assert [ran.data for ran in oncue_kit.travel(timedelta(days=1))] == [86_400]
    assert [(ran.at - start).total_seconds() for ran in oncue_kit.ran] == [0.5, 3600, 86_400]
    assert oncue_kit.now == start + timedelta(days=1, hours=1)


def test_failures_are_retried_when_their_time_comes(oncue_kit: Kit) -> None:
    app = oncue_kit.use(oncue.App())

    @app.handler("mail", retry={**POLICY, "max_attempts": 3})
    def mail(task: oncue.Task) -> None:
        raise ConnectionError("no route")

    app.schedule_task(None, 1, "mail", id="mine")
    assert [ran.what for ran in oncue_kit.run()] == ["failed"]
    assert [ran.what for ran in oncue_kit.travel(29.9)] == []
    assert [ran.what for ran in oncue_kit.travel(60)] == ["failed", "dead"]
    last = oncue_kit.ran[-1]
    assert last.error is not None
    assert (last.error["message"], last.task.attempt) == ("no route", 3)
    assert app.get("mine").state == "dead"


def test_every_answer_has_its_word(oncue_kit: Kit) -> None:
    answers = {"a": oncue.Snooze(99), "b": oncue.Throttled(99), "c": oncue.Cancelled(), "d": oncue.Bury("x")}

    @oncue_kit.app.handler()
    def handler(task: oncue.Task) -> None:
        if task.data in answers:
            raise answers[task.data]

    oncue_kit.app.schedule_many([oncue.NewTask(1, data) for data in "abcde"])
    assert [ran.what for ran in oncue_kit.run()] == ["snoozed", "throttled", "cancelled", "dead", "done"]


def test_what_a_handler_does_after_the_end_of_its_task_is_not_its_outcome(oncue_kit: Kit) -> None:
    app = oncue_kit.app

    @app.handler("commits")
    def commits(task: oncue.Task) -> None:
        with task.transaction() as pipe:
            pipe.set(task.key("seen"), 1)
        raise ValueError("too late")

    @app.handler("gives-back")
    def gives_back(task: oncue.Task) -> None:
        if not oncue_kit.ran:
            task.release()

    @app.handler("cancelled", retry=POLICY)
    def cancelled(task: oncue.Task) -> None:
        assert app.cancel(task.id) is False
        assert not task.cancelled.is_set()
        task.extend(60)
        assert task.cancelled.is_set()
        raise ValueError("not wanted any more")

    for queue, expected in (
        ("gives-back", ["released", "done"]),
        ("commits", ["done"]),
        ("cancelled", ["cancelled"]),
    ):
        app.schedule_task(None, 1, queue)
        assert [run.what for run in oncue_kit.run()] == expected


def test_what_a_handler_schedules_for_now_runs_in_the_same_step(oncue_kit: Kit) -> None:
    app = oncue_kit.app

    @app.handler()
    def chain(task: oncue.Task) -> None:
        if task.data:
            app.schedule_task(None, task.data - 1)

    app.schedule_task(None, 5)
    assert [ran.data for ran in oncue_kit.run()] == [5, 4, 3, 2, 1, 0]


def test_a_task_that_schedules_itself_for_ever_is_found_out(
    oncue_kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncue.testing.MOST_RUNS", 50)
    app = oncue_kit.app
    app.handler()(lambda task: app.schedule_task(None, 1))
    app.schedule_task(None, 1)
    with pytest.raises(AssertionError, match="does a task schedule itself for now"):
        oncue_kit.run()


def test_schedules_of_a_file_fire_on_the_way(oncue_kit: Kit, tmp_path: Path) -> None:
    (tmp_path / "oncue.yaml").write_text(
        'schedules:\n  report: {cron: "0 * * * *", data: hourly}\nqueues:\n  default: {retry: {max_attempts: 1}}\n'
    )
    oncue_kit.app.handler()(lambda task: 1 / 0)
    oncue_kit.load(str(tmp_path / "oncue.yaml"))
    ran = oncue_kit.travel(3 * 3600)
    assert [(one.data, one.at.minute, one.what) for one in ran] == [("hourly", 0, "dead")] * 3


def test_a_fault_of_one_schedule_is_a_fault_of_the_file(oncue_kit: Kit, tmp_path: Path) -> None:
    (tmp_path / "oncue.yaml").write_text('schedules:\n  good: {cron: "@daily"}\n  bad: {cron: "@never"}\n')
    with pytest.raises(oncue.ConfigError, match=r"schedules\.bad\.cron: .*found '@never'"):
        oncue_kit.load(str(tmp_path / "oncue.yaml"))


def test_with_freezegun_the_frozen_time_counts_and_travels_along(oncue_kit: Kit) -> None:
    seen: list[datetime] = []
    oncue_kit.app.handler()(lambda task: seen.append(datetime.now(UTC)))
    with freeze_time("2027-03-01 12:00:00") as frozen:
        oncue_kit.app.schedule_task(datetime(2027, 3, 1, 13, tzinfo=UTC), 1)
        oncue_kit.app.schedule_task(datetime(2027, 3, 2, tzinfo=UTC), 2)
        oncue_kit.travel(to="2027-03-01T18:00:00Z")
        assert datetime.now(UTC) == oncue_kit.now == datetime(2027, 3, 1, 18, tzinfo=UTC)
        frozen.move_to("2027-03-02 00:00:00")
        oncue_kit.run()
    assert seen == [datetime(2027, 3, 1, 13, tzinfo=UTC), datetime(2027, 3, 2, tzinfo=UTC)]


def test_a_kit_leaves_nothing_behind(oncue_server: str) -> None:
    kit = Kit(oncue_server)
    kit.app.handler()(print)
    kit.app.schedule_task(None, 1)
    kit.app.schedule_task(2e9, 1)
    node = kit.store.link.node(b"x")
    kit.run()
    kit.close()
    assert list(node.scan_iter(match=b"{test-*")) == []
