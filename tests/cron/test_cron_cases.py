"""The cases of cases.yaml: expected ticks that an independent brute force computed, and expressions to refuse."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from oncue.common.cron import Cron
from oncue.common.errors import CronError

CASES: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).with_name("cases.yaml"))["cases"]
# A document that is no YAML has no expression; reading files is tested where files are read.
EXPRESSIONS = [case for case in CASES if "expr" in case]
BROKEN_DOCUMENTS = [case for case in CASES if "expr" not in case]


def by_id(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


def test_all_cases_are_here() -> None:
    assert len(CASES) == 165
    assert len({case["id"] for case in CASES}) == 165


@pytest.mark.parametrize("case", by_id([case for case in EXPRESSIONS if "next" in case]))
def test_the_five_ticks_after_the_start_are_those_expected(case: dict[str, Any]) -> None:
    start = datetime.fromisoformat(case["start"])
    ticks = Cron(case["expr"], case["tz"]).after(start, 5)
    assert [tick.strftime("%Y-%m-%dT%H:%M:%SZ") for tick in ticks] == case["next"]


@pytest.mark.parametrize("case", by_id([case for case in EXPRESSIONS if "error" in case]))
def test_the_expression_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(CronError) as refused:
        Cron(case["expr"], case["tz"])
    # A date becomes a text under YAML 1.2, and is refused for its fields instead of its type.
    became_text = case["error"] == "type" and isinstance(case["expr"], str)
    assert refused.value.code == ("field-count" if became_text else case["error"])


@pytest.mark.parametrize("case", by_id(BROKEN_DOCUMENTS))
def test_what_an_unquoted_star_meant_is_read_once_it_is_quoted(case: dict[str, Any]) -> None:
    expr = case["yaml"].removeprefix("cron: ").rstrip("\n")
    assert Cron(expr, case["tz"]).after_ms(0) is not None
