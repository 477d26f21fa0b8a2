"""The range of a curve: below it there is no plan, above it nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

import brute_force_procedures
from brute_force import brute_force
from hcssp.errors import InvalidProblem
from hcssp.solving.trade_off import bound_range
from random_problems import random_cssp
from random_procedures import random_procedure
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


@pytest.mark.parametrize("seed", some(range(24), 4))
def test_above_the_range_the_best_plan_is_the_same_where_other_bounds_bind(seed: int) -> None:
    problem = random_procedure(seed, num_constraints=2)
    name, other = problem.constraint_names
    costs = brute_force_procedures.brute_force(problem.with_bounds({name: np.inf, other: np.inf})).costs
    least, most = costs[:, 2].min(), costs[costs[:, 0].argmin(), 2]
    kept = costs[costs[:, 2] <= (least + most) / 2]
    low, high = bound_range(problem.with_bounds({name: 1.0, other: (least + most) / 2}), name)
    assert low == pytest.approx(costs[:, 1].min())
    within = kept[kept[:, 1] <= high * (1 + 1e-9) + 1e-12, 0].min()
    assert within <= kept[:, 0].min() * (1 + 1e-3) / (1 - 1e-3) + 1e-9


def test_there_must_be_a_plan_and_a_constraint() -> None:
    problem = random_cssp(0)
    with pytest.raises(InvalidProblem, match="there is no constraint 'weight'"):
        bound_range(problem, "weight")
    several = next(each for each in map(random_cssp, range(50)) if each.num_constraints > 1)
    first, second = several.constraint_names[:2]
    with pytest.raises(InvalidProblem, match=f"no plan keeps the other bounds, whatever '{first}' may be"):
        bound_range(several.with_bounds({second: -1.0}), first)
