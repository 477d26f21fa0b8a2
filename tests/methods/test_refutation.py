from __future__ import annotations

import pytest

from hcssp import CSSP, Anytime, BudgetAllocation, CSSPBuilder, PolicyBranching, Status, solve
from hcssp.contract.solver import Solver
from hcssp.procedure import as_procedure


def two_ways() -> CSSP:
    """One way costs noise, the other fuel, and both some damage."""
    made = CSSPBuilder(cost_names=("time", "damage", "noise", "fuel"))
    here, there = made.add_state("here"), made.add_goal("there")
    for name in ("noise", "fuel"):
        made.add_action(
            here, name, to={there: 0.5, here: 0.5}, costs={"time": 1.0, "damage": 0.25, name: 2.0}
        )
    made.set_initial(here)
    return made.build()


@pytest.mark.parametrize("solver", [PolicyBranching(), Anytime(), BudgetAllocation()])
def test_under_a_bound_of_0_the_least_is_told(solver: Solver) -> None:
    problem = as_procedure(two_ways()) if isinstance(solver, BudgetAllocation) else two_ways()
    plan = solve(problem.with_bounds(damage=0.0), solver)
    assert plan.status is Status.INFEASIBLE
    assert plan.message == (
        "no policy keeps the bound on 'damage': the least achievable damage is 0.5, above the bound 0; "
        "raise the bound"
    )


def test_what_is_impossible_only_beside_a_bound_of_0_is_told_with_it() -> None:
    # Without noise there is only the way that costs fuel; fuel by itself can be spared.
    plan = solve(two_ways().with_bounds(noise=0.0, fuel=1.0))
    assert "with noise at most 0 no plan has an expected fuel below 4" in plan.message


def test_bounds_of_0_that_exclude_each_other() -> None:
    plan = solve(two_ways().with_bounds(noise=0.0, fuel=0.0))
    assert plan.status is Status.INFEASIBLE
    assert "proved by search" in plan.message
