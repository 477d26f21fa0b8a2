from __future__ import annotations

import numpy as np

from hcssp.cssp import NO_ROW, DeterministicPolicy, GridWorld, prepare, render_policy
from hcssp.cssp.grid import DIRECTIONS

MAP = """
#######
S..~..#
#.###.G
#..~..#
#######
"""


def test_arrows_where_the_policy_acts() -> None:
    world = GridWorld.from_map(MAP, hazards={"~": {"damage": 1.0}})
    problem = world.to_cssp()
    rows = np.full(problem.num_states, NO_ROW)
    way = {(0, 1): "east", (1, 1): "east", (2, 1): "east", (3, 1): "east", (4, 1): "east", (5, 1): "south"}
    for cell, action in {**way, (5, 2): "east", (5, 3): "north", (3, 3): "west"}.items():
        state = problem.state_index[cell]
        rows[state] = problem.row_start[state] + DIRECTIONS.index(action)
    assert render_policy(world, DeterministicPolicy(problem, rows)).splitlines() == [
        "#######",
        "→→→⇒→↓#",
        "#·###→G",
        "#··⇐·↑#",
        "#######",
    ]


def test_a_reduced_problem_draws_on_the_same_map() -> None:
    world = GridWorld.from_map("S.G#.\n", slip=0.0)
    reduced = prepare(world.to_cssp()).problem
    assert reduced.num_states == 3
    rows = np.array([1, 5, NO_ROW])
    assert render_policy(world, DeterministicPolicy(reduced, rows)).splitlines() == [
        "#######",
        "#→→G#·#",
        "#######",
    ]
