"""Which oracle a problem gets: one that plans its activities one by one where that is exact."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.dual.flat import FlatOracle
from hcssp.dual.multi_exit import MultiExitOracle
from hcssp.dual.oracles import oracle_of
from hcssp.dual.procedure import ProcedureOracle
from hcssp.ssp.scalar_problem import Region
from small_procedures import forking, retrying


def two_ways(bound: float) -> CSSP:
    """One way is short and costs damage; another costs what the long one does and more."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "short", to=out, costs=(1.0, 1.0))
    plan.add_action(here, "long", to=out, costs=(3.0, 0.0))
    plan.add_action(here, "longer", to=out, costs=(4.0, 0.0))
    plan.set_initial(here)
    return plan.build()


def test_activities_are_planned_one_by_one_where_that_is_exact() -> None:
    assert isinstance(oracle_of(retrying()), ProcedureOracle)
    assert isinstance(oracle_of(forking()), MultiExitOracle)
    assert isinstance(oracle_of(two_ways(1.0)), FlatOracle)


@pytest.mark.parametrize(("bound", "rows"), [(1.0, 2), (0.0, 1)])
def test_what_no_good_plan_uses_is_left_out(bound: float, rows: int) -> None:
    assert len(oracle_of(two_ways(bound)).row_state) == rows


def test_what_a_bound_of_nothing_forbids_is_left_out_of_procedures() -> None:
    for problem in (retrying(), forking()):
        free, bound = (
            len(oracle_of(problem.with_bounds({each.name: limit for each in problem.constraints})).row_state)
            for limit in (1e9, 0.0)
        )
        assert bound < free, problem.name


def test_under_other_bounds_of_nothing_what_they_forbid_is_left_out_once() -> None:
    problem = two_ways(1.0)
    for some_oracle in (FlatOracle(problem, affordable=True), oracle_of(problem)):
        none = some_oracle.under(np.array([0.0]))
        assert len(none.row_state) < len(some_oracle.row_state)
        assert none.bounds.tolist() == [np.inf]
        cheapest = none.minimise(np.array([1.0, 0.0]), Region())
        assert cheapest is not None
        assert cheapest.point.costs.tolist() == [3.0, 0.0]
        # From there back, and there again: what is known is shared.
        again = none.under(np.array([1.0]))
        assert len(again.row_state) == len(some_oracle.row_state)
        assert again.row_state is some_oracle.row_state
        assert again.under(np.array([0.0])).row_state is none.row_state
