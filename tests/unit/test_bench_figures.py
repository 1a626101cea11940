"""The benchmark's numbers are what their columns say."""

from __future__ import annotations

import pytest

from bench.figures import Cell, Figure, percentile, ratio, table
from bench.tables import markdown

LOW, HIGH, SIGNED = (
    Figure("p50", "ms", "..."),
    Figure("rate", "/s", "...", "higher"),
    Figure("min", "ms", "...", ""),
)


@pytest.mark.parametrize(
    ("share", "found"), [(0.25, 50), (0.5, 100), (0.95, 190), (0.99, 198), (0.991, 199), (1, 200), (0, 1)]
)
def test_a_percentile_is_the_nearest_rank(share: float, found: int) -> None:
    assert percentile([float(value) for value in range(200, 0, -1)], share) == found


def test_a_rank_is_not_pushed_up_by_the_last_bit_of_a_double() -> None:
    assert 0.07 * 100 > 7
    assert percentile([float(value) for value in range(1, 101)], 0.07) == 7


@pytest.mark.parametrize(
    ("cell", "base", "shown"),
    [
        (3, 2, "1.5x"),
        (1000, 2, "500x"),
        (0, 2, "0x"),
        (2, 0, ""),
        (-263, 0.5, ""),
        (2, -1, ""),
        ("none", 1, ""),
    ],
)
def test_a_ratio_is_shown_where_it_means_something(cell: Cell, base: Cell, shown: str) -> None:
    assert ratio(LOW, cell, base) == shown


def test_a_number_that_may_be_negative_has_no_ratio_at_all() -> None:
    assert ratio(SIGNED, 6, 0.5) == ""


def test_a_table_says_which_way_is_better() -> None:
    head = table([LOW, HIGH, SIGNED], {"oncue": {"p50": 1}}).splitlines()[0]
    assert head.split() == ["p50", "↓", "[ms]", "rate", "↑", "[/s]", "min", "[ms]"]


def test_a_file_of_an_earlier_benchmark_still_becomes_a_table() -> None:
    figure = {"name": "p50", "unit": "ms", "means": "half of them", "better": "lower"}
    rows = {"oncue": {"p50": 2}, "other": {"p50": 4}}
    assert markdown({"figures": [figure], "rows": rows}).splitlines()[:4] == [
        "| | p50 ↓, ms |",
        "|---|---|",
        "| oncue | 2 |",
        "| other | 4 (2x) |",
    ]
