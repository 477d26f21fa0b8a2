from __future__ import annotations

from math import comb

import numpy as np
import pytest

from hazard_grid import hazard_grid, hazard_grid_world, symmetric_grid
from hcssp.cssp import prepare
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem


def test_the_same_seed_gives_the_same_grid() -> None:
    first, again, other = (
        hazard_grid(30, 20, seed=3),
        hazard_grid(30, 20, seed=3),
        hazard_grid(30, 20, seed=4),
    )
    assert (first.transitions != again.transitions).nnz == 0
    assert np.array_equal(first.costs, again.costs)
    assert first.num_states != other.num_states or not np.array_equal(first.costs, other.costs)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("width", "height"), [(40, 25), (3, 3), (12, 1), (1, 2)])
def test_every_cell_can_be_reached_and_left(width: int, height: int, seed: int) -> None:
    problem = hazard_grid(width, height, seed=seed)
    assert prepare(problem).problem is problem


def test_the_default_is_large_and_has_walls_and_hazards() -> None:
    world = hazard_grid_world()
    problem = world.to_cssp()
    assert (world.width, world.height) == (100, 100)
    assert 9_000 < problem.num_states < 10_000
    assert 0.1 < (problem.costs[1] > 0).mean() < 0.5
    assert problem.bounds.tolist() == [2.0]


def shortest_ways(problem: CSSP) -> dict[tuple[float, float], int]:
    """The number of ways of 14 steps by their costs, counted by walking them all together."""
    ways = {(int(np.argmax(problem.initial)), 0.0, 0.0): 1}
    for _ in range(14):
        ahead: dict[tuple[int, float, float], int] = {}
        for (state, time, damage), count in ways.items():
            for row in range(problem.row_start[state], problem.row_start[state + 1]):
                if problem.action_labels[row] in ("east", "south"):
                    reached = int(problem.transitions.indices[problem.transitions.indptr[row]])
                    if reached != state:
                        key = (reached, time + problem.costs[0, row], damage + problem.costs[1, row])
                        ahead[key] = ahead.get(key, 0) + count
        ways = ahead
    return {(time, damage): count for (_, time, damage), count in ways.items()}


def test_thousands_of_ways_through_the_symmetric_grid_are_equal() -> None:
    ways = shortest_ways(symmetric_grid(8))
    assert ways == {(14.0, 6.0): 2450, (15.0, 3.0): 882, (17.0, 1.0): 98, (20.0, 0.0): 2}
    assert sum(ways.values()) == comb(14, 7)


def test_a_symmetric_grid_has_an_even_side() -> None:
    with pytest.raises(
        InvalidProblem, match="the size of a symmetric grid is 7; it must be even and at least 2"
    ):
        symmetric_grid(7)
