from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.model import FloatArray
from hcssp.dual.activity_curve import ActivityPlan
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.surface_table import SurfaceTable
from hcssp.dual.value_surface import ValueSurface
from hcssp.ssp.policy_iteration import ScalarOptimum
from small_procedures import risky_room
from volume import some

SPREADS = [
    np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    # Two constraints count the same cost.
    np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
]


def plan_of(costs: FloatArray) -> ActivityPlan:
    """A plan about which only its costs are known."""
    system = ActivityPlanner(risky_room(), frozenset()).system
    nothing = np.zeros((0, len(costs)))
    return ActivityPlan(ScalarOptimum(np.zeros(0, dtype=np.int64), nothing, costs, 0.0), system)


def learn(surface: ValueSurface, costs: FloatArray, weights: FloatArray) -> None:
    """Let a surface know what is best of plans with such costs, at weights and near them."""
    values = costs @ weights
    surface.add(weights, plan_of(costs[values.argmin()]), float(values.min()))
    surface.bracket(weights * np.linspace(1.05, 1.1, len(weights)), closely=True)


@pytest.mark.parametrize("seed", some(range(20), 3))
def test_all_surfaces_are_asked_as_each_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plans = [rng.exponential(1.0, (8, len(spread))) for spread in SPREADS]
    surfaces = [ValueSurface(np.arange(len(spread))) for spread in SPREADS]
    table = None
    # Where the problem has no weight, some own costs of some activities have none.
    weighted = np.array([True, True, seed % 3 != 2])
    paid = [spread[:, weighted].any(axis=1) for spread in SPREADS]
    for _ in range(6):
        weights = rng.exponential(1.0, 3) * weighted
        for surface, costs, spread in zip(surfaces, plans, SPREADS, strict=True):
            learn(surface, costs, spread @ weights)
        table = SurfaceTable(surfaces, SPREADS, paid, table)
        asked = rng.exponential(1.0, 3) * weighted
        alone = [s.bracket(spread @ asked) for s, spread in zip(surfaces, SPREADS, strict=True)]
        # Only a combination that was looked for anew may be better than those in the table.
        for found, own, costs, spread in zip(table.brackets(asked), alone, plans, SPREADS, strict=True):
            assert own is not None
            assert found.plan is own.plan
            assert found.value == pytest.approx(own.value, rel=1e-14)
            assert found.bound <= float((costs @ (spread @ asked)).min())
            assert found.bound in (0.0, pytest.approx(own.bound, rel=1e-12))
        for found, own in zip(table.glances(asked), alone, strict=True):
            assert own is not None
            assert (found.plan, found.bound, found.final) == (own.plan, 0.0, False)


def test_a_table_tells_when_more_is_known() -> None:
    costs, weights = np.array([[3.0, 1.0, 0.0], [2.0, 2.0, 1.0]]), np.ones(3)
    surfaces = [ValueSurface(np.arange(3)) for _ in range(2)]
    for surface in surfaces:
        learn(surface, costs, weights)
    table = SurfaceTable(surfaces, SPREADS[:1] * 2, [np.ones(3, dtype=np.bool_)] * 2)
    assert table.is_of(surfaces)
    assert not table.is_of(surfaces[::-1])
    assert not table.is_of(surfaces[:1])
    surfaces[1].add(np.array([1.0, 0.1, 0.1]), plan_of(costs[1]), 2.3)
    assert not table.is_of(surfaces)


def test_a_table_is_of_the_very_surfaces_as_they_were() -> None:
    rng = np.random.default_rng(1)
    surfaces = [ValueSurface(np.arange(3)) for _ in range(3)]
    for surface in surfaces:
        learn(surface, rng.exponential(1.0, (8, 3)), np.ones(3))
    first, second, other = surfaces
    table = SurfaceTable([first, second], [SPREADS[0]] * 2, [np.ones(3, dtype=np.bool_)] * 2)
    assert table.is_of([first, second])
    for wrong in ([first], [first, other], [other, second], [second, first], [first, second, other]):
        assert not table.is_of(wrong)
    learn(second, rng.exponential(1.0, (8, 3)), np.array([1.0, 2.0, 3.0]))
    assert not table.is_of([first, second])


def test_what_is_known_of_few_costs_is_told_anew_beside_one_with_more() -> None:
    surfaces = [ValueSurface(np.arange(len(spread))) for spread in SPREADS[:2]]
    for surface, spread in zip(surfaces, SPREADS, strict=False):
        learn(surface, np.array([[3.0, 1.0, 0.0], [2.0, 2.0, 1.0]])[:, : len(spread)], np.ones(len(spread)))
    paid = [np.ones(len(spread), dtype=np.bool_) for spread in SPREADS]
    narrow = SurfaceTable(surfaces[1:], SPREADS[1:2], paid[1:2])
    wide = SurfaceTable(surfaces, SPREADS[:2], paid[:2], narrow)
    weights = np.array([1.0, 0.5, 0.7])
    assert wide.brackets(weights)[1] == narrow.brackets(weights)[0]
    # And the other way round.
    assert SurfaceTable(surfaces[1:], SPREADS[1:2], paid[1:2], wide).brackets(weights) == narrow.brackets(
        weights
    )
