from __future__ import annotations

import numpy as np
import pytest

from hcssp.reports.curve import draw_trade_off
from hcssp.scenarios import small_building
from hcssp.solving.trade_off import trade_off


def test_the_picture_shows_the_figures() -> None:
    curve = trade_off(small_building(), "damage", [0.5, 1.0, 2.0, 4.0], gap=1e-3)
    figure = draw_trade_off(curve, "time")
    costs, prices = figure.axes
    assert costs.get_xlabel() == "bound on the expected damage"
    assert costs.get_ylabel() == "least expected time"
    (line,) = [line for line in costs.lines if "draw lots" in str(line.get_label())]
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
