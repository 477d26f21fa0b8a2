"""What measurements say together, on measurements made up for it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcssp.comparison.measuring import in_order, key_of, results_file
from hcssp.comparison.page import (
    compared_seconds,
    comparison_html,
    comparison_summary,
    disagreements,
    gap_over_time,
    markdown_table,
    measurements_csv,
    primal_integral,
    ratio,
    ratio_table,
    spread_table,
)
from hcssp.comparison.solvers import Measurement
from hcssp.reports.plan_text import Style


def made(solver: str, status: str = "optimal", **values: Any) -> Measurement:
    about = {"instance": "house", "domain": "house", "states": 64, "time_limit": 10.0}
    return Measurement(**{**about, "solver": solver, "status": status, **values})


OURS = made(
    "exact", lower_bound=28.0, upper_bound=28.0, randomised=25.0, first=0.1, randomised_seconds=0.2,
    seconds=2.0, cpu_seconds=1.9, trace=((0.1, 20.0, 35.0), (2.0, 28.0, 28.0)),
)  # fmt: skip
MILP = made("milp", "feasible", lower_bound=25.0, upper_bound=30.0, seconds=10.0, note="time limit")
STORM = made("storm", randomised=25.001, randomised_seconds=3.0, seconds=3.0)
LP = made("lp", "failed", note="it broke")
SCIKIT = made("scikit-decide", "missing", note="pip install 'hcssp[peers]'")
ALL = [OURS, MILP, LP, STORM, SCIKIT]


def test_what_agrees_is_not_told() -> None:
    assert disagreements(ALL) == []


@pytest.mark.parametrize(
    ("liar", "told"),
    [
        (
            made("milp", upper_bound=27.0),
            "milp has a plan of 27, but exact says that none",
        ),
        (made("milp", lower_bound=29.0, upper_bound=30.0), "exact has a plan of 28, but milp says"),
        (made("storm", randomised=26.0), "randomised optimum: exact says 25 and storm 26"),
        (
            made("storm", randomised=40.0),
            "but storm says that none costs less than 40",
        ),
        (made("milp", "infeasible", lower_bound=inf), "milp says that there is no plan, but exact has one"),
    ],
)
def test_what_cannot_be_true_together_is_told_first(liar: Measurement, told: str) -> None:
    found = disagreements([OURS, liar])
    assert any(told in each for each in found)
    assert comparison_summary([OURS, liar], Style()).splitlines()[1].startswith("house: ")


def test_a_busy_machine_is_mentioned() -> None:
    waited = replace(OURS, cpu_seconds=0.3 * OURS.seconds)
    assert "busy" not in comparison_summary([OURS], Style()) + comparison_html([OURS], "small")
    for text in (comparison_summary([waited], Style()), comparison_html([waited], "small")):
        assert "The machine was busy: in the median a run had 30% of a processor" in text


def test_a_solver_is_as_precise_as_it_says() -> None:
    assert disagreements([OURS, made("storm", randomised=25.02)]) == []
    assert disagreements([OURS, made("scikit-decide", randomised=25.02)]) != []


def test_each_is_measured_by_its_own_question() -> None:
    assert compared_seconds(OURS) == 2.0
    assert compared_seconds(MILP) is None
    assert compared_seconds(STORM) == 3.0
    near = made("budget-allocation", "feasible", lower_bound=27.99, upper_bound=28.0, seconds=5.0)
    assert compared_seconds(near) == 5.0
    # It was asked for more than that.
    assert compared_seconds(replace(near, solver="budget-allocation:gap=1e-6")) is None


def test_who_answers_roughly_is_compared_with_as_rough_an_answer() -> None:
    trace = ((0.1, 20.0, 35.0), (0.5, 27.98, 28.0), (9.0, 27.999, 28.0))
    slow = made("exact", "feasible", lower_bound=27.999, upper_bound=28.0, seconds=10.0, trace=trace)
    near = made("budget-allocation", "feasible", lower_bound=27.99, upper_bound=28.0, seconds=5.0)
    assert ratio(slow, near) == "10×"
    assert ratio(slow, made("storm-deterministic", "unknown", seconds=10.0)) == "> 20×"
    # Who looks for the last digit is not behind somebody who has not found it.
    assert ratio(slow, made("milp", seconds=5.0)) == "5 s, ours not"
    assert ratio(made("exact", "unknown", trace=((0.1, 20.0, 35.0),)), near) == "5 s, ours not"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (STORM, "15×"),
        (MILP, "> 5×"),
        (SCIKIT, "–"),
        (LP, "failed"),
        (made("milp", "unsupported"), "no"),
        (made("milp", seconds=0.5), "0.25×"),
    ],
)
def test_ratios_in_words(other: Measurement, told: str) -> None:
    assert ratio(OURS, other) == told


def test_where_ours_has_no_answer_there_is_no_ratio() -> None:
    lost = made("exact", "unknown")
    assert ratio(lost, made("milp", seconds=0.5)) == "0.5 s, ours not"
    assert ratio(lost, MILP) == "neither"
    assert ratio_table([lost, MILP])[1][2] == "> 10 s"


def test_the_primal_integral_is_an_average() -> None:
    # No plan for a hundredth of the time, a fifth too dear until a fifth of it, then the best.
    assert primal_integral(OURS, 28.0) == pytest.approx(0.01 * 1.0 + 0.19 * 0.2)
    assert primal_integral(MILP, 28.0) == pytest.approx(1.0)
    assert primal_integral(made("milp", upper_bound=28.0, seconds=5.0), 28.0) == pytest.approx(0.5)
    assert primal_integral(STORM, 28.0) is None
    assert primal_integral(OURS, inf) is None


def test_tables_have_a_line_for_each_problem() -> None:
    lines = markdown_table(ALL).splitlines()
    assert (
        lines[0]
        == "| problem | states | ours, proven | milp | ours, randomised | lp | storm | scikit-decide |"
    )
    assert lines[2] == "| house | 64 | 2 s | > 5× | 0.2 s | failed | 15× | – |"
    rows = list(csv.DictReader(io.StringIO(measurements_csv(ALL))))
    assert [row["solver"] for row in rows] == ["exact", "milp", "lp", "storm", "scikit-decide"]
    assert rows[2]["lower_bound"] == ""
    assert float(rows[0]["primal_integral"]) == pytest.approx(0.048)


def test_a_measurement_survives_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    file = results_file(path)
    for each in ALL:
        file.add(key_of(each), each)
    path.write_text(path.read_text() + '{"cut off')
    again = results_file(path)
    assert again.find(("house", "exact", 10.0)) == OURS
    assert again.find(("house", "milp", 10.0)) == MILP
    assert again.find(("house", "milp", 20.0)) is None
    # What failed, or was missing, is tried again.
    assert again.find(("house", "lp", 10.0)) is None
    assert again.find(("house", "scikit-decide", 10.0)) is None
    again.add(key_of(LP), LP)
    assert path.read_text().endswith("\n")
    assert results_file(path).find(("house", "exact", 10.0)) == OURS


def test_measurements_of_another_version_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps({"hcssp": "0.0.0", **OURS.to_document()}) + "\n")
    assert results_file(path).find(("house", "exact", 10.0)) is None


def test_they_are_told_by_problem_and_solver() -> None:
    second = made("exact", instance="hut")
    assert in_order([STORM, second, OURS], ["exact", "storm"]) == [OURS, STORM, second]


def test_the_page_is_whole() -> None:
    page = comparison_html([made("exact", instance="<script>"), *ALL], "small")
    assert '<script>"' not in page
    assert "\\u003cscript>" in page
    assert "The small suite" in page


def test_repeated_runs_have_medians_and_quartiles() -> None:
    def run(repeat: int, first: float, gap: float) -> Measurement:
        name = "house" if repeat == 1 else f"house #{repeat}"
        trace = ((first, 0.0, 50.0), (first + 1.0, 100.0 * (1.0 - gap), 100.0)) if gap < 1.0 else ()
        bounds = {"lower_bound": 100.0 * (1.0 - gap), "upper_bound": 100.0} if trace else {}
        return made(
            "exact",
            "feasible",
            instance=name,
            first=first if trace else None,
            seconds=10.0,
            trace=trace,
            **bounds,
        )

    runs = [run(1, 1.0, 0.0005), run(2, 2.0, 0.1), run(3, 4.0, 0.2), run(4, 0.0, 1.0), run(5, 3.0, 0.3)]
    _, row = spread_table(runs)
    assert row == [
        "house: exact", "0 of 5", "4 of 5", "3 s (2 s to 4 s)", "> 10 s", "20% (10% to 30%)"
    ]  # fmt: skip
    curve = gap_over_time(runs)
    assert curve[0][1:] == (1.0, 1.0, 1.0)
    assert curve[-1][0] == pytest.approx(10.0)
    assert curve[-1][1:] == pytest.approx((0.1, 0.2, 0.3))
    # The lower bounds of the first steps are 0, so that their gap is 1.
    assert min(time for time, low, _, _ in curve if low < 1.0) == pytest.approx(3.0, rel=0.2)
    assert spread_table(runs[:1]) == []
