from __future__ import annotations

import numpy as np
import pytest

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.reports.charts import (
    draw_histograms,
    draw_history,
    draw_trade_off,
    histogram,
    look_ahead,
)
from hcssp.reports.page_data import outlook_data
from hcssp.scenarios import small_building
from hcssp.solving.trade_off import trade_off
from solved_building import solved_building

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def solved() -> ProcedurePlan:
    return solved_building().as_procedure()


def test_the_history_ends_with_the_proven_interval(solved: ProcedurePlan) -> None:
    (axes,) = draw_history(solved).get_axes()
    upper, lower = (line.get_ydata() for line in axes.get_lines())
    assert (lower[-1], upper[-1]) == pytest.approx((solved.lower_bound, solved.upper_bound), rel=1e-9)
    assert np.all(np.diff(lower) >= 0.0)
    assert np.all(np.diff(upper) <= 0.0)
    assert axes.get_ylabel() == "expected time"


def test_a_history_of_nothing_says_so() -> None:
    (axes,) = draw_history(Plan(small_building())).get_axes()
    assert [text.get_text() for text in axes.texts] == ["nothing was proven"]


def test_the_histograms_count_every_run_and_mark_those_above_the_bound(solved: ProcedurePlan) -> None:
    outlook = look_ahead(solved, runs=400, seed=1)
    time, damage = draw_histograms(outlook).get_axes()
    for axes in (time, damage):
        assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(100.0)
    above = sum(bar.get_height() for bar in damage.patches if "\\" in bar.get_hatch())
    assert above == pytest.approx(100.0 * outlook.probability_of_exceeding("damage").value)


def test_the_outlook_agrees_with_the_exact_means(solved: ProcedurePlan) -> None:
    outlook = look_ahead(solved, runs=4000, seed=2)
    data = outlook_data(outlook)
    assert (data["runs"], data["unfinished"]) == (4000, 0)
    for cost in data["costs"]:
        mean, _, high = cost["mean"]
        assert abs(mean - solved.costs.cost(cost["name"])) < 2.0 * (high - mean)
        assert sum(cost["counts"]) == 4000
        assert cost["percentiles"] == sorted(cost["percentiles"])
    assert [cost["exceeding"] is None for cost in data["costs"]] == [True, False]


@pytest.mark.parametrize("values", [[3.0], [0.0, 0.3, 0.31], list(range(100)), [0.0, 1e6, 1e6 + 1]])
def test_a_histogram_counts_everything_once(values: list[float]) -> None:
    edges, counts, _ = histogram(np.array(values, dtype=float))
    assert counts.sum() == len(values)
    assert len(edges) == len(counts) + 1


def test_the_picture_shows_the_figures() -> None:
    curve = trade_off(small_building(), "damage", [2.0, 3.0, 4.0, 8.0], gap=1e-3)
    figure = draw_trade_off(curve)
    costs, prices = figure.axes
    assert costs.get_xlabel() == "bound on the expected damage"
    assert costs.get_ylabel() == "least expected time"
    (line,) = [line for line in costs.lines if "randomised" in str(line.get_label())]
    assert np.array_equal(line.get_xydata(), curve.breakpoints)
    (steps,) = prices.lines
    assert steps.get_ydata().max() == curve.prices.max()
    labels = [text.get_text() for text in costs.get_legend().get_texts()]
    assert len(labels) == 4
    # The shaded steps go from the lower bound of the next point to the upper bound of the last.
    (shade,) = [each for each in costs.collections if str(each.get_label()).startswith("...")]
    corners = shade.get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(curve.points[-1].lower_bound)
    assert corners[:, 1].max() == pytest.approx(curve.points[0].upper_bound)
    figure.canvas.draw()


@pytest.mark.parametrize("points", [[2.0], [-2.0, -1.0], [-1.0, 2.0]])
def test_few_points_are_drawn_too(points: list[float]) -> None:
    figure = draw_trade_off(trade_off(small_building(), "damage", points, gap=1e-3))
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.axes[0].texts]
    if points[0] < 0:
        assert any("no plan" in text for text in texts)
