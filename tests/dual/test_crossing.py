from __future__ import annotations

import numpy as np

from hcssp.dual.ascent import maximise
from hcssp.dual.crossing import Crossing
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.evaluation import evaluate
from hcssp.procedure import ProcedurePolicy
from hcssp.scenarios.campus import campus
from hcssp.ssp.region import Region
from small_procedures import retrying


def test_policies_between_two_of_the_support_spend_what_is_left() -> None:
    problem = campus(damage=60.0, buildings=3, floors=4)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    kept = min(dual.support, key=lambda vertex: vertex.costs[1])
    found = oracle.between(dual.support)
    assert found is not None
    assert dual.bound <= found.costs[0] < kept.costs[0]
    assert kept.costs[1] < found.costs[1] <= 60.0
    # Its costs are those of the policy that it is.
    costs = evaluate(problem, ProcedurePolicy(problem, oracle.lift(found))).costs
    np.testing.assert_allclose(costs, found.costs, rtol=1e-9)


def test_there_is_nothing_between_a_policy_and_itself() -> None:
    problem = campus(damage=np.inf, size=4)
    oracle = ProcedureOracle(problem.flattening)
    (only,) = maximise(oracle, Region()).support
    assert oracle.between((only,)) is None
    assert Crossing(oracle, only, only).best() is None


def test_choices_that_never_end_or_lack_a_plan_are_no_policy() -> None:
    oracle = ProcedureOracle(retrying().flattening)
    vertex = maximise(oracle, Region()).support[0]
    assert oracle.vertex_of(vertex.choices, (None, None)) is None
    again = oracle.vertex_of(vertex.choices, vertex.plans)
    assert again is not None
    np.testing.assert_allclose(again.costs, vertex.costs, rtol=1e-12)
    assert oracle.procedure.ends(vertex.choices)
    assert not oracle.procedure.ends(np.full_like(vertex.choices, -1))
