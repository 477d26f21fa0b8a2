from __future__ import annotations

import numpy as np
import pytest

import hcssp
from hcssp.errors import InvalidProblem
from hcssp.scenarios.domains.campus import campus


def test_there_are_as_many_as_the_parameters_say() -> None:
    problem = campus(buildings=3, floors=4, rooms=2, size=5, floor_plans=3)
    names = [use.name for use in problem.uses]
    assert len(names) == 3 + 3 * 4
    assert {name.count("/") for name in names} == {0, 1}
    # A floor has two rooms on either side and one to cross over by.
    assert problem.num_activities == 3 * (2 + 4 * (2 + 5))
    assert problem.flattening.num_states == sum(
        activity.cssp.num_states - 1 for activity in problem.activities
    ) + len(problem.events)


def test_floors_of_a_plan_share_their_rooms() -> None:
    few, many = campus(buildings=1), campus(buildings=5, floors=6)
    distinct = [len({id(each.cssp) for each in problem.activities}) for problem in (few, many)]
    assert distinct == [9, 9]
    assert len({id(use.procedure) for use in many.uses}) == 3


def test_a_bound_makes_the_robot_walk_around_fires() -> None:
    free = hcssp.solve(campus(damage=np.inf))
    bound = hcssp.solve(campus())
    assert free.cost("damage") > 20.0 >= bound.cost("damage")
    assert bound.upper_bound > free.upper_bound
    chosen = [
        bound.policy.choice(f"building-{number}/floor-{floor}") for number in (1, 2) for floor in (1, 2)
    ]
    assert set(chosen) == {"stairs", "lift"}


def test_a_seed_names_a_campus() -> None:
    assert campus(size=5) == campus(size=5)
    assert campus(size=5) != campus(size=5, seed=1)


def test_counts_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidProblem) as caught:
        campus(buildings=0, size=3)
    assert list(caught.value.violations) == [
        "the parameter 'buildings' is set to 0; give a whole number of at least 1",
        "the parameter 'size' is set to 3; give a whole number of at least 4",
    ]
