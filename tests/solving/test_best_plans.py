"""The k best plans against brute force over all policies that differ where they go."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force as brute_force_flat
from brute_force_procedures import TOLERANCE, brute_force
from hcssp import best_plans
from hcssp.contract.proof import Reason
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.errors import InvalidOption
from hcssp.procedure import HCSSP
from hcssp.scenarios import small_building
from hcssp.solving.best_plans import BestPlans
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

COUNT = 6


def kept(costs: FloatArray, bounds: FloatArray) -> FloatArray:
    """The costs of the policies that keep the bounds, in their order."""
    allowed = bounds + TOLERANCE * np.abs(bounds) + 1e-14
    return np.sort(costs[np.all(costs[:, 1:] <= allowed, axis=1), 0])


def check(problem: CSSP | HCSSP, found: BestPlans, truth: FloatArray) -> None:
    costs = [plan.upper_bound for plan in found]
    assert len(found) == min(COUNT, len(truth))
    np.testing.assert_allclose(costs, truth[:COUNT], rtol=1e-9, atol=1e-12)
    assert found.proven == len(found)
    for index, plan in enumerate(found):
        assert plan.problem is problem
        assert plan.lower_bound <= truth[0] * (1 + 1e-9)
        assert plan.keeps_bounds()
        assert (index == 0) == (not found.differences(index))
    different = {tuple(sorted(map(repr, found.differences(index).items()))) for index in range(len(found))}
    assert len(different) == len(found)
    if len(truth) > COUNT:
        assert truth[COUNT - 1] * (1 - 1e-6) - 1e-12 <= found.others <= truth[COUNT] * (1 + 1e-9) + 1e-12
    else:
        assert len(truth) == COUNT or found.others == np.inf


@pytest.mark.parametrize("seed", some(range(200), one_in=10))
def test_best_plans_of_flat_problems(seed: int) -> None:
    problem = random_cssp(seed)
    truth = kept(brute_force_flat(problem).costs, problem.bounds)
    check(problem, best_plans(problem, COUNT), truth)


@pytest.mark.parametrize("seed", some(range(200), one_in=10))
def test_best_plans_of_procedures(seed: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0, several_exits=seed % 3 == 0)
    truth = kept(brute_force(problem).costs, problem.bounds)
    check(problem, best_plans(problem, COUNT), truth)


def test_without_time_nothing_false_is_claimed() -> None:
    problem = small_building().with_bounds({"damage": 2.0})
    found = best_plans(problem, 3, time_limit=0.0)
    assert found.ending.reason is Reason.TIME_LIMIT
    assert found.proven == 0
    assert found.others <= best_plans(problem, 1)[0].upper_bound


@pytest.mark.parametrize("count", [0, -1, 2.0, True])
def test_the_number_of_plans_is_a_positive_integer(count: object) -> None:
    with pytest.raises(InvalidOption, match="the number of plans"):
        best_plans(small_building(), count)  # type: ignore[arg-type]
