"""What a program gives as a schedule's settings is refused by the name of the setting, in words of Python."""

from typing import Any

import pytest

from oncue.common.configkeys import SCHEDULE
from oncue.common.errors import BadInput
from oncue.common.givenschedule import schedule_of, unknown_setting
from oncue.common.work import read_work
from oncue.scheduler.definition import checked

USUAL: dict[str, Any] = {"name": "x", "cron": None, "timezone": "UTC", "queue": "q", "data": None}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"cron": 5}, "cron: found 5; allowed: a text or None"),
        ({"every_s": "5m"}, "every_s: found '5m'; allowed: a number or None; did you mean every_s=300?"),
        ({"exclude": [5]}, "exclude: found [5]; allowed in it: a text"),
        ({"retry": {5: 6}}, "retry: found {5: 6}; allowed in it: a text"),
        ({"from_end": "end"}, "from_end: found 'end'; allowed: True or False"),
        ({"catch_up": "al"}, "catch_up: found 'al'; allowed: latest, all, skip"),
        ({"overlap": None}, "overlap: found None; allowed: skip, queue, allow, replace"),
    ],
)
def test_a_setting_of_a_wrong_kind_is_refused_in_plain_words(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        schedule_of(USUAL | settings)
    assert str(refused.value) == f"schedule x: {sentence}"


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("every", "5m", "every_s=300"),
        ("every", "1.5h", "every_s=5400"),
        ("jitter", 30, "jitter_s=30"),
        ("tz", "UTC", "timezone"),
        ("quue", "q", "queue"),
    ],
)
def test_a_setting_by_another_name_is_refused_with_its_own(key: str, value: object, meant: str) -> None:
    refused = unknown_setting(key, value, ("every_s", "jitter_s", "timezone", "queue"))
    assert f"{key!r} is no setting of a schedule; did you mean {meant}? allowed: every_s, " in str(refused)


def test_what_describes_a_command_is_refused_in_plain_words_and_not_shown() -> None:
    with pytest.raises(BadInput) as refused:
        read_work("command", {"command": ["x"], "env": {"TOKEN": 4711}})
    assert str(refused.value) == "its data does not describe a command: env: allowed in it: a text or a dict"


def test_the_file_and_a_program_have_one_bound_of_what_is_made_up_for() -> None:
    most = 10_000
    assert SCHEDULE["catch_up_max"].take(most) == most
    assert checked(schedule_of(USUAL | {"cron": "@daily", "catch_up": "all", "catch_up_max": most}))
    with pytest.raises(BadInput, match="allowed: 1 to 10000"):
        checked(schedule_of(USUAL | {"cron": "@daily", "catch_up": "all", "catch_up_max": most + 1}))
