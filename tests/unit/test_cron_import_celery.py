"""Settings of Celery beat: they are read and never executed, and what is computed is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.importing import imported

BEAT = """
import os
os.makedirs({place!r})
MINUTE = 60
app.conf.timezone = "Europe/London"
app.conf.beat_schedule = {{
    "adds": {{"task": "t.add", "schedule": 30.0, "args": (16, 16), "options": {{"queue": "math", "expires": 9}}}},
    "mondays": {{"task": "t.mon", "schedule": crontab(hour=7, minute=30, day_of_week="monday")}},
    "delta": {{"task": "t", "schedule": timedelta(hours=1, minutes=30), "kwargs": {{"a": os.environ["A"]}}}},
    "product": {{"task": "t", "schedule": 5 * MINUTE, "enabled": False}},
    "both": {{"task": "t", "schedule": crontab(0, [0, 12], day_of_month="1-7", day_of_week="mon")}},
    "a name/€": {{"task": "t", "schedule": crontab()}},
    "sunset": {{"task": "t", "schedule": solar("sunset", 1, 2)}},
    "half": {{"task": "t", "schedule": 0.5}},
    "order": {{"task": "t", "schedule": crontab(1, 2, 3)}},
    "called": {{"task": "t", "schedule": delay()}},
    **more,
}}
app.conf.beat_schedule["added"] = {{"task": "t", "schedule": timedelta(1)}}
"""


def test_the_settings_of_celery_are_read_and_never_executed(tmp_path: Path) -> None:
    place = tmp_path / "executed"
    found, result = imported(tmp_path, "settings.py", BEAT.format(place=str(place)))
    assert not place.exists()
    assert result.exit_code == 1
    told = {name: (entry.cron, entry.every_s, entry.days) for name, entry in found.items()}
    assert told == {
        "adds": (None, 30, "either"),
        "mondays": ("30 7 * * mon", None, "either"),
        "delta": (None, 5400, "either"),
        "product": (None, 300, "either"),
        "both": ("0 0,12 1-7 * mon", None, "both"),
        "a-name": ("* * * * *", None, "either"),
        "added": (None, 86_400, "either"),
    }
    assert (found["adds"].queue, found["adds"].data) == ("math", {"task": "t.add", "args": [16, 16]})
    assert found["delta"].data == {"task": "t", "kwargs": {"a": None}}
    assert (found["mondays"].timezone, found["product"].enabled) == ("Europe/London", False)
    assert "kwargs.a is os.environ['A'], which was not read" in result.stdout
    assert "expires=9 was not carried over" in result.stdout
    for name in ("sunset", "half", "order", "called"):
        assert f"left out: entry {name}: " in result.stderr
    assert "left out: **more: " in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "CELERY_BEAT_SCHEDULE: dict = {'x': {'task': 't', 'schedule': 60}}",
        "app.conf.update(timezone='UTC', beat_schedule={'x': {'task': 't', 'schedule': timedelta(0, 60)}})",
        "class Config:\n    beat_schedule = dict(x={'task': 't', 'schedule': schedule(run_every=60)})",
        '{"celery@host": {"beat_schedule": {"x": {"task": "t", "schedule": "<freq: 1.00 minute>"}}}}',
        '{"x": {"task": "t", "schedule": 60}}',
    ],
)
def test_the_settings_of_celery_have_many_forms(tmp_path: Path, text: str) -> None:
    found, result = imported(tmp_path, "settings", text, "--format", "celery")
    assert (result.exit_code, found["x"].every_s, found["x"].data) == (0, 60, {"task": "t"})


ENTRY = "beat_schedule = {{'x': {{'task': 't', 'schedule': crontab(0, 3){}}}}}\n"


@pytest.mark.parametrize(
    ("settings", "words", "zone", "note"),
    [
        ("", (), "UTC", "No timezone is set in this file: UTC, as in Celery"),
        ("", ("--tz", "Asia/Tokyo"), "Asia/Tokyo", ""),
        ("enable_utc = False", (), "UTC", "enable_utc is off and no timezone is set in this file"),
        ("CELERY_ENABLE_UTC = False", ("--tz", "Asia/Tokyo"), "Asia/Tokyo", ""),
        ("enable_utc = False\ntimezone = 'Asia/Tokyo'", (), "Asia/Tokyo", ""),
        ("timezone = 'Asia/Tokyo'", ("--tz", "Europe/Paris"), "Asia/Tokyo", ""),
        (
            "TIME_ZONE = 'Europe/Paris'",
            (),
            "Europe/Paris",
            "Times are those of Django's TIME_ZONE, Europe/Paris",
        ),
        ("TIME_ZONE = 'Europe/Paris'\nCELERY_TIMEZONE = 'Asia/Tokyo'", (), "Asia/Tokyo", ""),
        ("TIME_ZONE = 'Europe/Paris'\nCELERY_TIMEZONE = TIME_ZONE", (), "Europe/Paris", ""),
        ("TIME_ZONE = 'Europe/Paris'\ntimezone = env('Z')", (), "UTC", "The timezone, env('Z'), is computed"),
        ("TIME_ZONE = env('Z')", (), "UTC", "The timezone, env('Z'), is computed"),
        ("if X: timezone = 'Asia/Tokyo'", (), "UTC", "The timezone, 'Asia/Tokyo', is computed"),
        ("def task(user): timezone = user.zone", (), "UTC", "No timezone is set in this file"),
        ("def task(user): user.timezone = 'Asia/Tokyo'", (), "UTC", "No timezone is set in this file"),
        ("def task(user): user.update(timezone='Asia/Tokyo')", (), "UTC", "No timezone is set in this file"),
        ("timezone = 'Asia/Tokyo'\nUSER = dict(timezone='Europe/Paris')", (), "Asia/Tokyo", ""),
        ("def setup(app): app.conf.timezone = 'Asia/Tokyo'", (), "Asia/Tokyo", ""),
        ("app.conf['timezone'] = 'Asia/Tokyo'", (), "Asia/Tokyo", ""),
        ("app.conf.update(dict(timezone='Asia/Tokyo'))", (), "Asia/Tokyo", ""),
        ("app.conf.update({'timezone': 'Asia/Tokyo'})", (), "Asia/Tokyo", ""),
        ("app = Celery('a', timezone='Asia/Tokyo')", (), "Asia/Tokyo", ""),
        ("CELERY = {'timezone': 'Asia/Tokyo'}", (), "Asia/Tokyo", ""),
        ("ZONE = 'Asia/Tokyo'\ntimezone = ZONE\napp.conf.timezone = ZONE", (), "Asia/Tokyo", ""),
        (
            "timezone = 'Asia/Tokyo'\napp.conf.timezone = 'Europe/Paris'",
            (),
            "UTC",
            "The timezone, 'Asia/Tokyo' or 'Europe/Paris', is computed and was not read",
        ),
    ],
)
def test_the_zone_of_celery_is_the_one_it_would_take_and_a_guess_is_told(
    tmp_path: Path, settings: str, words: tuple[str, ...], zone: str, note: str
) -> None:
    found, result = imported(tmp_path, "settings.py", f"{settings}\n{ENTRY.format('')}", *words)
    assert found["x"].timezone == zone
    assert note in result.stdout
    signs = ("o timezone is set", "TIME_ZONE", "was not read")
    assert note or not any(sign in result.stdout for sign in signs)


@pytest.mark.parametrize(
    ("enable_utc", "note"),
    [
        (True, "# No timezone is set in this file: UTC, as in Celery"),
        (
            False,
            "# enable_utc is off and no timezone is set in this file: times were those of the host's zone",
        ),
    ],
)
def test_the_zone_of_what_celery_prints_is_that_of_the_host_where_utc_is_off(
    tmp_path: Path, enable_utc: bool, note: str
) -> None:
    printed = {"x": {"task": "t", "schedule": "<crontab: 0 4 * * 1 (m/h/dM/MY/d)>"}}
    conf = {"beat_schedule": printed, "enable_utc": enable_utc, "timezone": None}
    found, result = imported(tmp_path, "conf.json", json.dumps({"celery@host": conf}))
    assert (found["x"].timezone, result.exit_code) == ("UTC", 0)
    assert note in result.stdout


@pytest.mark.parametrize(
    "entry", ["'kwargs': dict(timezone='Asia/Tokyo')", "'kwargs': {'timezone': 'Asia/Tokyo'}"]
)
def test_what_a_task_is_given_of_a_zone_is_not_the_zone_of_celery(tmp_path: Path, entry: str) -> None:
    text = f"app.conf.timezone = 'Europe/Paris'\n{ENTRY.format(', ' + entry)}"
    found, _ = imported(tmp_path, "settings.py", text)
    assert found["x"].timezone == "Europe/Paris"
    assert found["x"].data == {"task": "t", "kwargs": {"timezone": "Asia/Tokyo"}}


@pytest.mark.parametrize(
    "change",
    [
        "X['schedule'] = 60",
        "del X['args']",
        "X.update(schedule=60)",
        "X['args'].append(2)",
        "def setup(): X.pop('args')",
    ],
)
def test_what_the_module_changes_is_no_constant(tmp_path: Path, change: str) -> None:
    text = f"X = {{'task': 't', 'schedule': 30, 'args': []}}\n{change}\nbeat_schedule = {{'x': X, 'y': {{'task': 'u', 'schedule': 5}}}}"
    found, result = imported(tmp_path, "settings.py", text)
    assert (list(found), result.exit_code) == (["y"], 1)
    assert "left out: entry x: X: it is computed" in result.stderr


def test_a_key_of_an_entry_that_has_no_counterpart_is_told(tmp_path: Path) -> None:
    found, result = imported(tmp_path, "settings.py", ENTRY.format(", 'relative': True"))
    assert (list(found), result.exit_code) == (["x"], 0)
    assert "relative=True was not carried over" in result.stdout


@pytest.mark.parametrize("more", [", 'enabled': 0", ", 'enabled': env('ON')", ", 'task': add.name"])
def test_an_entry_of_celery_that_may_be_off_or_has_no_known_task_is_left_out(
    tmp_path: Path, more: str
) -> None:
    found, result = imported(tmp_path, "settings.py", ENTRY.format(more))
    assert (found, result.exit_code) == ({}, 1)
    assert "left out: entry x: " in result.stderr


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("day_of_week='fri-mon'", "* * * * 5,6,0,1"),
        ("day_of_week='Friday-Monday,wed'", "* * * * 5,6,0,1,wed"),
        ("day_of_week='sat-sun'", "* * * * 6,0"),
        ("day_of_week='mon-fri'", "* * * * mon-fri"),
        ("hour='22-4/2'", "* 22,0,2,4 * * *"),
        ("month_of_year='11-2'", "* * * 11,12,1,2 *"),
        ("day_of_month=['30-2', 5]", "* * 30,31,1,2,5 * *"),
    ],
)
def test_a_range_of_celery_that_runs_over_the_end_is_written_as_its_values(
    tmp_path: Path, there: str, here: str
) -> None:
    text = f"beat_schedule = {{'x': {{'task': 't', 'schedule': crontab({there})}}}}"
    found, _ = imported(tmp_path, "settings.py", text)
    assert found["x"].cron == here


def test_what_celery_prints_of_its_crontabs_is_read(tmp_path: Path) -> None:
    printed = {
        "old": {"task": "t", "schedule": "<crontab: 0 4 1 * * (m/h/d/dM/MY)>"},
        "new": {"task": "t", "schedule": "<crontab: 0 4 * * 1 (m/h/dM/MY/d)>"},
    }
    found, _ = imported(
        tmp_path, "conf.json", json.dumps({"beat_schedule": printed, "timezone": "Asia/Tokyo"})
    )
    assert {entry.cron for entry in found.values()} == {"0 4 * * 1"}
    assert found["old"].timezone == "Asia/Tokyo"


def test_tasks_that_an_app_of_celery_adds_when_it_runs_are_read_too(tmp_path: Path) -> None:
    text = """
app.conf.timezone = "Asia/Tokyo"
@app.on_after_configure.connect
def setup_periodic_tasks(sender, **kwargs):
    sender.add_periodic_task(10.0, test.s("hello", n=1), name="add every 10", expires=5)
    sender.add_periodic_task(crontab(hour=7, minute=30), test.s(), args=(2,))
    sender.add_periodic_task(timedelta(1), tasks.clean.signature(args=(1,), queue="q"), queue="slow")
    sender.add_periodic_task(make(), test.s())
"""
    found, result = imported(tmp_path, "tasks.py", text)
    assert {name: (entry.cron, entry.every_s, entry.data) for name, entry in found.items()} == {
        "add-every-10": (None, 10, {"task": "test", "args": ["hello"], "kwargs": {"n": 1}}),
        "test-of-line-6": ("30 7 * * *", None, {"task": "test", "args": [2]}),
        "tasks.clean-of-line-7": (None, 86_400, {"task": "tasks.clean", "args": [1]}),
    }
    assert (found["test-of-line-6"].timezone, found["tasks.clean-of-line-7"].queue) == ("Asia/Tokyo", "slow")
    assert "options: expires=5 was not carried over" in result.stdout
    assert "left out: entry test of line 8: make(): it is computed" in result.stderr


@pytest.mark.parametrize(
    ("call", "queue", "data"),
    [
        ("60, test.si('x').set(queue='p')", "p", {"task": "test", "args": ["x"]}),
        ("60, test.s('x').set(queue='p').set(priority=3), queue='q'", "q", {"task": "test", "args": ["x"]}),
        (
            "60, test.signature(('x',), {'a': 1}, queue='p')",
            "p",
            {"task": "test", "args": ["x"], "kwargs": {"a": 1}},
        ),
        ("60, signature('tasks.add', args=(1,), queue='p')", "p", {"task": "tasks.add", "args": [1]}),
        ("60, app.signature('tasks.add', options={'queue': 'p'})", "p", {"task": "tasks.add"}),
        ("60, tasks.add, (1, 2)", "default", {"task": "tasks.add", "args": [1, 2]}),
        (
            "60, test.s(1, a=1), (2,), {'a': 2}",
            "default",
            {"task": "test", "args": [2, 1], "kwargs": {"a": 2}},
        ),
        ("60, test.si(1), (2,)", "default", {"task": "test", "args": [1]}),
        ("60, test.s(1), ARGS()", "default", {"task": "test", "args": None}),
    ],
)
def test_a_signature_of_celery_gives_task_arguments_and_queue(
    tmp_path: Path, call: str, queue: str, data: object
) -> None:
    found, result = imported(tmp_path, "tasks.py", f"app.add_periodic_task({call}, name='x')\n")
    assert (found["x"].queue, found["x"].data, result.exit_code) == (queue, data, 0)
    assert ("priority=3 was not carried over" in result.stdout) == ("priority" in call)
    assert "immutable" not in result.stdout


@pytest.mark.parametrize(
    "sig",
    [
        "a.s() | b.s()",
        "chain(a.s(), b.s()).set(queue='p')",
        "group(a.s())",
        "test.s(*values)",
        "test.s(**values)",
        "test.s().clone()",
        "make('x').s()",
        "signature(name)",
        "sig",
        "*all",
        "'tasks.add'",
    ],
)
def test_a_signature_of_celery_that_is_computed_is_left_out(tmp_path: Path, sig: str) -> None:
    text = f"sig = a.s()\napp.add_periodic_task(60, {sig})\n"
    found, result = imported(tmp_path, "tasks.py", text)
    assert (found, result.exit_code) == ({}, 1)
    assert "left out: entry of line 2: " in result.stderr
    assert "it is computed, and no code is run here" in result.stderr


@pytest.mark.parametrize("number", ["1" * 400, "1e999", "-1e999", "0", "-5", "1e15", "10 / 0"])
def test_a_number_that_is_no_interval_is_left_out(tmp_path: Path, number: str) -> None:
    text = f"beat_schedule = {{'x': {{'task': 't', 'schedule': {number}}}, 'y': {{'task': 't', 'schedule': 9, 'args': [{number}]}}}}"
    found, result = imported(tmp_path, "x.py", text)
    assert "left out: entry x: " in result.stderr
    assert "x" not in found
