from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

from hcssp.cssp import CSSP, prepare
from hcssp.errors import InvalidProblem
from hcssp.scenarios.domains.racetrack import ACCELERATIONS, TRACK, racetrack
from hcssp.solving.solve import solve

START = (4, 4, 0, 0)


@pytest.fixture(scope="module")
def problem() -> CSSP:
    return racetrack()


def successors(problem: CSSP, state: Any, action: tuple[int, int]) -> dict[Any, float]:
    row = int(problem.row_start[problem.state_index[state]]) + ACCELERATIONS.index(action)
    assert problem.action_labels[row] == action
    entries = problem.transitions[[row]].tocoo()
    return {
        problem.state_labels[reached]: pytest.approx(probability)
        for reached, probability in zip(entries.col, entries.data, strict=True)
    }


def test_it_is_as_large_as_promised(problem: CSSP) -> None:
    assert problem.num_states >= 20_000
    assert problem.num_rows == 9 * (problem.num_states - 1)
    assert prepare(problem).problem is problem
    assert problem.state_labels[int(problem.initial.argmax())] == START
    assert problem.state_labels[int(np.flatnonzero(problem.goals)[0])] == "finish"


def test_an_acceleration_may_have_no_effect(problem: CSSP) -> None:
    assert successors(problem, START, (1, 0)) == {(5, 4, 1, 0): 0.9, START: 0.1}
    assert successors(problem, START, (0, 0)) == {START: 1.0}
    assert successors(problem, (5, 4, 1, 0), (1, 1)) == {(7, 5, 2, 1): 0.9, (6, 4, 1, 0): 0.1}


def test_speeds_are_limited(problem: CSSP) -> None:
    fastest = next(label for label in problem.state_labels if label != "finish" and label[2] == 4)
    assert successors(problem, fastest, (1, 0)) == successors(problem, fastest, (0, 0))
    speeds = np.array([label[2:] for label in problem.state_labels if label != "finish"])
    assert np.abs(speeds).max() == 4


def test_a_crash_returns_to_the_start(problem: CSSP) -> None:
    # Row 3 is the uppermost row of the track; walls are above it.
    assert successors(problem, (4, 3, 0, -1), (0, 0)) == {START: 1.0}
    assert successors(problem, (4, 3, 0, 0), (0, -1)) == {START: 0.9, (4, 3, 0, 0): 0.1}


def test_a_line_that_meets_the_finish_ends_the_race(problem: CSSP) -> None:
    # The finish begins in column 57 beside the last straight.
    assert successors(problem, (56, 28, 1, 0), (0, 0)) == {"finish": 1.0}
    assert successors(problem, (56, 28, 1, 0), (0, 1)) == {"finish": 1.0}


def test_straight_lines_meet_every_cell_between() -> None:
    # Unscaled, walls are thinner than the car is fast, so a careless look would jump over them.
    problem = racetrack(scale=1)
    start = problem.state_labels[int(problem.initial.argmax())]
    # Along an axis there is no doubt which cells a line meets, so each can be walked one by one.
    ground = {
        (column, row): character
        for row, line in enumerate(TRACK.strip().splitlines())
        for column, character in enumerate(line)
    }
    jumps = 0
    for state, label in enumerate(problem.state_labels):
        if label == "finish" or label[2] * label[3] or not label[2] + label[3]:
            continue
        column, row, right, down = label
        distance = abs(right + down)
        met = [
            ground.get((column + right * step // distance, row + down * step // distance), "#")
            for step in range(1, distance + 1)
        ]
        first = next((character for character in met if character in "#F"), None)
        expected: Any = (column + right, row + down, right, down)
        if first is not None:
            expected = "finish" if first == "F" else start
            jumps += met[-1] not in "#F"
        taken = int(problem.row_start[state]) + ACCELERATIONS.index((0, 0))
        reached = problem.transitions.indices[slice(*problem.transitions.indptr[taken : taken + 2])]
        assert [problem.state_labels[target] for target in reached] == [expected]
    assert jumps > 0


def test_wear_is_paid_on_rough_ground_only(problem: CSSP) -> None:
    rough = {
        label[:2] for label, wears in zip(problem.state_labels, wear_of_states(problem), strict=True) if wears
    }
    # The first rough character of the track is in column 6 and row 1 of the sketch.
    assert (18, 3) in rough
    assert (4, 4) not in rough
    assert set(np.unique(problem.costs[1])) == {0.0, 1.0}
    assert (problem.costs[0] == 1.0).all()


def wear_of_states(problem: CSSP) -> list[float]:
    acting = np.diff(problem.row_start) > 0
    wear = np.zeros(problem.num_states)
    wear[acting] = problem.costs[1, problem.row_start[:-1][acting]]
    return wear.tolist()


def test_mistakes_are_told_together() -> None:
    with pytest.raises(InvalidProblem) as raised:
        racetrack(scale=0, max_speed=0, slip=1.0)
    assert raised.value.violations == (
        "the scale of the racetrack is 0; it must be at least 1",
        "the maximal speed on the racetrack is 0; it must be at least 1",
        "the slip on the racetrack is 1.0; it must be at least 0 and less than 1",
    )


def cheapest_way(problem: CSSP, allowed: float) -> float:
    """The least cost of a way to the finish that spends at most `allowed`, if nothing is left to chance."""
    goals = set(np.flatnonzero(problem.goals).tolist())
    successor = problem.transitions.tocsr().indices
    assert len(successor) == problem.num_rows
    known: dict[int, list[tuple[float, float]]] = {}
    waiting = [(0.0, 0.0, int(problem.initial.argmax()))]
    while waiting:
        cost, spent, state = heapq.heappop(waiting)
        if state in goals:
            return cost
        labels = known.setdefault(state, [])
        if any(each <= cost and other <= spent for each, other in labels):
            continue
        labels.append((cost, spent))
        for row in range(int(problem.row_start[state]), int(problem.row_start[state + 1])):
            more, wear = problem.costs[:, row].tolist()
            if spent + wear <= allowed + 1e-9:
                heapq.heappush(waiting, (cost + more, spent + wear, int(successor[row])))
    raise AssertionError("no way keeps the bound")


@pytest.mark.parametrize(("bound", "steps"), [(0.0, 13.0), (1.0, 12.0), (50.0, 11.0)])
def test_without_slipping_the_best_plan_is_the_cheapest_way(bound: float, steps: float) -> None:
    problem = racetrack(scale=1, max_speed=2, slip=0.0, bound=bound)
    assert cheapest_way(problem, bound) == steps
    plan = solve(problem)
    assert plan.upper_bound == pytest.approx(steps, rel=1e-9)
    assert plan.lower_bound == pytest.approx(steps, rel=1e-6)
