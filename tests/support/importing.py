"""`oncue cron import` on files of other schedulers."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from oncue.cli.cron import cron
from oncue.common.config import load
from oncue.common.configtypes import ScheduleConfig
from tests.support.faults import check


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
