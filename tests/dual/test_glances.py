from __future__ import annotations

import numpy as np
import pytest

from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.procedure import Flattening
from hcssp.ssp.region import Region
from random_procedures import random_procedure
from volume import some

CHUNK = 10


@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("first", some(range(0, 2 * CHUNK, CHUNK), 3))
def test_no_policy_of_a_region_costs_less_than_a_glance_tells(first: int, cycles: bool) -> None:
    """Whatever the regions and the weights; of one that was just looked at, all is told."""
    told = tight = looked_at = chosen = 0
    for seed in range(first, first + CHUNK):
        problem = random_procedure(seed, cycles=cycles)
        if problem.num_constraints > 1:
            problem = problem.with_bounds(dict.fromkeys(problem.constraint_names[1:], np.inf))
        oracle = ProcedureOracle(Flattening(problem))
        rng = np.random.default_rng(seed)
        regions = [Region()]
        for share in (0.02, 0.05, 0.1, 0.3):
            rows = np.flatnonzero(rng.random(oracle.row_start[-1]) < share)
            regions.append(Region(frozenset(rows.tolist())))
        weights = np.zeros((len(regions), 1 + problem.num_constraints))
        weights[:, 0] = 1.0
        weights[:, 1:] = np.where(
            np.isfinite(problem.bounds), rng.choice([0.0, 0.3, 2.0, 40.0], (len(regions), 1)), 0.0
        )
        assert (oracle.glances(weights, regions) == -np.inf).all()
        for price in rng.permutation(weights[:, 1:]):
            oracle.minimise(np.append(1.0, price), Region())
        # Nothing is told of weights that no curve is about: of another primary cost, or of what has no bound.
        odd = [weights * 2.0, np.hstack([np.zeros((len(weights), 1)), weights[:, 1:]])]
        unbounded = 1 + np.flatnonzero(~np.isfinite(problem.bounds))
        odd += [weights + np.eye(weights.shape[1])[column] for column in unbounded]
        for each in odd:
            assert (oracle.glances(each, regions) == -np.inf).all()
        least = oracle.glances(weights, regions)
        for found, own, region in zip(least.tolist(), weights, regions, strict=True):
            minimum = oracle.minimise(own, region)
            if minimum is None:
                continue
            value = float(own @ minimum.vertex.costs)
            assert found <= value * (1.0 + 1e-12)
            told += found > 0.0
            # Its choices are the last ones now, and its plans are known.
            (again,) = oracle.glances(own[np.newaxis], [region])
            assert again <= value * (1.0 + 1e-12)
            tight += again >= minimum.bound * (1.0 - 1e-9)
            looked_at += 1
            row = int(minimum.vertex.choices[oracle.procedure.start])
            other = region.forbid([row])
            second = oracle.minimise(own, other)
            if second is not None and second.bound > minimum.bound * (1.0 + 1e-6):
                (again,) = oracle.glances(own[np.newaxis], [other])
                chosen += again > minimum.bound * (1.0 + 1e-9)
    assert told > CHUNK
    # Where the best choice is forbidden, that of the others is told.
    assert chosen > CHUNK or cycles
    # An activity that has no plan in a region costs what it does elsewhere, as far as a glance can tell.
    assert tight >= 0.8 * looked_at or cycles
