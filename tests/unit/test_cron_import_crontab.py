"""Crontabs of users and of the system: which form one has, and what its lines and variables become."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from oncue.cli.crontab import name_of
from oncue.cli.crontabform import is_system
from oncue.common.errors import BadInput
from tests.support.importing import imported, run

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


@pytest.mark.parametrize("minutes", ["1441", "²", "1" * 5000, ""])
def test_a_delay_that_no_schedule_can_have_is_told_and_the_jobs_kept(tmp_path: Path, minutes: str) -> None:
    text = f"RANDOM_DELAY=5\n1 * * * * ./a\nRANDOM_DELAY={minutes}\n2 * * * * ./b\n"
    found, result = imported(tmp_path, "tab", text)
    assert [job.jitter_s for job in found.values()] == [300, 0]
    assert "line 3: RANDOM_DELAY=" in result.stdout


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


def test_a_comment_in_a_line_of_crontab_with_stdin_ends_before_it(tmp_path: Path) -> None:
    found, _ = imported(tmp_path, "crontab", "* * * * * cat # copy%hi\n", "--format", "crontab")
    data: Any = found["cat"].data
    ran = subprocess.run(["/bin/sh", "-c", data["command"]], capture_output=True, text=True, check=True)
    assert ran.stdout == "hi\n"
