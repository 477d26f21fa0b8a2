from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp import CSSPBuilder
from hcssp.errors import InvalidProblem


def violations_of(plan: CSSPBuilder) -> tuple[str, ...]:
    with pytest.raises(InvalidProblem) as raised:
        plan.build()
    return raised.value.violations


def small_plan() -> CSSPBuilder:
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 3.0})
    plan.add_state("home")
    plan.add_goal("out")
    plan.add_action("home", "walk", to="out", costs=1.0)
    return plan


def test_rows_are_grouped_by_state_whatever_the_order() -> None:
    plan = CSSPBuilder()
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    plan.add_action(second, "b", to=out, costs=2.0)
    plan.add_action(first, "a", to={second: 0.25, out: 0.75}, costs=1.0)
    plan.add_action(second, "c", to=first, costs=3.0)
    problem = plan.build()
    assert problem.row_start.tolist() == [0, 1, 3, 3]
    assert problem.action_labels == ("a", "b", "c")
    assert problem.costs.tolist() == [[1.0, 2.0, 3.0]]
    assert problem.transitions.toarray().tolist() == [[0, 0.25, 0.75], [0, 0, 1], [1, 0, 0]]


def test_handles_and_labels_are_interchangeable() -> None:
    plan = small_plan()
    home = plan.add_goal("out")
    assert (home.index, home.label) == (1, "out")
    action = plan.add_action("home", "run", to={home: 0.5, "home": 0.5}, costs={"damage": 1.0})
    assert (action.state.label, action.label) == ("home", "run")
    problem = plan.build()
    assert problem.costs.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert problem.bounds.tolist() == [3.0]


def test_the_first_state_is_initial_unless_another_is_set() -> None:
    assert small_plan().build().initial.tolist() == [1.0, 0.0]
    plan = small_plan()
    porch = plan.add_state("porch")
    plan.add_action(porch, "leave", to="out")
    plan.set_initial({porch: 0.75, "home": 0.25})
    assert plan.build().initial.tolist() == [0.25, 0.0, 0.75]


def test_arrival_costs_are_folded() -> None:
    plan = small_plan()
    plan.add_action(
        "home",
        "run",
        to={"home": 0.25, "out": 0.75},
        costs=[1.0, 0.5],
        arrival_costs={"home": {"damage": 4.0}, "out": 2.0},
    )
    assert plan.build().costs[:, 1].tolist() == [1.0 + 0.75 * 2.0, 0.5 + 0.25 * 4.0]


def test_states_without_a_label_are_called_by_number() -> None:
    plan = CSSPBuilder()
    plan.add_state(1)
    assert plan.add_state().label == 2
    assert plan.add_goal().label == 3


def test_impossible_successors_are_forgotten() -> None:
    plan = small_plan()
    plan.add_action("home", "wait", to={"out": 1.0, "home": 0.0})
    assert plan.build().transitions.nnz == 2


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (
            lambda plan: plan.add_action("home", "fly", to="moon"),
            "state 'home', action 'fly': it leads to state 'moon', which is unknown; add it with add_state",
        ),
        (
            lambda plan: plan.add_action("moon", "fly", to="out"),
            "state 'moon', action 'fly': it belongs to state 'moon', which is unknown; add it with add_state",
        ),
        (
            lambda plan: plan.set_initial("moon"),
            "the initial distribution names state 'moon', which is unknown; add it with add_state",
        ),
        (
            lambda plan: plan.add_action("home", "fly", to=CSSPBuilder().add_state("out")),
            "state 'home', action 'fly': it leads to state 'out', which was made by another builder; "
            "add it to this one",
        ),
        (
            lambda plan: plan.add_goal(CSSPBuilder().add_state("moon")),
            "add_goal names state 'moon', which was made by another builder; add it to this one",
        ),
        (
            lambda plan: plan.add_state("home"),
            "state 'home': two states have this label; give each its own",
        ),
        (
            lambda plan: plan.add_action("home", "walk", to="out"),
            "state 'home', action 'walk': the state has two actions of this name; give each its own",
        ),
        (
            lambda plan: plan.add_action("home", "run", to={"out": 0.95}),
            "state 'home', action 'run': probabilities sum to 0.95, not 1",
        ),
        (
            lambda plan: plan.add_action("home", "run", to={"out": "often"}),
            "state 'home', action 'run': the probability of reaching state 'out' is 'often', "
            "which is not a number",
        ),
        (
            lambda plan: plan.add_action("home", "run", to="out", costs={"noise": 1.0}),
            "state 'home', action 'run': there is no cost 'noise'; the costs are 'time', 'damage'",
        ),
        (
            lambda plan: plan.add_action("home", "run", to="out", costs=[1.0]),
            "state 'home', action 'run': 1 costs are given, but there are 2: 'time', 'damage'",
        ),
        (
            lambda plan: plan.add_action("home", "run", to="out", costs="much"),
            "state 'home', action 'run': the cost 'time' is 'much', which is not a number",
        ),
        (
            lambda plan: plan.add_action("home", "run", to="out", costs={"damage": np.nan}),
            "state 'home', action 'run': the cost 'damage' is nan; costs must be finite and not negative",
        ),
        (
            lambda plan: plan.add_action("home", "run", to="out", arrival_costs={"home": 1.0}),
            "state 'home', action 'run': arrival_costs names state 'home', which `to` does not; "
            "name it the same way",
        ),
        (
            lambda plan: plan.add_action("out", "return", to="home"),
            "state 'out', action 'return': the state is a goal, which ends everything; remove the action",
        ),
        (
            lambda plan: plan.set_bound("noise", at_most=1.0),
            "bound on 'noise': no such secondary cost; the secondary costs are 'damage'",
        ),
    ],
)
def test_each_mistake_is_told_when_building(wrong: object, expected: str) -> None:
    plan = small_plan()
    plan.set_initial("home")
    wrong(plan)  # type: ignore[operator]
    assert expected in violations_of(plan)


def test_one_mistake_is_told_once() -> None:
    plan = small_plan()
    plan.add_action("home", "fly", to={"moon": 0.5, "out": 0.5})
    assert len(violations_of(plan)) == 1
    plan = small_plan()
    plan.set_initial("moon")
    assert len(violations_of(plan)) == 1


def test_an_empty_plan_says_so() -> None:
    plan = small_plan()
    plan.set_initial({})
    assert violations_of(plan) == ("there is no initial state; set one",)
    assert violations_of(CSSPBuilder()) == ("there is no state; add at least one, and a goal",)
    plan = CSSPBuilder()
    plan.set_initial("moon")
    assert len(violations_of(plan)) == 2
