"""The range of a curve: below it there is no plan, above it nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.errors import InvalidProblem
from hcssp.solving.bound_range import bound_range
from random_problems import random_cssp
from volume import some


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_the_ends_are_those_of_all_policies(seed: int) -> None:
    problem = random_cssp(seed)
    name = problem.constraint_names[0]
    free = problem.with_bounds(dict.fromkeys(problem.constraint_names, np.inf))
    costs = brute_force(free).costs
    low, high = bound_range(free, name)
    assert low == pytest.approx(costs[:, 1].min())
    best = costs[np.isclose(costs[:, 0], costs[:, 0].min(), rtol=1e-12)]
    assert any(high == pytest.approx(max(low, used)) for used in best[:, 1])


def test_there_must_be_a_plan_and_a_constraint() -> None:
    problem = random_cssp(0)
    with pytest.raises(InvalidProblem, match="there is no constraint 'weight'"):
        bound_range(problem, "weight")
    several = next(each for each in map(random_cssp, range(50)) if each.num_constraints > 1)
    first, second = several.constraint_names[:2]
    with pytest.raises(InvalidProblem, match=f"no plan keeps the other bounds, whatever '{first}' may be"):
        bound_range(several.with_bounds({second: -1.0}), first)
