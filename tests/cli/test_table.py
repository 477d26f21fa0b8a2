from __future__ import annotations

import json

import pytest

from hcssp.cli import main
from hcssp.cli.table import wanted_rows
from hcssp.cli.table_rows import TableRow, row_document
from hcssp.cli.table_text import footnotes, header, row_text
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Interval
from hcssp.contract.trace import Trace, TracePoint
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.scenarios import small_building
from hcssp.scenarios.published import PUBLISHED

INF = float("inf")


def result(seconds: float = 0.0, optimum: float | None = None, trace: tuple[TracePoint, ...] = ()) -> Plan:
    import numpy as np

    stochastic = None
    if optimum is not None:
        stochastic = StochasticOptimum(optimum, np.ones(1), (), np.ones((1, 2)))
    last = trace[-1] if trace else TracePoint(0.0, -INF, INF)
    return Plan(
        small_building(),
        proof=Interval(last.lower_bound, last.upper_bound),
        seconds=seconds,
        stochastic=stochastic,
        trace=Trace(trace),
    )


@pytest.fixture
def row() -> TableRow:
    budgets = (TracePoint(1.0, 90.0, INF), TracePoint(15.0, 95.0, 102.0), TracePoint(40.0, 96.0, 101.0))
    return TableRow(
        published=PUBLISHED[3],
        exact=result(2.0, 100.0, (TracePoint(1.0, 100.40009, 100.49991),)),
        baseline=result(100.0, 100.0),
        budgets=result(50.0, None, budgets),
    )


def test_the_gaps_are_read_off_the_trace(row: TableRow) -> None:
    assert row.gap_after(0.1) is None
    assert row.gap_after(0.2) == pytest.approx((0.02, 15.0))
    assert row.gap_after(0.5) == pytest.approx((0.01, 40.0))
    assert row.proven_gap_after(0.1) == INF
    assert row.proven_gap_after(0.5) == pytest.approx(5.0 / 101.0)


def test_a_row_for_people(row: TableRow) -> None:
    assert row_text(row).split() == [
        *("2", "|", "144.70", "127.31", "-", "0.35%", "0.35%", "|", "100.0", "100.0000", "|"),
        *("100.4000-100.5000", "2.00", "|", "-", "2.00%", "1.00%"),
    ]
    lines = [*header().splitlines(), row_text(row)]
    bars = [[index for index, letter in enumerate(line) if letter == "|"] for line in lines]
    assert bars[0] == bars[1] == bars[2]
    assert "since no MILP solver here finishes" in footnotes([row]).replace("\n ", "")


def test_a_row_for_programs(row: TableRow) -> None:
    document = json.loads(json.dumps(row_document(row), allow_nan=False))
    assert document["at_most"] == 2.0
    assert document["published"]["milp_objective"] == 144.70
    assert document["published"]["method"][0] == {"share": 0.1, "gap": None, "seconds": None}
    assert document["stochastic_optimum"] == 100.0
    assert document["budget_allocation"][0]["gap"] is None
    assert document["budget_allocation"][0]["proven_gap"] is None
    assert document["budget_allocation"][2]["gap"] == pytest.approx(0.01)


def test_a_baseline_that_does_not_finish_is_marked(row: TableRow) -> None:
    late = TableRow(row.published, row.exact, result(60.0), row.budgets)
    assert ">60.0" in row_text(late)
    assert late.stochastic == 100.0
    assert "did not finish" in footnotes([late])
    assert "did not finish" not in footnotes([row])


def test_all_seven_bounds_unless_said_otherwise() -> None:
    assert [row.bound for row in wanted_rows(None)] == [0.01, 0.1, 1.0, 2.0, 5.0, 8.0, 10.0]
    known, unknown = wanted_rows([5.0, 3.0, 5.0])
    assert known.objective == 143.48
    assert unknown.gaps == (None, None, None)


def test_a_small_table_from_end_to_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same command on a problem that takes no minutes.
    monkeypatch.setattr("hcssp.cli.table.PROBLEM", "small-building")
    assert main(["table", "--bounds", "2", "1.5", "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["baseline"] == "HiGHS on the linear program of the flattened problem"
    first, second = document["rows"]
    assert first["stochastic_optimum"] == pytest.approx(25.3538722, abs=1e-5)
    assert first["deterministic"]["upper_bound"] == pytest.approx(27.7191165, abs=1e-5)
    assert second["deterministic"]["upper_bound"] > first["deterministic"]["upper_bound"]
    assert second["published"]["milp_objective"] is None
    assert main(["table", "--bounds", "2", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "27.7191-27.7192" in printed
    assert "Baseline: HiGHS" in printed
    assert small_building().num_constraints == 1
