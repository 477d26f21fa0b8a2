"""Activities that exits tie together, taken as one."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.evaluation import evaluate
from hcssp.procedure import Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.procedure.grouping import grouped
from random_nestings import random_tied
from small_procedures import corridor, drone, fork, fork_in_the_middle, forking


def test_a_group_is_no_larger_than_it_must_be() -> None:
    problem = fork_in_the_middle()
    made = grouped(problem)
    names = [activity.name for activity in made.problem.activities]
    assert names == ["first", "choose + walk", "detour", "last"]
    assert made.members == ((0,), (2, 3), (4,), (1,))
    assert made.problem.events == ("start", "near", "far", "out")
    assert made.problem.flattening.separable
    # What is alone is not copied.
    assert made.problem.activities[0].cssp is problem.activities[0].cssp


def test_a_crash_ties_all_that_comes_after_it() -> None:
    made = grouped(drone())
    assert [activity.name for activity in made.problem.activities] == ["first leg + second leg + walk home"]
    assert grouped(forking()).members == ((0, 1),)


@pytest.mark.parametrize("seed", range(16))
def test_policies_and_their_costs_are_those_of_the_original(seed: int) -> None:
    problem = random_tied(seed)
    made = grouped(problem)
    assert made.problem.flattening.separable
    ours, theirs = brute_force(made.problem), brute_force(problem)
    assert _points(ours.costs) == _points(theirs.costs)
    for rows, costs in list(zip(ours.rows, ours.costs, strict=True))[:5]:
        lifted = made.lift(ProcedurePolicy(made.problem, rows))
        assert lifted.problem is problem
        assert evaluate(problem, lifted).costs == pytest.approx(costs)


def test_a_group_that_begins_at_an_event_takes_its_choices_in() -> None:
    # Both ways lead to the hall in one of its two states, so the group begins before they part.
    plan = ProcedureBuilder()
    start, hall, out = (plan.add_event(name) for name in ("start", "hall", "out"))
    parts = [plan.add_activity(name, fork()) for name in ("one", "other")]
    walk = plan.add_activity("walk", corridor())
    for part, name in zip(parts, ("one", "other"), strict=True):
        plan.add_choice(start, name, to=[Outcome(1.0, hall, runs=part)])
    plan.add_choice(hall, "walk", to=[Outcome(1.0, out, runs=walk)])
    plan.add_constraint("damage", at_most=9.0, counts={parts[1]: "damage"})
    problem = plan.build(start=start, end=out)
    made = grouped(problem)
    assert made.members == ((0, 1, 2),)
    assert [choice.name for choice in made.problem.choices] == ["begin"]
    assert _points(brute_force(made.problem).costs) == _points(brute_force(problem).costs)


def _points(costs: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(point) for point in (np.round(costs, 9) + 0.0).tolist()}
