from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import brute_force
from hcssp.cssp import CSSP, CSSPBuilder, DeterministicPolicy, collapse_free_loops, free_loops, prepare
from hcssp.cssp.collapse import NO_LOOP
from hcssp.evaluation import evaluate, is_proper
from random_problems import cssps, random_cssp


def roundabout() -> CSSP:
    """Three places to circle for free, with two ways out; a free step that may leave is no loop."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    first, second, third, porch = (plan.add_state(label) for label in ("first", "second", "third", "porch"))
    out = plan.add_goal("out")
    plan.add_action(first, "round", to={second: 0.5, third: 0.5})
    plan.add_action(second, "round", to=third)
    plan.add_action(third, "round", to=first)
    plan.add_action(third, "leave", to=out, costs={"time": 5.0})
    plan.add_action(second, "dash", to={porch: 0.5, second: 0.5}, costs={"damage": 1.0})
    plan.add_action(porch, "leave", to={out: 0.5, porch: 0.5}, costs={"time": 1.0})
    return plan.build()


def without_bounds(problem: CSSP, scalar: np.ndarray) -> CSSP:
    """The scalar problem itself, for the judge."""
    return CSSP(
        transitions=problem.transitions,
        row_start=problem.row_start,
        costs=scalar[np.newaxis],
        initial=problem.initial,
        goals=problem.goals,
        cost_names=("weighted",),
        bounds=np.zeros(0),
    )


def test_loops_are_the_maximal_end_components() -> None:
    loops = free_loops(roundabout(), [1.0, 1.0])
    assert loops.component.tolist() == [0, 0, 0, NO_LOOP, NO_LOOP]
    assert np.flatnonzero(loops.rows).tolist() == [0, 1, 3]
    assert loops.count == 1


def test_a_free_step_that_may_leave_is_no_loop() -> None:
    loops = free_loops(roundabout(), [1.0, 0.0])
    assert loops.component.tolist() == [0, 0, 0, NO_LOOP, NO_LOOP]
    assert free_loops(roundabout(), [1.0, 0.0]).rows[2] == np.False_


def test_several_loops_and_loops_of_one_state() -> None:
    plan = CSSPBuilder()
    waiting, left, right, out = (plan.add_state(), plan.add_state(), plan.add_state(), plan.add_goal())
    plan.add_action(waiting, "wait", to=waiting)
    plan.add_action(waiting, "go", to=left, costs=1.0)
    plan.add_action(left, "cross", to=right)
    plan.add_action(right, "cross", to=left)
    plan.add_action(right, "stop", to=out, costs=1.0)
    loops = free_loops(plan.build(), [1.0])
    assert loops.count == 2
    assert loops.component[0] != loops.component[1] == loops.component[2] != NO_LOOP
    assert loops.component[3] == NO_LOOP


def test_without_loops_nothing_changes() -> None:
    problem = roundabout()
    scalar = problem.costs[0] + 1.0
    collapsed = collapse_free_loops(problem, scalar)
    assert collapsed.loops.count == 0
    assert collapsed.state_map.tolist() == list(range(5))
    assert collapsed.row_map.tolist() == list(range(6))
    assert (collapsed.problem.transitions != problem.transitions).nnz == 0
    assert collapsed.problem.costs[0].tolist() == scalar.tolist()
    assert collapsed.expand(np.array([0, 1, 3, 5, -1])).tolist() == [0, 1, 3, 5, -1]


def test_a_loop_becomes_one_state_that_keeps_its_exits() -> None:
    collapsed = collapse_free_loops(roundabout(), roundabout().costs[0])
    assert collapsed.state_map.tolist() == [0, 0, 0, 1, 2]
    assert list(collapsed.problem.state_labels) == ["first", "porch", "out"]
    assert list(collapsed.problem.action_labels) == ["dash", "leave", "leave"]
    assert collapsed.problem.transitions.toarray().tolist() == [[0.5, 0.5, 0], [0, 0, 1], [0, 0.5, 0.5]]
    assert collapsed.problem.initial.tolist() == [1.0, 0.0, 0.0]
    assert collapsed.problem.costs.tolist() == [[0.0, 5.0, 1.0]]


@pytest.mark.parametrize(("row", "value"), [(0, 2.0), (1, 5.0)])
def test_expanded_policies_head_for_the_exit(row: int, value: float) -> None:
    problem = roundabout()
    collapsed = collapse_free_loops(problem, problem.costs[0])
    policy = DeterministicPolicy(collapsed.expand(np.array([row, 2, -1])))
    assert is_proper(problem, policy)
    assert evaluate(problem, policy).costs[0] == pytest.approx(value)


def test_where_the_policy_never_goes_it_stays_silent() -> None:
    problem = roundabout()
    collapsed = collapse_free_loops(problem, problem.costs[0])
    assert collapsed.expand(np.array([-1, 2, -1])).tolist() == [-1, -1, -1, 5, -1]


def check_collapse(problem: CSSP, weights: np.ndarray) -> bool:
    """Values survive collapsing, and proper policies expand to a proper one of the same cost."""
    reduced = prepare(problem).problem
    scalar = weights @ reduced.costs
    collapsed = collapse_free_loops(reduced, scalar)
    assert free_loops(collapsed.problem, [1.0]).count == 0
    original = without_bounds(reduced, scalar)
    small = brute_force(collapsed.problem)
    assert small.value == pytest.approx(brute_force(original).value)
    for rows, costs in zip(small.policies[:25], small.costs[:25], strict=True):
        expanded = DeterministicPolicy(collapsed.expand(rows))
        assert is_proper(original, expanded)
        assert evaluate(original, expanded).costs[0] == pytest.approx(costs[0])
    return collapsed.loops.count > 0


@settings(max_examples=100, deadline=None)
@given(cssps(zero_costs=1.0), st.sampled_from([0.0, 1.0]))
def test_collapsing_keeps_values_and_expands_to_proper_policies(problem: CSSP, primary: float) -> None:
    weights = np.ones(len(problem.cost_names))
    weights[0] = primary
    check_collapse(problem, weights)


def test_the_random_problems_do_have_loops() -> None:
    collapsed = [
        check_collapse(problem, np.eye(len(problem.cost_names))[1])
        for problem in (random_cssp(seed, zero_costs=1.0) for seed in range(40))
    ]
    assert sum(collapsed) >= 10
