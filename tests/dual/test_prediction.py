from __future__ import annotations

from math import inf

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.ascent import maximise
from hcssp.dual.flat import FlatOracle
from hcssp.dual.oracle import Oracle, V
from hcssp.dual.prediction import (
    DEFAULT_PREDICTION,
    PlanChanges,
    breakpoint_of_plans,
)
from hcssp.dual.procedure import ProcedureOracle
from hcssp.ssp.scalar_problem import Region
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

PRICES = (0.5, 2.0, 3.0, 7.0)
"""What a unit of risk is worth in each step before it is better spared."""


def steps(bound: float = 2.0) -> CSSP:
    """Steps one after the other, each with a risk of 1, which can be spared at some price."""
    plan = CSSPBuilder(cost_names=("time", "risk"))
    states = [plan.add_state(f"step {each}") for each in range(len(PRICES))]
    out = plan.add_goal("out")
    for state, after, price in zip(states, [*states[1:], out], PRICES, strict=True):
        plan.add_action(state, "fast", to=after, costs=(1.0, 1.0))
        plan.add_action(state, "safe", to=after, costs=(1.0 + price, 0.0))
    plan.set_bound("risk", at_most=bound)
    return plan.build()


@pytest.mark.parametrize(
    ("price", "bound", "distance"), [(0.0, 2.5, 2.0), (1.0, 1.5, 2.0), (4.0, 1.5, -1.0), (4.0, 3.5, -3.5)]
)
def test_steps_change_one_after_the_other(price: float, bound: float, distance: float) -> None:
    oracle = FlatOracle(steps())
    best = oracle.minimise(np.array([1.0, price]), Region())
    prediction = oracle.strategies.prediction
    assert best is not None
    assert prediction is not None
    excess = float(best.point.costs[1]) - bound
    turn = prediction.breakpoint(best.point, np.array([price]), Region(), 0, excess)
    assert turn is not None
    assert turn.step == pytest.approx(abs(distance))
    assert (excess > 0.0) == (distance > 0.0)
    assert turn.beyond == pytest.approx(0.5)


def test_what_is_not_allowed_changes_nothing() -> None:
    oracle = FlatOracle(steps())
    best = oracle.minimise(np.array([1.0, 0.0]), Region())
    prediction = oracle.strategies.prediction
    assert best is not None
    assert prediction is not None
    for forbidden, step in (([3], 3.0), ([1, 3, 5, 7], inf)):
        turn = prediction.breakpoint(best.point, np.zeros(1), Region(forbidden), 0, 1.5)
        assert turn is not None
        assert turn.step == pytest.approx(step)


@pytest.mark.parametrize(
    ("price", "excess", "distance"), [(0.0, 1.5, 2.0), (1.0, 1.5, 2.0), (4.0, -0.5, 1.0), (4.0, -2.5, 3.5)]
)
def test_of_a_plan_the_same_is_known_for_all_prices(price: float, excess: float, distance: float) -> None:
    planner = ActivityPlanner(steps(), frozenset([1]))
    plan = getattr(planner.plan(np.array([1.0, price]), frozenset()), "plan", None)
    assert plan is not None
    turns = plan.changes(1, falls=excess < 0.0)
    assert plan.changes(1, falls=excess < 0.0) is turns
    spared = [each for each in PRICES if (each < price) == (excess < 0.0)]
    assert sorted(turns.prices.tolist()) == pytest.approx(spared)
    assert turns.moved == pytest.approx(np.ones(len(spared)))
    turn = breakpoint_of_plans([(1.0, turns, frozenset())], price, excess)
    assert (turn.step, turn.beyond) == pytest.approx((distance, 0.5))
    # Executed three times as often, it moves three times as much.
    thrice = breakpoint_of_plans([(3.0, turns, frozenset())], price, 3.0 * excess)
    assert (thrice.step, thrice.beyond) == pytest.approx((distance, 1.5))


def test_activities_change_in_the_order_of_their_prices() -> None:
    one = PlanChanges(np.array([1.0, 4.0]), np.array([2.0, 2.0]), np.array([5, 7]))
    other = PlanChanges(np.array([3.0]), np.array([1.0]), np.array([5]))
    parts = [(1.0, one, frozenset[int]()), (0.5, other, frozenset[int]())]
    assert breakpoint_of_plans(parts, 0.0, 2.25) == (3.0, 0.25)
    assert breakpoint_of_plans(parts, 0.0, 2.75) == (4.0, 1.75)
    # Beyond all that is known nothing is predicted, and what is passed already comes at once.
    assert breakpoint_of_plans(parts, 0.0, 5.0).step == inf
    assert breakpoint_of_plans(parts, 2.0, 1.0) == (0.0, 1.0)
    assert breakpoint_of_plans([(1.0, one, frozenset([5])), parts[1]], 0.0, 1.0) == (4.0, 1.5)
    assert breakpoint_of_plans([], 0.0, 1.0).step == inf


def test_of_many_changes_the_first_are_known() -> None:
    plan = CSSPBuilder(cost_names=("time", "risk"))
    states = [plan.add_state(f"step {each}") for each in range(DEFAULT_PREDICTION.max_changes + 8)]
    out = plan.add_goal("out")
    for place, (state, after) in enumerate(zip(states, [*states[1:], out], strict=True)):
        plan.add_action(state, "fast", to=after, costs=(1.0, 1.0))
        plan.add_action(state, "safe", to=after, costs=(2.0 + (7 * place) % len(states), 0.0))
    plan.set_bound("risk", at_most=2.0)
    planner = ActivityPlanner(plan.build(), frozenset([1]))
    best = getattr(planner.plan(np.array([1.0, 0.0]), frozenset()), "plan", None)
    assert best is not None
    first = best.changes(1, falls=False).prices
    assert sorted(first.tolist()) == pytest.approx(
        [float(each) for each in range(1, DEFAULT_PREDICTION.max_changes + 1)]
    )


@pytest.mark.parametrize("seed", some(range(40)))
def test_what_a_region_of_a_procedure_inherits_does_not_change_its_dual(seed: int) -> None:
    oracle = ProcedureOracle(random_procedure(seed, num_constraints=1).flattening, affordable=True)
    assert oracle.strategies.prediction is not None
    judge_inheritance(oracle)


@pytest.mark.parametrize("seed", some(range(40)))
def test_what_a_region_inherits_does_not_change_its_dual(seed: int) -> None:
    judge_inheritance(FlatOracle(random_cssp(seed, max_constraints=1), affordable=True))


def judge_inheritance(oracle: Oracle[V]) -> None:
    """The duals of both halves of an oracle's policies must be the same, with and without what is known."""
    whole = maximise(oracle, Region())
    if whole.infeasible or len(whole.support) < 2:
        return
    first, second = whole.support
    state = np.flatnonzero((first.rows != second.rows) & first.reached & second.reached)[0]
    for row in (int(first.rows[state]), int(second.rows[state])):
        region = Region().forbid([row])
        alone = maximise(oracle, region)
        known = [point for point in whole.points if point.lies_in(region, oracle.row_state)]
        heir = maximise(oracle, region, known, start=whole.prices, proven=whole.bound)
        assert heir.infeasible == alone.infeasible
        assert heir.bound == pytest.approx(alone.bound, rel=1e-8)
        if not alone.infeasible:
            assert heir.bound >= whole.bound
            assert heir.converged
            value = oracle.minimise(np.append(1.0, heir.prices), region)
            assert value is not None
            assert value.bound - heir.prices @ oracle.bounds == pytest.approx(heir.bound, rel=1e-8)
