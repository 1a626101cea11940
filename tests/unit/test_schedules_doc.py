"""The examples of docs/schedules.md can be used as they stand there."""

import re
from pathlib import Path

import pytest

from oncue.common.config import load
from oncue.common.rule import Rule
from tests.support.faults import check

PAGE = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text(encoding="utf-8")
FILES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
NOW = 1_790_000_000_000  # September 2026


@pytest.mark.parametrize("text", FILES)
def test_an_example_is_a_file_without_faults_whose_schedules_run(text: str, tmp_path: Path) -> None:
    path = tmp_path / "oncue.yaml"
    path.write_text(text, encoding="utf-8")
    assert check(str(path)) == []
    schedules = load(str(path), {}, {}).schedules
    assert schedules
    for schedule in schedules.values():
        rule = Rule(schedule.name, schedule.timing)
        assert rule.explain()
        assert rule.next_after(NOW) is not None or not schedule.enabled


def test_the_python_of_the_page_runs() -> None:
    # What needs a server is tried in tests/integration/test_ticks.py.
    (code,) = [text for text in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "redis://" not in text]
    names: dict[str, object] = {}
    exec(compile(code, "docs/schedules.md", "exec"), names)  # noqa: S102 - our own page
    assert "oncue" in names
