from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hcssp.cssp.model import BoolArray
from hcssp.dual.alike_activities import Slots
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.surface_lookup import SurfaceLookup, _Shelf
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


@pytest.mark.parametrize("seed", some(range(12), 6))
@pytest.mark.parametrize("curves", [2, 400])
def test_what_is_known_of_one_region_is_not_told_of_another(
    seed: int, curves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hcssp.dual.activity_planner.MAX_CURVES", curves)
    problem = random_procedure(seed, num_constraints=2)
    oracle, rng = ProcedureOracle(problem.flattening), np.random.default_rng(seed)
    every = [np.append(1.0, prices) for prices in rng.exponential(1.0, (3, 2)) * [[1, 1], [0, 1], [1, 0]]]
    # Without what is best, in the whole and in what is left, so that much is dearer in the smaller regions.
    regions = [Region()]
    for weights in every:
        best = oracle.minimise(weights, regions[-1])
        assert best is not None
        taken = best.vertex.rows[best.vertex.reached & (np.diff(oracle.row_start) > 1)]
        smaller = regions[-1].forbid(rng.choice(taken, 1).tolist()) if len(taken) else regions[-1]
        if oracle.minimise(weights, smaller) is not None:
            regions.append(smaller)
    asked = [(region, weights) for region in regions for weights in every]
    truth = [ProcedureOracle(problem.flattening).minimise(weights, region) for region, weights in asked]
    order = np.arange(len(asked))
    for index in np.concatenate([order, order[::-1], rng.permutation(order)]).tolist():
        (region, weights), best = asked[index], truth[index]
        found = oracle.approximate(weights, region, 1e-2)
        assert best is not None
        assert found is not None
        assert found.bound <= float(weights @ best.vertex.costs) * (1.0 + 1e-12)
        assert found.vertex.lies_in(region, oracle.row_state)


def test_surfaces_are_those_of_the_region_that_is_asked_about() -> None:
    class Planner:
        """Knows a surface of every region, or of none but the whole."""

        def __init__(self) -> None:
            self.forgotten, self.knows_all, self.asked = 0, True, 0

        def surface(self, forbidden: frozenset[int], paid: BoolArray) -> object:
            self.asked += 1
            return ("surface of", forbidden) if self.knows_all or not forbidden else None

    planner: Any = Planner()
    lookup = SurfaceLookup([planner], [np.eye(2)])
    whole, part = (
        Slots(frozenset(), {}, (0,), (forbidden,), np.zeros(1, dtype=np.int64))
        for forbidden in (frozenset[int](), frozenset({3}))
    )
    shelf = _Shelf([np.array([True, True])])
    for slots in (whole, part, whole, part):
        lookup._turn_to(slots, shelf)
        assert shelf.surfaces == [("surface of", slots.forbidden[0])]
        assert shelf.own == [0]
        # Once more: nobody is asked again.
        asked = planner.asked
        lookup._turn_to(slots, shelf)
        assert planner.asked == asked
    # What was forgotten is asked for again, and so is what was missing.
    planner.forgotten += 1
    planner.knows_all = False
    lookup._turn_to(part, shelf)
    assert (shelf.own, shelf.surfaces) == ([], [])
    planner.knows_all = True
    lookup._turn_to(part, shelf)
    assert shelf.own == [0]
    # Where nothing has a weight, nothing is looked up.
    nothing = _Shelf([np.array([False, False])])
    lookup._turn_to(whole, nothing)
    assert nothing.own == []
