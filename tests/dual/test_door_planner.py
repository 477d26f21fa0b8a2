"""A planner of an activity with doors tells the best plan at any weights, or one that is good enough."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.dual.door_planner import DoorPlanner
from hcssp.dual.doors_oracle import DoorsOracle
from hcssp.procedure import Outcome, ProcedureBuilder
from small_procedures import slow_or_fast

NOWHERE: frozenset[int] = frozenset()
NOTHING_AFTER = np.zeros(1)


@pytest.fixture
def planner() -> DoorPlanner:
    """Slowly in 4, or fast in 1 with damage 3.5."""
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    ride = plan.add_activity("ride", slow_or_fast(4.0, 1.0))
    plan.add_choice(start, "go", to=[Outcome(1.0, out, runs=ride)])
    plan.add_constraint("damage", at_most=9.0, counts={ride: "damage"})
    found = DoorsOracle(plan.build(start=start, end=out).flattening).planners[0]
    assert found is not None
    return found


@pytest.mark.parametrize("prices", [(0.0, 4.0, 2.0), (4.0, 0.0, 0.5), (2.0, 3.0, 0.1)])
def test_whatever_is_known_from_before_the_best_plan_is_told(
    planner: DoorPlanner, prices: tuple[float, ...]
) -> None:
    for price in (*prices, *prices):
        answer = planner.plan(np.array([1.0, price]), NOTHING_AFTER, NOWHERE)
        assert answer is not None
        assert answer.levels == pytest.approx([min(4.0, 1.0 + 3.5 * price)])
        assert answer.plan.rows.tolist() == [int(1.0 + 3.5 * price < 4.0)]
        assert answer.loss == 0.0


def test_who_can_bear_a_loss_is_told_of_a_plan_that_is_known(planner: DoorPlanner) -> None:
    assert planner.plan(np.array([1.0, 4.0]), NOTHING_AFTER, NOWHERE) is not None
    weights = np.array([1.0, 0.8])
    known = planner.plan(weights, NOTHING_AFTER, NOWHERE, allowance=1.0)
    assert known is not None
    assert known.plan.rows.tolist() == [0]
    # It costs 4, and the best 3.8.
    assert 0.0 < known.loss <= 1.0
    assert 4.0 - known.loss <= known.levels[0] <= 3.8
    best = planner.plan(weights, NOTHING_AFTER, NOWHERE)
    assert best is not None
    assert best.plan.rows.tolist() == [1]
    assert best.levels == pytest.approx([3.8])
