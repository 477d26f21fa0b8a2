from __future__ import annotations

import numpy as np
import pytest

from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.ssp.region import Region
from random_procedures import random_procedure
from volume import some


@pytest.mark.parametrize("seed", some(range(20), 3))
@pytest.mark.parametrize("curves", [2, 400])
def test_what_is_looked_up_is_what_would_be_found(
    seed: int, curves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.dual.activity_planner.MAX_CURVES", curves)
    rng = np.random.default_rng(seed)
    problem = random_procedure(seed, num_constraints=2)
    oracle = ProcedureOracle(problem.flattening)
    regions = [Region()] + [
        Region().forbid(np.flatnonzero(rng.random(len(oracle.row_state)) < 0.05)) for _ in range(3)
    ]
    for _ in range(12):
        region = regions[rng.integers(len(regions))]
        prices = rng.exponential(1.0, problem.num_constraints)
        weights = np.append(1.0, prices * (rng.random(problem.num_constraints) < 0.8))
        truth = ProcedureOracle(problem.flattening).minimise(weights, region)
        for precision in (np.inf, 1e-2, 0.0):
            found = oracle.approximate(weights, region, precision)
            assert (found is None) == (truth is None)
            if found is None or truth is None:
                continue
            value = float(weights @ truth.vertex.costs)
            assert float(weights @ found.vertex.costs) >= value * (1.0 - 1e-9)
            assert found.bound <= value
            if precision < np.inf:
                assert float(weights @ found.vertex.costs) <= found.bound * (1.0 + 2.0 * precision) + 1e-9
