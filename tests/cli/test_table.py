from __future__ import annotations

import json
from itertools import islice

import pytest

from hcssp.cli import main
from hcssp.cli.table import wanted_rows
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Interval, Trace, TracePoint
from hcssp.dual.ascent import StochasticOptimum
from hcssp.methods.paper import MODES
from hcssp.reports.paper_table import (
    AuthorsPlan,
    TableRow,
    as_the_authors_ran,
    footnotes,
    header,
    row_document,
    row_text,
)
from hcssp.scenarios import evacuation, small_building
from hcssp.scenarios.domains.evacuation import PUBLISHED, PublishedRow
from hcssp.solving.solve import solve
from volume import some

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
    sharp = (TracePoint(1.0, 90.0, INF), TracePoint(15.0, 95.0, 102.0), TracePoint(40.0, 96.0, 101.0))
    published = (TracePoint(1.0, 80.0, INF), TracePoint(45.0, 85.0, 112.0))
    return TableRow(
        published=PUBLISHED[3],
        exact=result(2.0, 100.0, (TracePoint(1.0, 100.40009, 100.49991),)),
        baseline=result(100.0, 100.0),
        budgets={"published": result(50.0, None, published), "sharp": result(50.0, None, sharp)},
        authors=(AuthorsPlan(200.0, 14), AuthorsPlan(160.0, 15)),
    )


def test_the_gaps_are_read_off_the_trace(row: TableRow) -> None:
    assert row.gap_after("sharp", 0.1) is None
    assert row.gap_after("sharp", 0.2) == pytest.approx((2.0 / 102.0, 15.0, 7.0 / 102.0))
    assert row.gap_after("sharp", 0.5) == pytest.approx((1.0 / 101.0, 40.0, 5.0 / 101.0))
    assert row.gap_after("published", 0.2) is None
    assert row.gap_after("published", 0.5) == pytest.approx((12.0 / 112.0, 45.0, 27.0 / 112.0))


def test_a_row_for_people(row: TableRow) -> None:
    assert row_text(row).split() == [
        *("2", "|", "144.70", "127.31", "-", "0.35%", "0.35%", "|"),
        *("50.00%", "14", "37.50%", "15", "|", "100.0", "100.0000", "|"),
        *("100.4000-100.5000", "2.00", "|", "-", "-", "10.71%", "|", "-", "1.96%", "0.99%"),
    ]
    lines = [*header(MODES).splitlines(), row_text(row)]
    bars = [[index for index, letter in enumerate(line) if letter == "|"] for line in lines]
    assert bars[0] == bars[1] == bars[2]
    assert len(bars[0]) == 6
    assert "since no MILP solver here finishes" in footnotes([row], MODES).replace("\n ", "")
    assert [title.strip() for title in lines[0].split("|")] == [
        *("", "the paper", "as the authors ran it", "here: baseline", "exact", "published", "sharp")
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_table_of_one_mode(row: TableRow, mode: str) -> None:
    alone = TableRow(row.published, row.exact, row.baseline, {mode: row.budgets[mode]})
    (other,) = set(MODES) - {mode}
    assert header([mode]).splitlines()[0].endswith(mode)
    assert other not in header([mode])
    assert row_text(alone).count("|") == 5
    notes = footnotes([alone], [mode])
    assert f"{mode.capitalize()}: budget allocation" in notes
    assert f"{other.capitalize()}: budget allocation" not in notes
    assert list(row_document(alone)["budget_allocation"]) == [mode]


def test_a_row_for_programs(row: TableRow) -> None:
    document = json.loads(json.dumps(row_document(row), allow_nan=False))
    assert document["at_most"] == 2.0
    assert document["published"]["milp_objective"] == 144.70
    assert document["published"]["method"][0] == {"share": 0.1, "gap": None, "seconds": None}
    assert document["stochastic_optimum"] == 100.0
    budgets = document["budget_allocation"]
    assert list(budgets) == list(MODES)
    assert budgets["sharp"][0]["gap"] is None
    assert budgets["sharp"][0]["proven_gap"] is None
    assert budgets["sharp"][2]["gap"] == pytest.approx(1.0 / 101.0)
    assert budgets["published"][2] == {
        "share": 0.5,
        "gap": pytest.approx(12.0 / 112.0),
        "seconds": 45.0,
        "proven_gap": pytest.approx(27.0 / 112.0),
    }


@pytest.mark.parametrize("published", some(PUBLISHED[::-1]), ids=lambda row: f"{row.bound:g}")
def test_the_authors_program_run_again_gives_the_published_gaps(published: PublishedRow) -> None:
    boxes = as_the_authors_ran(evacuation(published.bound))
    # The 24th planning is that of box 512; the published plans were found by then.
    plans = [plan for plan in islice(boxes, 513) if plan is not None]
    dual = solve(evacuation(published.bound), stop=[lambda progress: progress.stochastic and "dual"])
    row = TableRow(published, dual, result(), {}, tuple(plans))
    gaps = {f"{row.authors_gap(plan):.2%}" for plan in plans}
    assert {f"{found.gap:.2%}" for found in published.gaps if found is not None} <= gaps
    assert plans[0].plannings == 14


def test_a_baseline_that_does_not_finish_is_marked(row: TableRow) -> None:
    late = TableRow(row.published, row.exact, result(60.0), row.budgets)
    assert ">60.0" in row_text(late)
    assert late.stochastic == 100.0
    assert "did not finish" in footnotes([late], MODES)
    assert "did not finish" not in footnotes([row], MODES)


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
    assert main(["table", "--bound", "damage=2,1.5", "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["baseline"] == "HiGHS on the linear program of the flattened problem"
    first, second = document["rows"]
    assert first["stochastic_optimum"] == pytest.approx(25.3538722, abs=1e-5)
    assert first["deterministic"]["upper_bound"] == pytest.approx(27.7191165, abs=1e-5)
    assert second["deterministic"]["upper_bound"] > first["deterministic"]["upper_bound"]
    assert second["published"]["milp_objective"] is None
    assert list(first["budget_allocation"]) == list(MODES)
    assert main(["table", "--bound", "damage=2", "--mode", "sharp", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "27.7191-27.7192" in printed
    assert "Baseline: HiGHS" in printed
    assert "Published: " not in printed
    assert small_building().num_constraints == 1


def test_an_unknown_mode_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "--mode", "sharp", "--mode", "shiny"]) == 2
    printed = capsys.readouterr()
    assert "there is no mode 'shiny'" in printed.err
    assert printed.out == ""
