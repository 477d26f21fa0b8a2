from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import ProcedurePolicy
from random_procedures import random_procedure
from volume import some

KINDS = [
    {"cycles": cycles, "several_exits": several_exits}
    for cycles in (False, True)
    for several_exits in (False, True)
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", some(range(8)))
def test_the_chain_of_a_policy_costs_what_the_policy_costs(seed: int, kind: dict[str, bool]) -> None:
    problem = random_procedure(seed, **kind)
    flat = problem.flattening.cssp
    policies = brute_force(problem)
    for rows, costs in zip(policies.rows[:20], policies.costs, strict=False):
        chain = induced_chain(problem, ProcedurePolicy(problem, rows))
        assert chain.problem.num_rows == np.count_nonzero(rows >= 0)
        assert evaluate(chain.problem, RandomisedPolicy(chain.problem, chain.chances)).costs == pytest.approx(
            costs, rel=1e-9, abs=1e-12
        )
        whole = evaluate(flat, DeterministicPolicy(flat, rows))
        assert whole.costs == pytest.approx(costs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_neither_it_nor_the_flattening_changes_the_activities(kind: dict[str, bool]) -> None:
    problem = random_procedure(3, **kind)
    before = [activity.cssp.transitions.toarray() for activity in problem.activities]
    flattening = problem.flattening
    first = np.where(np.diff(flattening.cssp.row_start) > 0, flattening.row_start[:-1], -1)
    induced_chain(problem, ProcedurePolicy(problem, first))
    for activity, transitions in zip(problem.activities, before, strict=True):
        assert np.array_equal(activity.cssp.transitions.toarray(), transitions)
