"""What a peer, its client or the machine does wrong is told in a cell, and no cell says more than was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from bench import __main__ as program
from bench import burst, drain, lateness, memory
from bench.environment import Place
from bench.figures import Cells, Figure
from bench.plan import Plan
from bench.run import is_complete, rows
from bench.traces import Count


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """One peer that is there and one that is not."""
    return Plan(
        ["huey", "bullmq"],
        tmp_path,
        places={"huey": Place("huey", (), {})},
        left_out={"bullmq": "npm is not installed"},
    )


def experiment(measure: Callable[[Plan, str], Cells], **more: Any) -> ModuleType:
    found = SimpleNamespace(FIGURES=[Figure("speed", "m/s", "...")], measure=measure, **more)
    return cast("ModuleType", found)


def complete(found: dict[str, Cells]) -> bool:
    return is_complete({"experiments": {"one": {"rows": found}}})


@pytest.mark.parametrize("at_once", [True, False])
def test_a_peer_that_was_left_out_has_a_row_that_says_why(plan: Plan, at_once: bool) -> None:
    found = rows(plan, experiment(lambda *_: {"speed": 1}, AT_ONCE=at_once))
    assert found == {"huey": {"speed": 1}, "bullmq": {"speed": "left out: npm is not installed"}}
    assert not complete(found)
    assert complete({"huey": found["huey"]})


def test_an_experiment_of_oncue_alone_says_so_when_oncue_is_not_asked_for(plan: Plan) -> None:
    found = rows(plan, experiment(lambda *_: {}, measure_all=lambda *_: {}))
    assert found == {"oncue": {"speed": "left out: not among the peers"}}


@pytest.mark.parametrize(
    "fault", [AssertionError("no client"), ZeroDivisionError("division by zero"), OSError(5)]
)
def test_any_fault_of_a_measurement_is_told_in_its_row(plan: Plan, fault: Exception) -> None:
    def measure(*_: object) -> Cells:
        raise fault

    found = rows(plan, experiment(measure))
    assert found["huey"] == {"speed": f"failed: {type(fault).__name__}: {fault}"}
    assert not complete(found)


class Pretended:
    """A session whose client fills with as many tasks as it is told to, and whose tasks never or always run."""

    about: dict[str, Any] = {"worker": ["work"], "cannot": {}}  # noqa: RUF012

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def ask(self, do: str, **_: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._answers.get(do, {})
        return found

    def __getattr__(self, name: str) -> Any:
        return self._answers.get(name, lambda *_, **__: None)


def pretending(plan: Plan, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> Plan:
    @contextmanager
    def session(*_: object) -> Iterator[Pretended]:
        yield Pretended(**answers)

    monkeypatch.setattr(plan, "session", session)
    return plan


def test_a_cell_of_a_million_fails_when_there_were_fewer(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    server = SimpleNamespace(used_bytes=lambda: 1000)
    pretending(plan, monkeypatch, fill={"number": 700_000, "seconds": 9.0}, server=server)
    assert memory._million(plan, "oncue") == "failed: 700,000 tasks in 90 s"
    ready, stall = burst._ready(plan, "oncue", 1_000_000, 1e-9)
    assert ready == stall == "failed: 700,000 of 1,000,000 tasks in time"


def test_tasks_that_never_started_are_counted(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    pretending(plan, monkeypatch, starts=lambda: dict.fromkeys(range(150), 0.0))
    assert lateness.measure(plan, "huey")["not started"] == 50


def test_commands_are_divided_by_the_tasks_that_had_run_when_they_were_counted(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([Count(200, 1.0, 2.0)])
    commands = iter([{"get": 0}, {"get": 1000}])
    pretending(
        plan,
        monkeypatch,
        fill={"number": 1000},
        server=SimpleNamespace(commands=lambda: next(commands)),
        drain=lambda *_: Count(101, 1.0, 1.5),
        count=lambda: next(counts),
    )
    assert drain._rate(plan, "huey", 1, "worker") == (200.0, 5.0)


def test_a_run_without_one_of_its_peers_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    monkeypatch.setattr(program, "_draw", lambda path, _: drawn.append(path))
    run = tmp_path / "run"
    run.write_text("{}")
    program._publish(run, {"date": "2026-12-01", "peers": {"bullmq": {"left_out": "npm is not installed"}}})
    assert not drawn
    program._publish(run, {"date": "2026-12-01", "peers": {"bullmq": {}}})
    assert drawn == [tmp_path / "2026-12-01.json"]
    assert drawn[0].read_text() == "{}"
