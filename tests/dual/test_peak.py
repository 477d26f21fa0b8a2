"""The peak of what is known leads to the dual of a region: that of a linear program over all its policies."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from scipy.optimize import linprog

from brute_force_procedures import brute_force
from hcssp.cssp.model import FloatArray
from hcssp.dual import several_bounds
from hcssp.dual.ascent import Ascent, Dual, maximise
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.dual.vertex import CLEARLY_VISITED
from hcssp.numerics import tolerated
from hcssp.ssp.region import Region
from random_procedures import random_procedure
from volume import some

ABOVE = (0.5, 1e-5)  # the cutoff, above what is searched for, of one region and the next


def regions(oracle: ProcedureOracle, dual: Dual[ProcedureVertex]) -> list[Region]:
    """The regions in which the support of a dual must decide otherwise somewhere."""
    found = []
    for vertex in dual.support:
        visited = np.flatnonzero(vertex.visits > CLEARLY_VISITED)
        rows = vertex.rows[visited]
        several = np.diff(oracle.row_start)[visited] > 1
        found += [Region().forbid([row]) for row in rows[several].tolist()]
        found += [Region().force(row, oracle.row_start, oracle.row_state) for row in rows[several].tolist()]
    return found


def truth(costs: FloatArray, bounds: FloatArray) -> float:
    """The least cost of a mixture of policies that keeps the bounds; ``inf`` if none does."""
    finite = np.isfinite(bounds)
    answer = linprog(
        costs[:, 0],
        A_ub=costs[:, 1:][:, finite].T,
        b_ub=bounds[finite],
        A_eq=np.ones((1, len(costs))),
        b_eq=[1.0],
    )
    return float(answer.fun) if answer.status == 0 else np.inf


@pytest.mark.parametrize("constraints", [2, 3])
@pytest.mark.parametrize("seed", some(range(24), 3))
def test_duals_of_regions_are_those_of_all_their_policies(seed: int, constraints: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0, num_constraints=constraints)
    if np.count_nonzero(np.isfinite(problem.bounds)) < 2:
        return
    oracle, policies = ProcedureOracle(problem.flattening), brute_force(problem)
    root = maximise(oracle, Region())
    if not root.converged:
        return
    lifted = np.concatenate(
        [
            np.arange(oracle.procedure.num_rows),
            *(
                first + planner.prepared.rows
                for first, planner in zip(oracle.flattening.row_offset[:-1], oracle.planners, strict=True)
            ),
        ]
    )
    for above, region in zip(cycle(ABOVE), regions(oracle, root), strict=False):
        forbidden = lifted[list(region.forbidden)]
        own = policies.costs[~np.isin(policies.rows, forbidden).any(axis=1)]
        least = truth(own, tolerated(problem.bounds)) if len(own) else np.inf
        known = [each for each in root.vertices if each.lies_in(region, oracle.row_state)]
        cutoff = 1e6 if least == np.inf else least * (1.0 + above)
        dual = maximise(oracle, region, known, start=root.prices, cutoff=cutoff, proven=root.bound)
        if least == np.inf:
            assert dual.infeasible
            continue
        assert dual.bound <= least * (1.0 + 1e-9)
        assert dual.bound >= least - 0.2 * (cutoff - least)
        assert dual.mixture.sum() == pytest.approx(1.0)
        mixed = dual.mixture @ np.array([each.costs for each in dual.support])
        assert np.all(mixed[1:] <= tolerated(problem.bounds) * (1.0 + 1e-6) + 1e-9)
        assert mixed[0] >= least * (1.0 - 1e-6)
        # A region whose support is one policy is not split: nothing may be missing.
        assert len(dual.support) > 1 or dual.bound >= least * (1.0 - 1e-8)


def test_a_search_meets_the_peak_where_cutting_planes_would_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_procedure(4, num_constraints=2)
    oracle = ProcedureOracle(problem.flattening)
    root = maximise(oracle, Region())
    monkeypatch.setattr(several_bounds.CuttingPlanes, "cut", None)
    # What is known is the answer, and nothing is asked of a master.
    again = maximise(oracle, Region(), root.vertices, start=root.prices, cutoff=root.bound + 1.0)
    assert again.converged
    assert again.bound == pytest.approx(root.bound)
    assert {id(each) for each in again.support} <= {id(each) for each in again.vertices}


def test_what_a_larger_region_has_proven_is_not_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = ProcedureOracle(random_procedure(4, num_constraints=2).flattening)
    root = maximise(oracle, Region())
    solved = []
    explore = Ascent.explore

    def noting(ascent: Ascent[ProcedureVertex], prices: FloatArray, precision: float = 0.0) -> object:
        solved.append(prices)
        return explore(ascent, prices, precision)

    monkeypatch.setattr(Ascent, "explore", noting)
    cutoff = root.bound + 1.0
    again = maximise(oracle, Region(), root.vertices, root.prices, cutoff, proven=root.bound)
    assert not solved
    assert again.converged
    assert again.bound == root.bound
    # Where policies are missing that would cost no more, something may be learnt there.
    dearer = [
        each
        for each in root.vertices
        if root.bound + 1e-3 < Ascent(oracle, Region()).lagrangian(each, root.prices)
    ]
    maximise(oracle, Region(), dearer, root.prices, root.bound + 1e-4, proven=root.bound)
    assert np.array_equal(solved[0], root.prices)


def test_equal_policies_are_met_once() -> None:
    problem = random_procedure(4, num_constraints=2)
    oracle = ProcedureOracle(problem.flattening)
    root = maximise(oracle, Region())
    again = maximise(oracle, Region(), root.vertices, start=root.prices, cutoff=root.bound + 1.0)
    costs = np.array([each.costs for each in again.support])
    apart = np.abs(costs[:, np.newaxis] - costs).max(axis=2) + np.eye(len(costs))
    assert np.all(apart > 1e-9)
