"""What rounding hides from a search is decided in rational numbers, against all policies enumerated apart."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from hcssp.checker import check
from hcssp.contract.progress import Gap
from hcssp.contract.proof import Reason, Status
from hcssp.cssp import CSSP, CSSPBuilder
from hcssp.numerics import FEASIBILITY_TOLERANCE, Tolerances
from hcssp.solving import proving
from hcssp.solving.solve import solve
from referee.wild_problems import FLAT, PROCEDURES, make_case
from volume import FULL


def endless(steps: int = 60, exit_cost: float = 1e15) -> CSSP:
    """Steps of which each may lead back to the first, 2 ** steps of them or so; or a way out at a price."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    states = [*(plan.add_state(index) for index in range(steps)), plan.add_goal("out")]
    for here, after in pairwise(states):
        plan.add_action(here, "on", to={after: 0.5, states[0]: 0.5}, costs={"time": 1})
        plan.add_action(here, "leave", to=states[-1], costs={"time": exit_cost})
    plan.set_initial(states[0])
    return plan.build()


def test_what_rounding_hides_is_proven() -> None:
    plan = solve(endless())
    assert plan.status == "optimal"
    assert plan.ending.reason is Reason.PROVED
    assert 1e15 * (1.0 - 1e-9) <= plan.lower_bound <= plan.upper_bound == 1e15
    assert plan.trace[-1].lower_bound == plan.lower_bound
    assert check(plan.problem, plan.certificate, exact=True).lower_bound == plan.lower_bound


def test_a_gap_that_is_not_reached_is_left_to_rounding() -> None:
    plan = solve(endless(), stop=Gap(1e-16))
    assert plan.status == "optimal"
    assert plan.ending.reason is Reason.ROUNDING


@pytest.mark.parametrize("feasibility", [1e-9, 1e-6])
def test_a_looser_tolerance_is_not_what_a_certificate_is_about(feasibility: float) -> None:
    plan = solve(endless(), tolerances=Tolerances(feasibility=feasibility))
    assert (plan.status == "optimal") == (feasibility == 1e-9)
    assert plan.lower_bound <= 1e15


EDGES = (0.9, 0.9995, 1.0005, 2.0)
"""By how many tolerances some policy exceeds its bounds; up to one of them it counts as feasible."""


@pytest.mark.parametrize("family", [*FLAT, *PROCEDURES][:: 1 if FULL else 3])
def test_no_small_problem_is_left_open(family: str) -> None:
    """Under several bounds on their edges, and under bounds that are nearly nothing."""
    for seed in range(3):
        case = make_case(family, 7000 + seed)
        rng = np.random.default_rng(seed)
        if not case.truth.policies:
            continue
        chosen = case.truth.policies[int(rng.integers(len(case.truth.policies)))]
        names = case.problem.constraint_names
        on_edge = [
            float(cost) / (1.0 + FEASIBILITY_TOLERANCE * rng.choice(EDGES)) for cost in chosen.costs[1:]
        ]
        for bounds in (on_edge, [*on_edge[:-1], -1e-12], [*on_edge[:-1], 5e-324]):
            plan = solve(case.problem.with_bounds(dict(zip(names, bounds, strict=True))))
            allowed = [Fraction(FEASIBILITY_TOLERANCE) * abs(Fraction(bound)) for bound in bounds]
            kept = [each.costs[0] for each in case.truth.policies if each.keeps(bounds, allowed)]
            if not kept:
                assert plan.status is Status.INFEASIBLE
                continue
            assert plan.status is Status.OPTIMAL
            assert Fraction(plan.lower_bound) <= min(kept)
            assert plan.upper_bound == pytest.approx(float(min(kept)), rel=1e-6)


def test_enumeration_is_given_up_where_there_are_too_many_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    edge = make_case("natural", 7000)
    chosen = edge.truth.policies[-1]
    bounds = [float(cost) / (1.0 + 0.9995 * FEASIBILITY_TOLERANCE) for cost in chosen.costs[1:]]
    problem = edge.problem.with_bounds(dict(zip(edge.problem.constraint_names, bounds, strict=True)))
    monkeypatch.setattr(proving, "MOST_POLICIES", 1)
    plan = solve(problem)
    assert plan.lower_bound <= float(chosen.costs[0]) * (1.0 + 1e-12) < inf
