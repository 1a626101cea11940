"""Long excluded stretches: a schedule passes them in a few questions, and one that has nothing left is refused."""

from datetime import date, timedelta
from typing import Any

import pytest

from oncue.common.cron import Cron
from oncue.common.errors import CronError
from tests.cron.timings import at, next_ticks, rule


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The instants after which an expression was asked for its next tick, exclusions left aside."""
    asked: list[int] = []
    following = Cron.after_ms

    def counted(cron: Cron, instant_ms: int) -> int | None:
        asked.append(instant_ms)
        return following(cron, instant_ms)

    monkeypatch.setattr(Cron, "after_ms", counted)
    return asked


TEN_YEARS = tuple(str(date(2027, 1, 1) + timedelta(days=number)) for number in range(3653))


@pytest.mark.parametrize(
    ("timing", "expected", "most"),
    [
        ({"cron": "0 9 * * *"}, ["2037-01-01T09:00:00", "2037-01-02T09:00:00"], 5),
        # The tick of the excluded Wednesday before, and of the 400 days before that, comes out on Thursday at once.
        ({"cron": "0 9,10 * * wed,thu", "on_excluded": "next_workday"},
         ["2037-01-01T09:00:00", "2037-01-01T10:00:00"], 300),
        ({"cron": "0 * * * *", "on_excluded": "next_workday"},
         ["2037-01-01T00:00:00", "2037-01-01T01:00:00"], 10_500),
        # Those of the next 400 days moved back to the last day of 2026, before now.
        ({"cron": "0 8 * * *", "on_excluded": "previous_workday"},
         ["2037-01-01T08:00:00", "2037-01-02T08:00:00"], 500),
        ({"cron": "0 7 * * mon", "on_excluded": "previous_workday"},
         ["2037-01-05T07:00:00", "2037-01-12T07:00:00"], 100),
    ],
)  # fmt: skip
@pytest.mark.parametrize("exclude", [("2027-01-01/2036-12-30", "2036-12-31"), TEN_YEARS, ("shut",)])
def test_ten_excluded_years_are_passed_in_one_jump(
    timing: dict[str, Any], expected: list[str], most: int, exclude: tuple[str, ...], questions: list[int]
) -> None:
    made = rule(**timing, exclude=exclude, calendars={"shut": TEN_YEARS} if exclude == ("shut",) else {})
    questions.clear()
    assert next_ticks(made, "2026-12-31T23:30", 2) == expected
    assert len(questions) <= most
    questions.clear()
    made.latest_up_to(at("2036-12-01T00:00:00+00:00"), at("2026-12-31T23:30:00+00:00"))
    assert len(questions) <= 1_000


@pytest.mark.parametrize("on_excluded", ["skip", "next_workday", "previous_workday"])
@pytest.mark.parametrize("cron", ["0 * * * *", "0 9 * * mon", "0 9 29 2 *"])
@pytest.mark.parametrize(
    "exclude", [("* * * * *",), ("1970-01-01/9999-12-31",), ("* * * * 1-5", "* * * * 6,0"), ("* * 1-31 * *",)]
)
def test_what_excludes_all_is_refused_and_not_searched_for_ever(
    cron: str, on_excluded: str, exclude: tuple[str, ...], questions: list[int]
) -> None:
    with pytest.raises(CronError, match="exclude: no tick is left: all are excluded"):
        rule(cron=cron, exclude=exclude, on_excluded=on_excluded)
    assert len(questions) <= 20_000


def test_where_workdays_never_come_what_is_excluded_is_left_out() -> None:
    for on_excluded in ("next_workday", "previous_workday"):
        made = rule(cron="0 9 * * *", exclude=("* * * * 1-5",), on_excluded=on_excluded)
        days = ["2026-12-05", "2026-12-06", "2026-12-12"]
        assert next_ticks(made, "2026-11-30T12:00", 3) == [f"{day}T09:00:00" for day in days]
