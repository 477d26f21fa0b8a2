"""What rounding hides from a search is proven in integers, if what counts as kept is what they are about."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hcssp.checker import check
from hcssp.contract.ending import Reason
from hcssp.contract.stop import Gap
from hcssp.cssp import CSSP, CSSPBuilder
from hcssp.numerics import Tolerances
from hcssp.solving.solve import solve


def endless(steps: int = 60, exit_cost: float = 1e15) -> CSSP:
    """Steps of which each may lead back to the first, 2 ** steps of them or so; or a way out at a price."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    states = [*(plan.add_state(index) for index in range(steps)), plan.add_goal("out")]
    for here, after in pairwise(states):
        plan.add_action(here, "on", to={after: 0.5, states[0]: 0.5}, costs={"time": 1})
        plan.add_action(here, "leave", to=states[-1], costs={"time": exit_cost})
    plan.set_initial(states[0])
    return plan.build()


def test_what_rounding_hides_is_proven() -> None:
    plan = solve(endless())
    assert plan.status == "optimal"
    assert plan.ending.reason is Reason.PROVED
    assert 1e15 * (1.0 - 1e-9) <= plan.lower_bound <= plan.upper_bound == 1e15
    assert plan.trace[-1].lower_bound == plan.lower_bound
    assert check(plan.problem, plan.certificate, exact=True).lower_bound == plan.lower_bound


def test_a_gap_that_is_not_reached_is_left_to_rounding() -> None:
    plan = solve(endless(), stop=Gap(1e-16))
    assert plan.status == "optimal"
    assert plan.ending.reason is Reason.ROUNDING


@pytest.mark.parametrize("feasibility", [1e-9, 1e-6])
def test_a_looser_tolerance_is_not_what_a_certificate_is_about(feasibility: float) -> None:
    plan = solve(endless(), tolerances=Tolerances(feasibility=feasibility))
    assert (plan.status == "optimal") == (feasibility == 1e-9)
    assert plan.lower_bound <= 1e15
