from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from hcssp.cssp.model import FloatArray
from hcssp.dual.known_model import Model, carriers
from volume import some


def highest_point(
    costs: FloatArray, bounds: FloatArray, limits: FloatArray, lowest: FloatArray | None = None
) -> float:
    """The level of the highest point of the least of all planes, by a linear program over (prices, level)."""
    lowest = np.zeros(len(bounds)) if lowest is None else lowest
    planes = np.hstack([-(costs[:, 1:] - bounds), np.ones((len(costs), 1))])
    objective = np.append(np.zeros(len(bounds)), -1.0)
    limited = [*zip(lowest, limits, strict=True), (None, None)]
    return float(-linprog(objective, A_ub=planes, b_ub=costs[:, 0], bounds=limited).fun)


def random_planes(
    rng: np.random.Generator, count: int, size: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The costs of some policies, the bounds of their secondary ones, and limits of the multipliers."""
    return rng.exponential(1.0, (count, 1 + size)), rng.exponential(0.5, size), np.full(size, 10.0)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", some(range(10), 2))
def test_the_highest_point_is_that_of_a_linear_program(seed: int, size: int) -> None:
    costs, bounds, limits = random_planes(np.random.default_rng(seed), 15, size)
    model = Model(bounds, limits, costs[:2])
    for known, each in enumerate(costs):
        if known < 2:
            continue
        model.add(each)
        level, prices = model.highest()
        truth = highest_point(costs[: known + 1], bounds, limits)
        assert level == pytest.approx(truth, rel=1e-8, abs=1e-9)
        assert np.all((prices >= 0.0) & (prices <= limits * (1.0 + 1e-9)))
        assert min(model.value(each, prices) for each in costs[: known + 1]) == pytest.approx(level, abs=1e-8)


@pytest.mark.parametrize("seed", some(range(10), 2))
def test_the_carriers_suffice(seed: int) -> None:
    costs, bounds, limits = random_planes(np.random.default_rng(seed), 40, 2)

    def known(prices: FloatArray) -> FloatArray:
        return costs[np.argmin(costs @ np.append(1.0, prices))]

    found = [known(prices) for prices in carriers(known, costs[:1], bounds, limits)]
    few = np.array([costs[0], *found])
    assert len(few) <= 4
    truth = highest_point(costs, bounds, limits)
    assert highest_point(few, bounds, limits) == pytest.approx(truth, rel=1e-8)


def test_nothing_known_leads_nowhere() -> None:
    first = [np.array([1.0, 2.0])]
    assert carriers(lambda prices: None, first, np.array([1.0]), np.array([10.0])) == []


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", some(range(20), 4))
def test_the_highest_point_between_multipliers_is_that_of_a_linear_program(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    costs, bounds, limits = random_planes(rng, 8, size)
    model = Model(bounds, limits, costs)
    free, _ = model.highest()
    was_confined = model.is_confined
    lowest = rng.uniform(0.0, 1.0, size) * (rng.random(size) < 0.7)
    highest = lowest + rng.uniform(0.1, 1.0, size)
    model.confine(lowest, highest)
    level, prices = model.highest()
    assert level == pytest.approx(highest_point(costs, bounds, highest, lowest))
    assert np.all(lowest - 1e-9 <= prices)
    assert np.all(prices <= highest + 1e-9)
    assert model.is_confined or level == pytest.approx(free)
    assert not model.is_confined or was_confined or level < free
    # What was confined is set free again.
    model.confine(np.zeros(size), limits)
    assert model.highest()[0] == pytest.approx(free)
    assert model.is_confined == was_confined
