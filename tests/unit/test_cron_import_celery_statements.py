"""Statements of a module of Celery: what they make of the schedule is read, or left out by its line, and never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.importing import imported

ONE = "app.conf.beat_schedule = {'one': {'task': 't', 'schedule': 30}}\n"


@pytest.mark.parametrize(
    "statement",
    [
        "app.conf.beat_schedule.update({'two': TWO})",
        "app.conf.beat_schedule.update(two=TWO)",
        "app.conf.beat_schedule.update({'one': TWO}, one={'task': 't', 'schedule': 30}, two=TWO)",
        "app.conf.beat_schedule |= {'two': TWO}",
        "app.conf.beat_schedule['two'] = TWO",
        "app.conf['beat_schedule']['two'] = TWO",
        "app.conf['beat_schedule'].update(two=TWO)",
        "NAME = 'two'\napp.conf.beat_schedule[NAME] = TWO",
        "app.add_periodic_task(60, t, name='two')",
        "def setup(app):\n    app.conf.beat_schedule['two'] = TWO",
    ],
)
def test_what_is_added_to_the_schedule_of_celery_is_read(tmp_path: Path, statement: str) -> None:
    text = f"TWO = {{'task': 't', 'schedule': 60}}\n{ONE}{statement}\n"
    found, result = imported(tmp_path, "settings.py", text)
    assert {name: entry.every_s for name, entry in found.items()} == {"one": 30, "two": 60}
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        "SCHEDULE = {}\nSCHEDULE['one'] = {'task': 't', 'schedule': 30}\napp.conf.beat_schedule = SCHEDULE\n",
        f"{ONE}CELERY_BEAT_SCHEDULE = app.conf.beat_schedule\n",
        "CELERY_BEAT_SCHEDULE = beat_schedule = {'one': {'task': 't', 'schedule': 30}}\n",
        f"beat_schedule: dict\n{ONE}",
        "app.config['CELERY_BEAT_SCHEDULE'] = {'one': {'task': 't', 'schedule': 30}}\n",
    ],
)
def test_the_schedule_of_celery_by_another_name_is_the_same(tmp_path: Path, text: str) -> None:
    found, result = imported(tmp_path, "settings.py", text)
    assert {name: entry.every_s for name, entry in found.items()} == {"one": 30}
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("app.conf.beat_schedule.setdefault('two', TWO)", "computed"),
        ("app.conf.update({'beat_schedule': {'two': TWO}})", "computed"),
        ("app.conf.beat_schedule['one']['schedule'] = 90.0", "computed"),
        ("app.conf.beat_schedule[name()] = TWO", "computed"),
        ("app.conf.beat_schedule.update(more())", "computed"),
        ("app.conf.beat_schedule.update(**more)", "computed"),
        ("app.conf.beat_schedule |= more()", "computed"),
        ("del app.conf.beat_schedule['one']", "computed"),
        ("fill(app.conf.beat_schedule)", "computed"),
        ("from base import beat_schedule", "computed"),
        ("add = app.add_periodic_task", "computed"),
        ("app.conf.beat_schedule = {'two': TWO}", "assigned before"),
        ("app.conf.beat_schedule = {**app.conf.beat_schedule, 'two': TWO}", "assigned before"),
        ("if PROD:\n    app.conf.beat_schedule = {'two': TWO}", "condition"),
        ("if PROD:\n    app.conf.beat_schedule['two'] = TWO", "condition"),
        ("PROD and app.conf.beat_schedule.update(two=TWO)", "condition"),
        ("for two in all:\n    app.conf.beat_schedule[two] = TWO", "loop"),
        ("for entry in app.conf.beat_schedule.values():\n    entry['enabled'] = False", "loop"),
        ("while False:\n    app.add_periodic_task(60, t, name='two')", "loop"),
        ("for q in (a, b):\n    app.add_periodic_task(60, t.s(q), name='loop ' + q)", "loop"),
        ("if False:\n    app.add_periodic_task(60, t, name='two')", "condition"),
        ("try:\n    app.add_periodic_task(60, t, name='two')\nfinally:\n    pass", "condition"),
    ],
)
def test_what_else_is_done_to_the_schedule_of_celery_is_left_out_by_its_line(
    tmp_path: Path, statement: str, why: str
) -> None:
    found, result = imported(tmp_path, "settings.py", f"{ONE}{statement}\n")
    assert (list(found), result.exit_code) == (["one"], 1)
    (told,) = result.stderr.splitlines()
    (line,) = (line for line in statement.splitlines() if line.strip() in told)
    assert told.startswith(f"oncue: left out: line {2 + statement.splitlines().index(line)}: {line.strip()}")
    assert why in told
    assert told.removeprefix("oncue: left out: ") in result.stdout


def test_a_schedule_of_celery_that_depends_on_a_condition_is_left_out(tmp_path: Path) -> None:
    text = "if PROD:\n    beat_schedule = {'a': A}\nelse:\n    beat_schedule = {'b': B}\n"
    found, result = imported(tmp_path, "settings.py", text)
    assert (found, result.exit_code) == ({}, 1)
    assert [line.split(": ")[2] for line in result.stderr.splitlines()] == ["line 2", "line 4"]


def test_tasks_that_are_added_on_one_line_have_names_of_their_own(tmp_path: Path) -> None:
    text = "def setup(app):\n    app.add_periodic_task(10.0, t.s(1)); app.add_periodic_task(20.0, t.s(2))\n"
    found, result = imported(tmp_path, "tasks.py", text)
    assert {name: (entry.every_s, entry.data) for name, entry in found.items()} == {
        "t-of-line-2-column-5": (10, {"task": "t", "args": [1]}),
        "t-of-line-2-column-42": (20, {"task": "t", "args": [2]}),
    }
    assert result.exit_code == 0


def test_a_name_that_is_assigned_twice_is_no_constant(tmp_path: Path) -> None:
    text = "PACE = 60\nif PROD:\n    PACE = 10\nbeat_schedule = {'x': {'task': 't', 'schedule': PACE}}\n"
    found, result = imported(tmp_path, "settings.py", text)
    assert (found, result.exit_code) == ({}, 1)
    assert "left out: entry x: PACE: it is computed" in result.stderr


def test_what_is_left_out_of_a_module_of_celery_is_told_in_its_order(tmp_path: Path) -> None:
    text = f"""{ONE}
app.add_periodic_task(make(), t, name="a")
app.conf.beat_schedule.setdefault("b", B)
app.conf.beat_schedule["c"] = C
if X:
    app.add_periodic_task(1, t, name="d")
app.conf.beat_schedule = {{}}
"""
    _, result = imported(tmp_path, "settings.py", text)
    places = [line.split(": ")[2] for line in result.stderr.splitlines()]
    assert places == ["entry a", "line 4", "entry c", "line 7", "line 8"]
