"""The referee's problems are what they are said to be; were they tame, its verdicts would say little."""

from __future__ import annotations

from functools import cache
from math import inf

import numpy as np
import pytest

from hcssp.cssp.model import CSSP
from hcssp.procedure.model import HCSSP
from referee.exact_policies import ExactPolicy, ExactProblem
from referee.wild_problems import FAMILIES, Case, make_case


@cache
def cases(family: str) -> list[Case]:
    """Some of a family, made when a test first asks for them and not while tests are collected."""
    return [make_case(family, seed) for seed in range(4)]


def every_case() -> list[Case]:
    return [case for family in FAMILIES for case in cases(family)]


def test_a_family_and_a_seed_name_a_problem_for_good() -> None:
    again = make_case("retries: loops", 3)
    first = cases("retries: loops")[3]
    assert again.problem == first.problem
    assert again.problem != cases("retries: loops")[2].problem


@pytest.mark.parametrize("family", FAMILIES)
def test_they_are_exact(family: str) -> None:
    """Probabilities that miss one by rounding would be another problem for everyone who reads them."""
    for case in cases(family):
        assert ExactProblem.of(case.problem).sums_to_one


def test_they_are_of_all_kinds() -> None:
    every = every_case()
    optima = [case.truth.optimum(case.bounds) for case in every]
    feasible = [(case, best) for case, best in zip(every, optima, strict=True) if best is not None]
    assert {len(case.bounds) for case in every} == {1, 2, 3}
    assert sum(0.0 in case.bounds for case in every) > 20
    assert sum(inf in case.bounds for case in every) > 5
    assert sum(not case.truth.policies for case in every) > 2
    assert len(every) - len(feasible) > 30
    binding = [
        case for case, best in feasible if best.costs[0] > min(p.costs[0] for p in case.truth.policies)
    ]
    assert len(binding) > 30
    assert sum(_is_met(case, best) for case, best in feasible) > 30
    assert sum(_is_tied(case, best) for case, best in feasible) > 20


def test_their_numbers_span_what_doubles_can_tell_apart() -> None:
    every = every_case()
    costs = [cost for case in every for policy in case.truth.policies for cost in policy.costs if cost]
    assert max(costs) / min(costs) > 1e20
    chances = np.concatenate([_flat(case.problem).transitions.data for case in every])
    assert chances.min() <= 2.0**-30
    assert np.any((chances < 1.0) & (chances >= 1.0 - 2.0**-30))


def test_procedures_retry_have_several_exits_and_odd_activities() -> None:
    procedures = [case.problem for case in every_case() if isinstance(case.problem, HCSSP)]
    assert sum(not problem.flattening.separable for problem in procedures) > 12
    assert sum(_goes_back(problem) for problem in procedures) > 12
    rooms = [activity.cssp for problem in procedures for activity in problem.activities]
    assert sum(bool((room.initial[room.goals] > 0.0).any()) for room in rooms) > 3
    stuck = [room for room in rooms if not room.transitions[:, np.flatnonzero(room.goals)].nnz]
    assert len(stuck) > 3


def _is_met(case: Case, best: ExactPolicy) -> bool:
    """Whether the best policy uses up a bound, but for a hair."""
    pairs = zip(best.costs[1:], case.bounds, strict=True)
    return any(0.0 < bound < inf and abs(float(cost) - bound) <= 1e-8 * bound for cost, bound in pairs)


def _is_tied(case: Case, best: ExactPolicy) -> bool:
    return sum(policy.costs[0] == best.costs[0] for policy in case.truth.policies) > 1


def _flat(problem: CSSP | HCSSP) -> CSSP:
    return problem.flattening.cssp if isinstance(problem, HCSSP) else problem


def _goes_back(problem: HCSSP) -> bool:
    return any(outcome.event <= choice.event for choice in problem.choices for outcome in choice.outcomes)
