"""Heuristic search against brute force: the optimum, and every bound on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hcssp
from brute_force import brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Reason
from hcssp.cssp.expansion import ExpandedCSSP, Expansion
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.dual.implicit import ImplicitOracle
from hcssp.errors import DeadEnd, InvalidProblem, OutOfPrecision, UnsupportedProblem
from hcssp.ssp.scalar_problem import Region
from implicit_problems import highest_heuristic, implicit_of, walk_or_skate
from random_problems import random_cssp
from volume import examples


def checked(problem: CSSP, heuristic: np.ndarray | None) -> Plan:
    """The plan of the implicit problem, once everything that was told has been compared with brute force."""
    truth = brute_force(problem)
    number = problem.state_index
    told: list[Progress] = []
    plan = hcssp.solve(
        implicit_of(problem, None if heuristic is None else lambda s: heuristic[:, number[s]].tolist()),
        on_progress=told.append,
    )
    assert plan.status.value == truth.status
    if truth.status == "optimal":
        assert plan.upper_bound == pytest.approx(truth.value, rel=1e-6)
    for step in told:
        assert step.lower_bound <= truth.value * (1.0 + 1e-12) + 1e-12
        assert step.upper_bound >= truth.value * (1.0 - 1e-7)
    return plan


@settings(max_examples=examples(10))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "highest", "some", "inconsistent"]))
def test_the_optimum_is_that_of_brute_force(seed: int, kind: str) -> None:
    problem = random_cssp(seed)
    highest = highest_heuristic(problem)
    rng = np.random.default_rng(seed)
    heuristic = {
        "none": None,
        "highest": highest,
        "some": highest * (rng.random((len(highest), 1))),
        "inconsistent": highest * rng.random(highest.shape),
    }[kind]
    plan = checked(problem, heuristic)
    if plan.found:
        assert isinstance(plan.problem, ExpandedCSSP)
        assert not (plan.policy.rows[plan.problem.frontier] >= 0).any()


def line(length: int = 40, bound: float = 4.0) -> ImplicitCSSP:
    """A way along the integers: walk, or skate two at a time, which may fail and bruises."""
    return ImplicitCSSP.in_batches(
        (0,),
        walk_or_skate(2.0, length + 1),
        lambda states: states[:, 0] >= length,
        lambda states: np.maximum(length - states[:, 0], 0.0),
        ("walk", "skate"),
        ("minutes", "bruises"),
        {"bruises": bound},
        name="line",
    )


@pytest.fixture(scope="module")
def solved() -> Plan:
    return hcssp.solve(line())


def test_batches_and_enumeration_agree(solved: Plan) -> None:
    whole = hcssp.solve(line().enumerated())
    assert solved.upper_bound == pytest.approx(whole.upper_bound, rel=1e-6)
    assert solved.cost("bruises") <= 4.0 + 1e-8
    assert solved.action((0,)) in ("walk", "skate")
    assert solved.evaluate().cost("minutes") == pytest.approx(solved.upper_bound)
    assert solved.simulate(runs=2000).mean("minutes").value == pytest.approx(solved.upper_bound, rel=0.05)


def test_the_plan_is_resolved_with_what_was_expanded(solved: Plan) -> None:
    other = solved.resolve(bruises=8.0)
    fresh = hcssp.solve(line(bound=8.0).enumerated())
    assert other.upper_bound == pytest.approx(fresh.upper_bound, rel=1e-6)
    assert isinstance(other.problem, ExpandedCSSP)
    assert other.bounds == {"bruises": 8.0}


def test_a_plan_is_a_start_for_the_same_problem_told_anew(solved: Plan) -> None:
    plan = hcssp.solve(line(), start=solved, stop=hcssp.MaxIterations(0))
    assert plan.upper_bound == pytest.approx(solved.upper_bound)
    assert plan.lower_bound <= solved.upper_bound


def test_what_was_expanded_proves_the_bound(solved: Plan) -> None:
    verdict = hcssp.check(solved.problem, solved.certificate)
    assert verdict.lower_bound == pytest.approx(solved.lower_bound, rel=1e-5)
    assert verdict.upper_bound == pytest.approx(solved.upper_bound, rel=1e-6)


def test_an_endless_space_is_solved_in_part() -> None:
    def transitions(state: int, action: int) -> dict[int, float]:
        return {state + action: 0.8, state - action: 0.2}

    problem = ImplicitCSSP(
        0,
        lambda state: (1, -1),
        transitions,
        lambda state, action: 1.0,
        lambda state: state in (-3, 3),
        lambda state: (3 - abs(state)) / 0.6 if abs(state) <= 3 else 0.0,
        consistent=False,
    )
    plan = hcssp.solve(problem)
    assert plan.status.value == "optimal"
    assert plan.problem.num_states <= 9


def test_a_dead_end_is_told() -> None:
    problem = ImplicitCSSP(
        0, lambda s: ("on",), lambda s, a: {min(s + 1, 5): 1.0}, lambda s, a: 1.0, lambda s: s < 0
    )
    with pytest.raises(DeadEnd, match="dead end"):
        hcssp.solve(problem)


def test_an_explicit_problem_is_refused() -> None:
    with pytest.raises(UnsupportedProblem, match="use the method 'exact'"):
        hcssp.solve(random_cssp(1), hcssp.HeuristicSearch())


def test_more_states_than_allowed() -> None:
    problem = ImplicitCSSP(
        0, lambda s: ("on",), lambda s, a: {s + 1: 1.0}, lambda s, a: 1.0, lambda s: False, max_states=50
    )
    with pytest.raises(InvalidProblem, match="more than 50 states were met"):
        hcssp.solve(problem)


def test_it_can_be_stopped() -> None:
    plan = hcssp.solve(line(), stop=hcssp.MaxIterations(1))
    assert plan.ending.reason is Reason.ITERATIONS
    assert plan.lower_bound > 0.0


def test_a_search_without_time_has_no_plan_but_ends() -> None:
    plan = hcssp.solve(line(400), stop=hcssp.MaxRuntime(0.0))
    assert plan.ending.reason is Reason.TIME_LIMIT
    assert 0.0 <= plan.lower_bound <= 800.0


def test_memory_is_asked_for_while_states_are_expanded() -> None:
    plan = hcssp.solve(line(4000), stop=hcssp.MaxMemory(1.0))
    assert plan.ending.reason is Reason.MEMORY
    assert plan.problem.num_expanded == 0


def test_a_policy_that_slips_seldom_and_far_is_closed() -> None:
    """Every step may slip onto one of many long ways back: the policy says what to do there, and no more."""

    def transitions(place: tuple[int, int], action: str) -> dict[tuple[int, int], float]:
        along, aside = place
        if aside:
            return {(along, aside - 1): 1.0} if action == "back" else {(along + 1, aside + 1): 1.0}
        return {(along + 1, 0): 0.999, (along, 12): 0.001}

    problem = ImplicitCSSP(
        (0, 0),
        lambda place: ("back", "astray") if place[1] else ("on",),
        transitions,
        lambda place, action: 1.0,
        lambda place: place[0] >= 30 and place[1] == 0,
        lambda place: max(30 - place[0], 0) + place[1] if place[1] else max(30 - place[0], 0),
    )
    plan = hcssp.solve(problem, stop=hcssp.Gap(1e-3))
    assert plan.gap <= 1e-3
    assert plan.problem.num_expanded <= 30 * 13 + 30


def test_before_anything_is_expanded_nothing_is_proven() -> None:
    problem = line(length=1)
    oracle = ImplicitOracle(Expansion(problem), np.array([4.0]))
    assert oracle.proven == 0.0


def trapped(way_out: float) -> ImplicitCSSP:
    """Safely for 5, or for 1 with a chance of a pit and the trap in it, which may have a way out."""
    moves: dict[tuple[str, str], tuple[dict[str, float], float]] = {
        ("start", "safely"): ({"goal": 1.0}, 5.0),
        ("start", "riskily"): ({"goal": 0.5, "pit": 0.5}, 1.0),
        ("pit", "fall"): ({"trap": 1.0}, 1.0),
        ("trap", "stay"): ({"trap": 1.0}, 1.0),
    }
    if way_out:
        moves["trap", "leave"] = ({"goal": 1.0}, way_out)
    return ImplicitCSSP(
        "start",
        lambda state: [action for own, action in moves if own == state],
        lambda state, action: moves[state, action][0],
        lambda state, action: moves[state, action][1],
        lambda state: state == "goal",
    )


@pytest.mark.parametrize(("way_out", "least"), [(0.0, 5.0), (4.0, 3.5), (100.0, 5.0)])
def test_what_is_dead_is_left_out_of_a_proof_and_nothing_else_is(way_out: float, least: float) -> None:
    oracle = ImplicitOracle(Expansion(trapped(way_out)), np.zeros(0))
    for _ in range(2):
        found = oracle.minimise(np.ones(1), Region())
        assert found is not None
        assert found.point.costs[0] == pytest.approx(least)
        assert least * (1.0 - 1e-5) <= found.bound <= least
    assert oracle.proven == found.bound


def test_questions_about_parts_and_about_uses_alone_are_left_to_the_exact_method() -> None:
    oracle = ImplicitOracle(Expansion(trapped(4.0)), np.zeros(0))
    for weights, region in (
        (np.ones(1), Region().forbid([0])),
        (np.zeros(1), Region()),
        (np.zeros(1), Region().forbid([0])),
    ):
        with pytest.raises(OutOfPrecision, match="a part of its policies"):
            oracle.minimise(weights, region)
