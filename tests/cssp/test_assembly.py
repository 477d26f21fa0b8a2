from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.cssp.assembly import Assembly
from hcssp.cssp.validation import unsound_rows


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
