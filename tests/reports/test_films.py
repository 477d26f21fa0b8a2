"""The data of the films: the script can make every step of both searches of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import hcssp
from hcssp.contract.progress import MaxIterations
from hcssp.methods.paper import BudgetAllocation
from hcssp.reports.films import films_of
from hcssp.reports.page_data import drawing_data, page_data
from hcssp.scenarios import small_building
from hcssp.solving.lagrangian import lagrangian
from hcssp.solving.solve import solve
from known_optima import roads
from solved_building import solved_building


def unfolded(space: dict[str, Any]) -> list[tuple[list[float], list[float]]]:
    """The limits of every box, as the page's script finds them."""
    boxes: list[tuple[list[float], list[float]]] = []
    for parent, _, *changes in space["boxes"]:
        lower, upper = (space["lower"], space["upper"]) if parent is None else boxes[parent]
        sides = [list(lower), list(upper)]
        for axis, side, value in zip(changes[0::3], changes[1::3], changes[2::3], strict=True):
            sides[side][axis] = value
        boxes.append((sides[0], sides[1]))
    return boxes


@pytest.mark.parametrize("mode", ["published", "sharp"])
def test_every_box_of_the_search_is_in_the_film(mode: Any) -> None:
    plan = solve(small_building(3.0), BudgetAllocation(mode=mode), MaxIterations(60))
    written, space = films_of(plan)["allocation"], plan.allocation
    assert space is not None
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert [tuple(axis) for axis in written["axes"]] == list(space.axes)
    found = unfolded(written)
    assert len(found) == len(space.boxes) == written["count"]
    for (lower, upper), box, each in zip(found, space.boxes, written["boxes"], strict=True):
        np.testing.assert_allclose(lower, box.lower, rtol=1e-8)
        np.testing.assert_allclose(upper, box.upper, rtol=1e-8)
        assert each[1] == pytest.approx(box.bound) if np.isfinite(box.bound) else each[1] is None
    # At every instant the incumbent is the one of then, and the earlier states of the space are there.
    for count, cost, _, usage in written["incumbents"]:
        then = space.at(count)
        assert then.count == count
        assert then.incumbents[-1].cost == pytest.approx(cost)
        np.testing.assert_allclose(usage, then.usage, rtol=1e-8)
    assert [each[1] for each in written["incumbents"]] == sorted(
        (each[1] for each in written["incumbents"]), reverse=True
    )
    assert space.at(1).state_of() == ["open"]


def test_a_plan_of_another_method_has_both_films_too() -> None:
    plan = solved_building()
    films = films_of(plan)
    whole, *alone = films["lagrangians"]
    expected = lagrangian(plan.problem)
    assert whole["lines"] == [
        [pytest.approx(each.cost), pytest.approx(each.use), each.feasible] for each in expected.lines
    ]
    assert [step[1] for step in whole["steps"]] == [step.rank for step in expected.steps]
    assert {each["name"] for each in alone} <= {each.name for each in plan.as_procedure().problem.activities}
    assert len(alone) == 4
    assert films["allocation"]["boxes"][0][0] is None
    assert page_data(plan, films=films)["films"] == films


def test_there_is_no_film_without_a_bound_or_time_or_plan() -> None:
    assert films_of(solve(small_building(np.inf))) == {}
    assert films_of(solved_building(), time_limit=0.0) == {}
    assert page_data(solved_building())["films"] == drawing_data(small_building(2.0))["films"] == {}
    rewarded = hcssp.maximise(roads(damage=4.0), {roads(damage=4.0).cost_names[0]: -1.0})
    assert films_of(solve(rewarded)) == {}
    # A single problem has a dual and no budgets to share.
    assert set(films_of(solve(roads(damage=4.0)))) == {"lagrangians"}
