from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from hcssp.cssp import CSSP, CSSPBuilder, from_arrays
from hcssp.cssp.builder import Assembly
from hcssp.cssp.validation import unsound_rows
from hcssp.errors import InvalidProblem


def assembly(num_states: int, cost_names: tuple[str, ...] = ("time", "damage")) -> Assembly:
    made = Assembly(cost_names)
    for state in range(num_states):
        made.add_state(f"s{state}")
    return made


def test_rows_are_sorted_by_state_and_know_where_they_came_from() -> None:
    made = assembly(3)
    for state, action in ((1, "b"), (0, "x"), (1, "a"), (0, "y")):
        row = made.add_row(state, action, [float(state), 0.0])
        made.add_transitions([row], [2], [1.0])
    table = made.table()
    assert table.action_labels == ("x", "y", "b", "a")
    assert table.row_states.tolist() == [0, 0, 1, 1]
    assert table.origin.tolist() == [1, 3, 0, 2]
    assert table.costs.tolist() == [[0.0, 0.0, 1.0, 1.0], [0.0] * 4]


def test_transitions_of_a_row_may_stand_apart() -> None:
    made = assembly(2)
    one, other = made.add_row(0, "one", [0.0, 0.0]), made.add_row(0, "other", [0.0, 0.0])
    made.add_transitions([one, other, one], [0, 1, 1], [0.25, 1.0, 0.75], [1, 2, 3, 0, 5, 4])
    table = made.table()
    assert table.transitions.toarray().tolist() == [[0.25, 0.75], [0.0, 1.0]]
    assert table.costs.tolist() == [[0.25 * 1 + 0.75 * 5, 3.0], [0.25 * 2 + 0.75 * 4, 0.0]]


def test_costs_that_agree_are_not_rounded() -> None:
    chances = [0.1] * 10
    assert sum(0.3 * chance for chance in chances) != 0.3
    made = assembly(10, ("time",))
    row = made.add_row(0, "go", [0.0])
    made.add_transitions([row] * 10, range(10), chances, [0.3] * 10)
    assert made.table().costs.tolist() == [[0.3]]


def test_an_impossible_successor_costs_nothing() -> None:
    made = assembly(2, ("time",))
    row = made.add_row(0, "go", [2.0])
    made.add_transitions([row, row], [0, 1], [0.0, 1.0], [np.inf, 0.5])
    assert made.table().costs.tolist() == [[2.5]]


def test_a_table_without_the_actions_of_some_states() -> None:
    made = assembly(3, ("time",))
    for state in range(3):
        row = made.add_row(state, f"a{state}", [float(state)])
        made.add_transitions([row], [(state + 1) % 3], [1.0])
    problem = made.table().without_actions_of([1]).cssp({0: 0.5, 2: 0.5}, [1])
    assert problem.row_start.tolist() == [0, 1, 1, 2]
    assert list(problem.action_labels) == ["a0", "a2"]
    assert problem.costs.tolist() == [[0.0, 2.0]]
    assert problem.initial.tolist() == [0.5, 0.0, 0.5]
    assert problem.goals.tolist() == [False, True, False]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0, 1), st.floats(0, 9)),
        min_size=1,
        max_size=12,
    )
)
def test_a_table_is_what_adding_up_gives(entries: list[tuple[int, int, float, float]]) -> None:
    made = assembly(4, ("time",))
    rows = [made.add_row(state, "go", [1.0]) for state in (2, 0, 3, 1)]
    transitions, costs = np.zeros((4, 4)), np.ones(4)
    for position, successor, probability, cost in entries:
        made.add_transitions([rows[position]], [successor], [probability], [cost])
        transitions[position, successor] += probability
    for position in range(4):
        own = [(p, cost) for where, _, p, cost in entries if where == position and p]
        agree = len({cost for _, cost in own}) == 1
        if own:
            costs[position] = 1.0 + own[0][1] if agree else sum(p * (1.0 + cost) for p, cost in own)
    table = made.table()
    np.testing.assert_allclose(table.transitions.toarray(), transitions[table.origin], rtol=1e-12)
    np.testing.assert_allclose(table.costs[0], costs[table.origin], rtol=1e-12)


def test_rows_that_are_not_sound_are_told() -> None:
    made = assembly(2, ("time",))
    rows = [made.add_row(0, action, [0.0]) for action in "abc"]
    made.add_transitions([rows[0], rows[1]], [1, 1], [1.0, 0.5])
    assert list(unsound_rows(made.table().transitions)) == [
        (1, "probabilities sum to 0.5, not 1"),
        (2, "it leads nowhere; give it at least one next state"),
    ]


def test_costs_by_name_must_be_known() -> None:
    made = assembly(1)
    assert made.cost_vector("here", {"damgae": 1.0, "time": 2.0}) == [2.0, 0.0]
    assert made.found == ["here: there is no cost 'damgae'; did you mean 'damage'?"]


@pytest.mark.parametrize("arrivals", [None, [0.0, 0.0]])
def test_paying_nothing_on_arrival_changes_nothing(arrivals: list[float] | None) -> None:
    made = assembly(2, ("time",))
    row = made.add_row(0, "go", [0.1])
    made.add_transitions([row, row], [0, 1], [0.3, 0.7], arrivals)
    assert made.table().costs.tolist() == [[0.1]]


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


ROWS = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.25, 0.75]])
ROW_STATES = [1, 0, 1]


def by_rows(**changes: Any) -> CSSP:
    arguments: dict[str, Any] = {
        "transitions": ROWS,
        "costs": {"time": [1.0, 2.0, 3.0], "damage": 4.0},
        "row_states": ROW_STATES,
        "initial": 0,
        "goals": [2],
        "action_labels": ("a", "b", "c"),
    }
    return from_arrays(**{**arguments, **changes})


def by_action(**changes: Any) -> CSSP:
    transitions = np.zeros((3, 2, 3))
    transitions[0, 1] = ROWS[1]
    transitions[1] = ROWS[[0, 2]]
    arguments: dict[str, Any] = {
        "transitions": transitions,
        "costs": {"time": [[9.0, 2.0], [1.0, 3.0], [9.0, 9.0]], "damage": 4.0},
        "initial": [1.0, 0.0, 0.0],
        "goals": [False, False, True],
        "bounds": {"damage": 5.0},
        "action_labels": ("left", "right"),
        "state_labels": ("x", "y", "z"),
    }
    return from_arrays(**{**arguments, **changes})


@pytest.mark.parametrize("convert", [np.asarray, csr_array, coo_array, np.ndarray.tolist])
def test_rows_in_any_order_dense_or_sparse(convert: Any) -> None:
    problem = by_rows(transitions=convert(ROWS))
    assert problem.row_start.tolist() == [0, 1, 3, 3]
    assert problem.transitions.toarray().tolist() == ROWS[[1, 0, 2]].tolist()
    assert problem.costs.tolist() == [[2.0, 1.0, 3.0], [4.0, 4.0, 4.0]]
    assert list(problem.action_labels) == ["b", "a", "c"]
    assert problem.bounds.tolist() == [np.inf]


def test_by_state_and_action_without_the_missing_ones() -> None:
    problem = by_action()
    assert problem.transitions.toarray().tolist() == ROWS[[1, 0, 2]].tolist()
    assert problem.costs.tolist() == [[2.0, 1.0, 3.0], [4.0, 4.0, 4.0]]
    assert list(problem.action_labels) == ["right", "left", "right"]
    assert problem.state_labels == ("x", "y", "z")
    assert list(by_action(action_labels=()).action_labels) == [1, 0, 1]


def test_costs_on_arrival_are_folded() -> None:
    arrival = np.array([[8.0, 4.0, np.inf], [np.nan, 0.0, 1.0], [7.0, 4.0, 8.0]])
    expected = [1.0, 6.0, 7.0]
    assert by_rows(costs={"time": arrival}).costs[0].tolist() == expected
    finite = np.where(np.isfinite(arrival), arrival, 0.0)
    assert by_rows(costs={"time": csr_array(finite)}).costs[0].tolist() == expected
    cube = np.zeros((3, 2, 3))
    cube[0, 1], cube[1] = arrival[1], arrival[[0, 2]]
    assert by_action(costs={"time": cube}, bounds=None).costs[0].tolist() == expected


def test_the_users_matrix_is_left_alone() -> None:
    matrix = csr_array((np.array([0.5, 0.5]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    problem = from_arrays(matrix, {"cost": 1.0}, row_states=[0], initial=0, goals=[1])
    assert problem.transitions.nnz == 1
    assert matrix.nnz == 2


@pytest.mark.parametrize(
    ("maker", "changes", "expected"),
    [
        (
            by_rows,
            {"row_states": None},
            "transitions has shape (3, 3) without row_states; give (states, actions, states) without, "
            "or (rows, states) with row_states",
        ),
        (by_rows, {"row_states": [0, 1]}, "row_states has shape (2,), but transitions has 3 rows"),
        (
            by_rows,
            {"row_states": [0, 1, 5]},
            "row 2: its state is 5, which is unknown; the states are 0 to 2",
        ),
        (
            by_action,
            {"transitions": np.zeros((3, 2, 4))},
            "transitions has shape (3, 2, 4); the first and last axis must be equal",
        ),
        (
            by_rows,
            {"costs": {"time": [1.0, 2.0]}},
            "the cost 'time' has shape (2,); give a number, (3,) or (3, 3)",
        ),
        (
            by_rows,
            {"costs": {"time": csr_array((1, 3))}},
            "the cost 'time' has shape (1, 3); give a number, (3,) or (3, 3)",
        ),
        (by_rows, {"goals": [2, 3]}, "the goal is state 3, which is unknown; the states are 0 to 2"),
        (by_rows, {"goals": [True, False]}, "goals has shape (2,), but there are 3 states"),
        (by_rows, {"initial": 3}, "the initial state is 3, which is unknown; the states are 0 to 2"),
        (
            by_rows,
            {"initial": [1.0, 0.0]},
            "initial has shape (2,); give a state's index or 3 probabilities",
        ),
        (by_rows, {"initial": [0.5, 0.0, 0.0]}, "the initial probabilities sum to 0.5, not 1"),
        (by_rows, {"action_labels": ["a"]}, "action_labels has 1 labels, but there are 3 rows"),
        (by_action, {"action_labels": ["a"]}, "action_labels has 1 labels, but there are 2 actions"),
        (by_rows, {"state_labels": ["a"]}, "state_labels has 1 labels, but there are 3 states"),
        (
            by_rows,
            {"bounds": {"noise": 1.0}},
            "bound on 'noise': no such secondary cost; the secondary costs are 'damage'",
        ),
        (
            by_rows,
            {"bounds": {"damage": -np.inf}},
            "bound on 'damage': -inf is not an upper bound; give a finite number, or inf for none",
        ),
        (
            by_rows,
            {"bounds": {"damage": "little"}},
            "bound on 'damage': little is not an upper bound; give a finite number, or inf for none",
        ),
        (by_rows, {"row_states": [1, 0.5, 1]}, "row_states: 0.5 is not a whole number; give whole numbers"),
        (by_rows, {"goals": [1.5]}, "the goal is state 1.5, which is unknown; the states are 0 to 2"),
        (by_rows, {"goals": [np.nan]}, "the goal is state nan, which is unknown; the states are 0 to 2"),
        (by_rows, {"state_labels": None}, "state_labels is None, which is not a sequence; give a tuple"),
        (by_rows, {"transitions": 0.9 * ROWS}, "state 0, action 'b': probabilities sum to 0.9, not 1"),
        (
            by_rows,
            {"goals": [0, 2]},
            "state 0, action 'b': the state is a goal, which ends everything; remove the action",
        ),
    ],
)
def test_mistakes(maker: Any, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        maker(**changes)
    assert expected in raised.value.violations


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"transitions": [[1.0], [0.5, 0.5]]}, "transitions"),
        ({"transitions": [["a", "b", "c"]] * 3}, "transitions"),
        ({"row_states": ["a", "b", "c"]}, "row_states"),
        ({"costs": {"time": [[1.0], [1.0, 2.0]]}}, "the cost 'time'"),
        ({"costs": {"time": "dear"}}, "the cost 'time'"),
        ({"initial": ["a", "b", "c"]}, "initial"),
        ({"goals": ["a"]}, "goals"),
        ({"goals": [[0], [1, 2]]}, "goals"),
    ],
)
def test_what_is_no_array_of_numbers_is_told_in_words(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidProblem) as raised:
        by_rows(**changes)
    assert raised.value.violations[0].startswith(f"{what} cannot be an array of numbers (")


def test_what_the_caller_does_to_his_arrays_afterwards_changes_nothing() -> None:
    arrays = {"transitions": ROWS.copy(), "initial": np.eye(3)[0], "goals": np.array([False, False, True])}
    costs = np.array([1.0, 2.0, 3.0])
    problem = by_rows(costs={"time": costs}, **arrays)
    for array in (costs, *arrays.values()):
        array[...] = 0
    assert problem == by_rows(costs={"time": [1.0, 2.0, 3.0]})
