"""A planner of an activity with doors tells the best plan at any weights, or one that is good enough."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.dual.door_planner import DoorPlanner
from hcssp.dual.doors_oracle import DoorsOracle
from hcssp.procedure import Outcome, ProcedureBuilder

COSTS = np.array([[4.0, 0.0], [1.0, 3.5], [2.0, 2.0]])
"""Time and damage of three ways."""

NOWHERE: frozenset[int] = frozenset()
NOTHING_AFTER = np.zeros(1)


@pytest.fixture
def planner() -> DoorPlanner:
    ride = CSSPBuilder(cost_names=("time", "damage"))
    inside, outside = ride.add_state("inside"), ride.add_goal("outside")
    for number, costs in enumerate(COSTS.tolist()):
        ride.add_action(inside, f"way {number}", to=outside, costs=costs)
    ride.set_initial(inside)
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    run = plan.add_activity("ride", ride.build())
    plan.add_choice(start, "go", to=[Outcome(1.0, out, runs=run)])
    plan.add_constraint("damage", at_most=9.0, counts={run: "damage"})
    found = DoorsOracle(plan.build(start=start, end=out).flattening).planners[0]
    assert found is not None
    return found


@pytest.mark.parametrize("prices", [(0.0, 4.0, 0.8), (4.0, 0.8, 0.0, 0.5), (0.8, 3.0, 0.1)])
def test_whatever_is_known_from_before_the_best_plan_is_told(
    planner: DoorPlanner, prices: tuple[float, ...]
) -> None:
    for price in (*prices, *prices):
        weights = np.array([1.0, price])
        answer = planner.plan(weights, NOTHING_AFTER, NOWHERE)
        assert answer is not None
        assert answer.levels == pytest.approx([(COSTS @ weights).min()])
        assert answer.plan.rows.tolist() == [(COSTS @ weights).argmin()]
        assert answer.loss == 0.0


@pytest.mark.parametrize("allowance", [0.0, 9.0])
def test_no_plan_is_told_that_is_forbidden(planner: DoorPlanner, allowance: float) -> None:
    regions = [NOWHERE, *(frozenset(each) for each in ({0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}))]
    for price in (0.0, 0.8, 4.0, 0.3):
        for forbidden in regions:
            values = COSTS @ [1.0, price]
            values[list(forbidden)] = np.inf
            answer = planner.plan(np.array([1.0, price]), NOTHING_AFTER, forbidden, allowance=allowance)
            assert answer is not None
            (row,) = answer.plan.rows.tolist()
            assert values[row] - answer.loss - 1e-9 <= answer.levels[0] <= values.min()
            assert answer.loss <= allowance


def test_who_can_bear_a_loss_is_told_of_a_plan_that_is_known(planner: DoorPlanner) -> None:
    assert planner.plan(np.array([1.0, 4.0]), NOTHING_AFTER, NOWHERE) is not None
    # A plan that is known, and the best here as well, loses nothing, whatever can be borne.
    same = planner.plan(np.array([1.0, 5.0]), NOTHING_AFTER, NOWHERE, allowance=9.0)
    assert same is not None
    assert same.plan.rows.tolist() == [0]
    assert same.loss == 0.0
    weights = np.array([1.0, 0.9])
    known = planner.plan(weights, NOTHING_AFTER, NOWHERE, allowance=1.0)
    assert known is not None
    assert known.plan.rows.tolist() == [0]
    # It costs 4, and the best 3.8.
    assert 0.0 < known.loss <= 1.0
    best = planner.plan(weights, NOTHING_AFTER, NOWHERE)
    assert best is not None
    assert best.plan.rows.tolist() == [2]
    assert best.levels == pytest.approx([3.8])
