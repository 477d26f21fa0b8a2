"""Algorithm 3 on its own: the procedure given what activities cost, against all ways to choose."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from enumerated_solutions import procedures
from hcssp.methods.anytime import Anytime
from hcssp.methods.paper import Instance, procedural_planning
from hcssp.methods.paper.instance import EstimatedProcedure
from random_procedures import random_procedure
from volume import some

ITERATIONS = (0, 1, 3, inf)


@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("seed", some(range(15)))
def test_it_bounds_the_best_procedure(seed: int, branches: bool) -> None:
    problem = random_procedure(seed)
    instance = Instance(problem, branches)
    rng = np.random.default_rng(seed)
    primary = rng.uniform(1.0, 9.0, problem.num_activities)
    if seed % 3 == 0:
        primary[rng.integers(len(primary))] = inf
    secondary = rng.uniform(0.0, 3.0, (problem.num_activities, problem.num_constraints))
    ways = procedures(problem)
    possible = ~np.any((ways > 0.0) & np.isinf(primary), axis=1)
    use = ways @ secondary
    costs = np.where(possible, ways @ np.where(np.isinf(primary), 0.0, primary), inf)
    best = costs[np.all(use <= problem.bounds, axis=1)].min(initial=inf)
    last = -inf
    for iterations in ITERATIONS:
        answer = procedural_planning(instance, primary, secondary, iterations)
        assert last - 1e-9 <= answer.lower_bound <= best + 1e-9
        assert answer.upper_bound >= best - 1e-9
        last = answer.lower_bound
        if answer.choices is not None:
            executions = instance.procedure.executions(answer.choices)
            assert np.all(executions @ secondary <= problem.bounds + 1e-9)
            running = executions > 0.0
            assert executions[running] @ primary[running] == pytest.approx(answer.upper_bound)
    assert answer.lower_bound == pytest.approx(best)
    assert answer.upper_bound == pytest.approx(best)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_l_means_what_it_means_to_the_anytime_algorithm(seed: int) -> None:
    problem = random_procedure(seed, num_constraints=1)
    rng = np.random.default_rng(seed)
    ways = procedures(problem)
    primary = rng.uniform(1.0, 9.0, problem.num_activities)
    secondary = 9.0 - primary[:, None]
    use = ways @ secondary
    instance = Instance(problem.with_bounds(damage=float(np.median(use))))
    flat, _ = EstimatedProcedure(instance, primary, secondary).as_cssp()
    for iterations in (0, 1, 2, 3, inf):
        answer = procedural_planning(instance, primary, secondary, iterations)
        *_, last = Anytime(iterations).iterate(flat)
        assert answer.lower_bound == pytest.approx(last.lower_bound, abs=1e-7)
        assert answer.upper_bound == pytest.approx(last.upper_bound, abs=1e-7)
