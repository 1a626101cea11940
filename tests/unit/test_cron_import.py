"""Files of other schedulers: what they become passes oncue's own check, and what is lost is said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oncue.cli.cron import cron
from oncue.cli.crontab import name_of
from oncue.cli.crontabform import is_system
from oncue.cli.imported import duration, named, quoted
from oncue.common.config import check, load
from oncue.common.configtypes import ScheduleConfig
from oncue.common.errors import BadInput

CRONTAB = r"""# the system's
SHELL=/bin/sh
PATH="/usr/bin:/bin"
MAILTO=ops@example.org

# every hour
17 * * * *  root  cd / && run-parts /etc/cron.hourly
CRON_TZ=America/New_York
0~29 3 * * 1-5 www-data mail -s "100\%" ops%Hi%  it's me
@reboot root /usr/bin/start
@daily root /usr/bin/python3 /opt/app/clean.py --deep
61 * * * * root late
5 4 * * * root run-parts again
"""


def run(path: Path, text: str, *words: str) -> Result:
    path.write_text(text)
    return CliRunner().invoke(cron, ["import", str(path), *words], env={"LC_ALL": "C"})


def imported(tmp_path: Path, name: str, text: str, *words: str) -> tuple[dict[str, ScheduleConfig], Result]:
    """The schedules of the file that comes out, which has to be faultless."""
    result = run(tmp_path / name, text, *words)
    out = tmp_path / "oncue.yaml"
    out.write_text(result.stdout)
    assert check(str(out)) == []
    return load(str(out), {}, {}).schedules, result


def test_a_crontab_of_the_system(tmp_path: Path) -> None:
    found, result = imported(tmp_path, "crontab", CRONTAB, "--format", "system-crontab")
    assert result.exit_code == 1
    assert list(found) == ["run-parts", "mail", "clean", "run-parts-2"]
    first = found["run-parts"]
    assert (first.cron, first.timezone, first.queue) == ("17 * * * *", "UTC", "commands-root")
    assert (first.overlap, first.catch_up, first.runs) == ("allow", "skip", "command")
    assert first.retry == {"max_attempts": 1}
    assert first.data == {
        "command": "cd / && run-parts /etc/cron.hourly",
        "shell": True,
        "env": {"PATH": "/usr/bin:/bin"},
    }
    assert (found["mail"].cron, found["mail"].timezone) == ("H(0-29) 3 * * 1-5", "America/New_York")
    assert "# every hour" in result.stdout
    assert (
        "MAILTO=ops@example.org: nobody is mailed; `oncue dead list` has the runs that failed"
        in result.stdout
    )
    assert "left out: line 10: @reboot root /usr/bin/start: @reboot has no instant" in result.stderr
    assert "left out: line 12: 61 * * * *: minute field: found '61'" in result.stderr


def test_what_stands_after_a_percent_sign_is_stdin(tmp_path: Path) -> None:
    line = r"* * * * * printf '\%s|' a\%b; cat%it's $HOME%  two lines"
    found, _ = imported(tmp_path, "crontab", line, "--format", "crontab")
    data: Any = found["printf"].data
    ran = subprocess.run(["/bin/sh", "-c", data["command"]], capture_output=True, text=True, check=True)
    assert ran.stdout == "a%b|it's $HOME\n  two lines\n"


def test_a_crontab_of_a_user_with_a_shell_of_its_own(tmp_path: Path) -> None:
    text = "SHELL=/bin/bash\nHOME=/srv\nRANDOM_DELAY=5\n*/5 * * * * ./sync.sh >/dev/null 2>&1\n0 0 * *\n"
    found, result = imported(tmp_path, "tab", text, "--format", "crontab", "--tz", "Europe/Berlin")
    (job,) = found.values()
    assert (job.name, job.timezone, job.jitter_s, job.queue) == ("sync", "Europe/Berlin", 300, "commands")
    assert job.data == {
        "command": ["/bin/bash", "-c", "./sync.sh >/dev/null 2>&1"],
        "env": {"HOME": "/srv"},
        "cwd": "/srv",
    }
    assert "line 5: 0 0 * *: there is no command" in result.stderr
    assert "--tz names it" not in result.stdout


@pytest.mark.parametrize(
    ("path", "text", "system"),
    [
        ("/etc/crontab", "", True),
        ("/etc/cron.d/backup", "0 3 * * * sync /srv/a\n", True),
        ("x", "PATH=/bin\n1 * * * * root run it\n@daily root run\n", True),
        ("x", "17 * * * *\troot\tcd / && run-parts /etc/cron.hourly\n5 4 * * * deploy /srv/x y\n", True),
        ("x", "# m h dom mon dow user\tcommand\n5 4 * * * deploy /srv/x y\n", True),
        ("x", "# *  *  *  *  * user-name  command to be executed\n5 4 * * * deploy /srv/x y\n", True),
        ("x", "# m h  dom mon dow   command\n0 3 * * * sync /srv/a\n", False),
        ("x", "0 4 * * * mail -s x y@z\n", False),
        ("x", "0 4 * * * backup\n", False),
        ("x", "0 4 * * * backup >/dev/null 2>&1\n", False),
        ("x", "0 4 * * * sync && touch /srv/done\n", False),
        ("x", "0 4 * * * /usr/bin/sync x\n0 3 * * * sync /srv/a\n", False),
        ("x", "0 4 * * * A=1 sync x\n", False),
        ("x", "0 4 * * * [ -e /srv/a ] && rm /srv/a\n", False),
        ("x", "0 4 * * * cd /srv && ./run\n", False),
        ("x", "0 4 * *\n", False),
        ("x", "", False),
    ],
)
def test_the_form_of_a_crontab_is_told_by_evidence(path: str, text: str, system: bool) -> None:
    assert is_system(path, text) is system


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# copies\n0 3 * * * sync /srv/a\n", "line 2 (sync) may start with a user"),
        ("0 3 * * * www-data php /srv/a\n", "line 1 (www-data) may start with a user"),
        ("0 3 * * * root -b macro.C\n", "line 1 (root) may start with a user"),
        ("0 3 * * * root sync x\n\n@daily /usr/bin/x\n", "line 1 (root) tells the system's form, but line 3"),
        ("# m h dom mon dow user command\n@daily ./x\n", "line 1 (the heading) tells the system's form"),
    ],
)
def test_a_crontab_of_an_unclear_form_is_refused_and_nothing_written(
    tmp_path: Path, text: str, sentence: str
) -> None:
    result = run(tmp_path / "tab", text)
    assert isinstance(result.exception, BadInput)
    assert sentence in str(result.exception)
    assert "--format crontab" in str(result.exception)
    assert result.stdout == ""


def test_a_variable_that_no_command_can_have_is_dropped_and_told_once(tmp_path: Path) -> None:
    text = '"BAR BAZ"=x\nA=1\n1 * * * * ./a\n2 * * * * ./b\n'
    found, result = imported(tmp_path, "tab", text)
    assert result.exit_code == 0
    assert [job.data for job in found.values()] == [
        {"command": command, "shell": True, "env": {"A": "1"}} for command in ("./a", "./b")
    ]
    assert result.stdout.count("BAR BAZ") == 1
    assert "line 1: 'BAR BAZ' is no name of a variable" in result.stdout


def test_a_variable_that_no_job_can_follow_is_blamed_until_it_is_set_again(tmp_path: Path) -> None:
    text = """CRON_TZ=Mars/Base
1 * * * * ./a
CRON_TZ=
2 * * * * ./b
HOME=srv
3 * * * * ./c
HOME=/srv
4 * * * * ./d
CRON_TZ=Asia/Tokyo
5 * * * * ./e
CRON_TZ=
6 * * * * ./f
"""
    found, result = imported(tmp_path, "tab", text, "--tz", "Europe/Berlin")
    assert {name: entry.timezone for name, entry in found.items()} == {
        "b": "Europe/Berlin",
        "d": "Europe/Berlin",
        "e": "Asia/Tokyo",
        "f": "Europe/Berlin",
    }
    assert "line 2: 1 * * * * ./a: CRON_TZ of line 1: time zone: found 'Mars/Base'" in result.stderr
    assert "line 6: 3 * * * * ./c: HOME of line 5: found 'srv'; write an absolute path" in result.stderr


@pytest.mark.parametrize("minutes", ["1441", "²", "1" * 5000])
def test_a_delay_that_no_schedule_can_have_is_told_and_the_jobs_kept(tmp_path: Path, minutes: str) -> None:
    found, result = imported(tmp_path, "tab", f"RANDOM_DELAY={minutes}\n1 * * * * ./a\n")
    assert found["a"].jitter_s == 0
    assert "line 1: RANDOM_DELAY=" in result.stdout


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/python3 -u /opt/clean.py --all", "clean"),
        ("cd /srv && A=1 nice ./run.sh", "run"),
        ("bash -c 'x'", "x"),
        ("$HOME", "job"),
        ("php", "php"),
    ],
)
def test_a_schedule_is_named_after_its_program(command: str, name: str) -> None:
    assert name_of(command) == name


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
    ],
)
def test_the_zone_of_celery_is_the_one_it_would_take_and_a_guess_is_told(
    tmp_path: Path, settings: str, words: tuple[str, ...], zone: str, note: str
) -> None:
    found, result = imported(tmp_path, "settings.py", f"{settings}\n{ENTRY.format('')}", *words)
    assert found["x"].timezone == zone
    assert note in result.stdout
    assert note or not any(sign in result.stdout for sign in ("No timezone", "TIME_ZONE", "was not read"))


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


MANIFESTS = """apiVersion: batch/v1
kind: CronJob
metadata: {name: hello}
spec:
  schedule: "*/5 * * * *"
  timeZone: Europe/Paris
  suspend: true
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  jobTemplate:
    spec:
      backoffLimit: 3
      activeDeadlineSeconds: 90
      completions: 1
      template:
        spec:
          containers:
            - name: hello
              image: busybox
              command: ["/bin/sh", -c]
              args: ["date; echo $(A)"]
              workingDir: /srv
              env:
                - {name: A, value: "1"}
                - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
---
kind: List
items:
  - kind: CronJob
    metadata: {name: second}
    spec:
      schedule: CRON_TZ=Asia/Tokyo 0 3 * * *
      concurrencyPolicy: Replace
      jobTemplate: {spec: {template: {spec: {containers: [{image: b, args: [run]}]}}}}
  - kind: CronJob
    metadata: {name: third}
    spec: {schedule: "0 3 31 2 *"}
  - kind: Service
"""


def test_cronjobs_of_kubernetes(tmp_path: Path) -> None:
    found, result = imported(tmp_path, "jobs.yaml", MANIFESTS)
    assert list(found) == ["hello", "second"]
    hello = found["hello"]
    assert (hello.cron, hello.timezone, hello.enabled) == ("*/5 * * * *", "Europe/Paris", False)
    assert (hello.overlap, hello.catch_up_within_s, hello.runs) == ("skip", 200, "command")
    assert hello.retry == {"max_attempts": 4}
    assert hello.data == {
        "command": ["/bin/sh", "-c", "date; echo $(A)"],
        "env": {"A": "1"},
        "cwd": "/srv",
        "timeout_s": 90.0,
    }
    assert "image: busybox, completions: 1" in result.stdout
    assert "env B came from a secret" in result.stdout
    second = found["second"]
    assert (second.cron, second.timezone, second.overlap) == ("0 3 * * *", "Asia/Tokyo", "replace")
    assert "The image's own entrypoint was run" in result.stdout
    assert "left out: CronJob third: 0 3 31 2 *: " in result.stderr


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("0 0 */2 * 1", "0 0 1-31/2 * 1"),
        ("0 0 1 * */3", "0 0 1 * 0-6/3"),
        ("0 0 ?/2 * 1", "0 0 1-31/2 * 1"),
        ("0 0 */2 * *", "0 0 */2 * *"),
        ("0 0 */1 * 1", "0 0 */1 * 1"),
        ("0 0 13 * 5", "0 0 13 * 5"),
        ("0 0 * * 5", "0 0 * * 5"),
        ("@daily", "@daily"),
    ],
)
def test_a_day_of_a_cronjob_matches_as_kubernetes_has_it(tmp_path: Path, there: str, here: str) -> None:
    containers = "{containers: [{image: b, command: [run]}]}"
    job = f"jobTemplate: {{spec: {{template: {{spec: {containers}}}}}}}"
    manifest = f"kind: CronJob\nmetadata: {{name: a}}\nspec: {{schedule: '{there}', {job}}}\n"
    found, result = imported(tmp_path, "job.yaml", manifest)
    assert found["a"].cron == here
    assert ("is no star to Kubernetes" in result.stdout) == (there != here)


CRONJOB = """kind: CronJob
metadata: {name: payroll}
spec:
  schedule: "0 3 * * *"
  suspend: false
  jobTemplate:
    spec:
      backoffLimit: 0
      template: {spec: {containers: [{image: b, command: [run, "1"], env: [{name: A, value: "1"}]}]}}
"""


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        ("suspend: false", "suspend: yes", "suspend: found text; write true or false"),
        ("suspend: false", "suspend: on", "suspend: found text; write true or false"),
        ("suspend: false", 'suspend: "true"', "suspend: found text; write true or false"),
        ("suspend: false", "suspend: 1", "suspend: found a number; write true or false"),
        ("suspend: false", "concurrencyPolicy: forbid", "forbid is none; write Allow, Forbid, Replace"),
        ("suspend: false", "concurrencyPolicy: no", "no is none; write Allow, Forbid, Replace"),
        ("suspend: false", "startingDeadlineSeconds: '9'", "found text; write a whole number"),
        ("backoffLimit: 0", "suspend: yes", "suspend: found text; write true or false"),
        ("backoffLimit: 0", "backoffLimit: true", "found a truth value; write a whole number"),
        ("backoffLimit: 0", "activeDeadlineSeconds: 1.5", "found a number; write a whole number"),
        ('"1"]', "true]", "command: found a truth value; write a text in quotes"),
        ('[run, "1"]', "run", "command: found text; write a list"),
        ('value: "1"', "value: 010", "env A: found a number; write a text in quotes"),
    ],
)
def test_a_cronjob_with_a_value_of_another_kind_is_left_out(
    tmp_path: Path, good: str, bad: str, reason: str
) -> None:
    found, result = imported(tmp_path, "job.yaml", CRONJOB)
    assert (result.exit_code, found["payroll"].enabled, found["payroll"].retry) == (
        0,
        True,
        {"max_attempts": 1},
    )
    found, result = imported(tmp_path, "job.yaml", CRONJOB.replace(good, bad))
    assert (result.exit_code, found) == (1, {})
    assert "left out: CronJob payroll: 0 3 * * *: " in result.stderr
    assert reason in result.stderr


@pytest.mark.parametrize("beside", ["suspend: false", "backoffLimit: 0"])
def test_a_cronjob_that_is_suspended_or_makes_suspended_jobs_is_not_enabled(
    tmp_path: Path, beside: str
) -> None:
    found, result = imported(tmp_path, "job.yaml", CRONJOB.replace(beside, "suspend: true"))
    assert (result.exit_code, found["payroll"].enabled) == (0, False)


def test_a_key_that_is_there_twice_in_a_manifest_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path / "job.yaml", f"---\n{CRONJOB}  schedule: '0 4 * * *'\n")
    assert "job.yaml:11:3: the key 'schedule' is there twice: on line 5 and on line 11" in str(
        result.exception
    )
    assert result.stdout == ""


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


def test_a_comment_in_a_line_of_crontab_with_stdin_ends_before_it(tmp_path: Path) -> None:
    found, _ = imported(tmp_path, "crontab", "* * * * * cat # copy%hi\n", "--format", "crontab")
    data: Any = found["cat"].data
    ran = subprocess.run(["/bin/sh", "-c", data["command"]], capture_output=True, text=True, check=True)
    assert ran.stdout == "hi\n"


@pytest.mark.parametrize(
    ("name", "text", "words", "sentence"),
    [
        ("x.py", "x = 1", (), "no beat_schedule can be read: there is none"),
        ("x.py", "beat_schedule = make()", (), "it is computed, and no code is run here"),
        ("x.py", "beat_schedule = (", (), "this is no Python that can be read"),
        ("x.json", "{", (), "this is no JSON"),
        ("x.yaml", "kind: Job", (), "holds no object of kind: CronJob"),
        ("x.yaml", "a: [", (), "x.yaml:1:"),
        ("x", "1 2 * * * a", ("--tz", "Mars/Base"), "Mars/Base"),
        ("x.py", "beat_schedule = " + "1+" * 20_000 + "1", (), "this is no Python that can be read"),
        ("x", "", ("--format", "at"), "allowed: crontab, system-crontab, celery, kubernetes"),
        ("x.py", "beat_schedule = " + "[" * 5000, (), "this is no Python that can be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, name: str, text: str, words: tuple[str, ...], sentence: str
) -> None:
    result = run(tmp_path / name, text, *words)
    assert result.exit_code != 0
    assert sentence in str(result.exception)
    assert result.stdout == ""


@pytest.mark.parametrize("number", ["1" * 400, "1e999", "-1e999", "0", "-5", "1e15", "10 / 0"])
def test_a_number_that_is_no_interval_is_left_out(tmp_path: Path, number: str) -> None:
    text = f"beat_schedule = {{'x': {{'task': 't', 'schedule': {number}}}, 'y': {{'task': 't', 'schedule': 9, 'args': [{number}]}}}}"
    found, result = imported(tmp_path, "x.py", text)
    assert "left out: entry x: " in result.stderr
    assert "x" not in found


def test_a_value_cannot_become_keys_or_lines_of_the_file(tmp_path: Path) -> None:
    manifest = {
        "kind": "CronJob",
        "metadata": {"name": "a\n: b"},
        "spec": {
            "schedule": "1 2 * * *",
            "timeZone": "UTC",
            "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"command": ["x\n  y: #"]}]}}}},
        },
    }
    found, _ = imported(tmp_path, "x.json", json.dumps(manifest))
    (job,) = found.values()
    assert (job.name, job.data) == ("a-b", {"command": ["x\n  y: #"]})
    found, result = imported(
        tmp_path, "x.json", json.dumps(manifest).replace("UTC", "UTC\\n    enabled: false")
    )
    assert (found, result.exit_code) == ({}, 1)


def test_nothing_is_a_file_without_schedules(tmp_path: Path) -> None:
    found, result = imported(tmp_path, "tab", "# nothing\n")
    assert (found, result.exit_code) == ({}, 0)


def test_the_same_as_json(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path / "tab", "1 2 * * * a\n@reboot b\n", "--json").stdout)
    assert told["schedules"]["a"]["cron"] == "1 2 * * *"
    assert len(told["refused"]) == 1


def test_words_of_the_file_that_comes_out() -> None:
    assert [duration(seconds) for seconds in (1, 90, 5400, 86_400, 200, 0.5, 0)] == [
        "1s", "1m30s", "1h30m", "1d", "3m20s", "0.5s", "0s",
    ]  # fmt: skip
    assert (named("a name/€"), named("€"), named("x" * 200)) == ("a-name", "job", "x" * 100)
    assert quoted("ü\x7f\u2028") == '"ü\\u007f\\u2028"'
