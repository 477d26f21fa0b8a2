from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP
from hcssp.cssp.reachability import Backwards, almost_sure, can_reach_goal, closure, reachable
from volume import examples


def random_graph(seed: int) -> CSSP:
    """A problem with many traps: few successors, few goals, actions missing here and there."""
    rng = np.random.default_rng(seed)
    num_states = int(rng.integers(2, 9))
    goals = np.zeros(num_states, dtype=bool)
    goals[rng.choice(num_states, int(rng.integers(1, 3)), replace=False)] = True
    rows, counts = [], []
    for state in range(num_states):
        count = 0 if goals[state] else int(rng.integers(0, 4))
        counts.append(count)
        for _ in range(count):
            successors = rng.choice(num_states, int(rng.integers(1, min(3, num_states) + 1)), replace=False)
            rows.append(np.isin(np.arange(num_states), successors) / len(successors))
    starts = rng.choice(num_states, int(rng.integers(1, 3)), replace=False)
    return CSSP(
        transitions=csr_array(np.array(rows).reshape(len(rows), num_states)),
        row_start=np.concatenate(([0], np.cumsum(counts))),
        costs=np.ones((1, len(rows))),
        initial=np.isin(np.arange(num_states), starts) / len(starts),
        goals=goals,
        cost_names=("time",),
        bounds=np.zeros(0),
    )


def greatest_winning_set(problem: CSSP) -> set[int]:
    """The textbook's nested fixed point, with sets: slow, plain, and written differently."""
    successors = [set(row.nonzero()[0].tolist()) for row in problem.transitions.toarray()]
    states = set(range(problem.num_states))
    goals = set(np.flatnonzero(problem.goals).tolist())
    while True:
        inner = set(goals)
        while True:
            grown = inner | {
                int(problem.row_state[row])
                for row, reached in enumerate(successors)
                if reached <= states and reached & inner
            }
            if grown == inner:
                break
            inner = grown
        if inner == states:
            return states
        states = inner


@settings(max_examples=examples(300))
@given(st.integers(0, 10**9))
def test_the_fixed_point_is_the_textbooks(seed: int) -> None:
    problem = random_graph(seed)
    expected = greatest_winning_set(problem)
    found = almost_sure(problem)
    assert set(np.flatnonzero(found.states).tolist()) == expected
    for row in range(problem.num_rows):
        inside = int(problem.row_state[row]) in expected
        stays = (
            set(problem.transitions.indices[slice(*problem.transitions.indptr[row : row + 2])]) <= expected
        )
        assert found.rows[row] == (inside and stays)


@settings(max_examples=examples(100))
@given(st.integers(0, 10**9))
def test_searches_are_powers_of_the_adjacency(seed: int) -> None:
    problem = random_graph(seed)
    size = problem.num_states
    step = np.eye(size, dtype=bool)
    for row, state in enumerate(problem.row_state):
        step[state] |= problem.transitions.toarray()[row] > 0
    connected = np.linalg.matrix_power(step.astype(float), size) > 0
    assert np.array_equal(reachable(problem), connected[problem.initial > 0].any(axis=0))
    assert np.array_equal(can_reach_goal(problem), connected[:, problem.goals].any(axis=1))
    within = reachable(problem)
    assert np.array_equal(almost_sure(problem, within).states, almost_sure(problem).states & within)


def test_impossible_successors_do_not_count() -> None:
    transitions = csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    problem = CSSP(
        transitions=transitions,
        row_start=np.array([0, 1, 1]),
        costs=np.ones((1, 1)),
        initial=np.array([1.0, 0.0]),
        goals=np.array([False, True]),
        cost_names=("time",),
        bounds=np.zeros(0),
    )
    assert reachable(problem).tolist() == [True, False]
    assert can_reach_goal(problem).tolist() == [False, True]


def test_only_the_given_rows_are_followed() -> None:
    problem = random_graph(3)
    none = np.zeros(problem.num_rows, dtype=bool)
    assert np.array_equal(reachable(problem, none), problem.initial > 0)


@settings(max_examples=examples(100))
@given(st.integers(0, 10**9))
def test_a_closure_is_a_power_of_the_adjacency_from_any_number_of_sources(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    edges = rng.random((size, size)) < 0.2
    connected = np.linalg.matrix_power(edges + np.eye(size), size) > 0
    for count in range(min(size, 3) + 1):
        sources = np.isin(np.arange(size), rng.choice(size, count, replace=False))
        assert np.array_equal(closure(csr_array(edges), sources), connected[sources].any(axis=0))


@settings(max_examples=examples(200))
@given(st.integers(0, 10**9))
def test_the_order_of_the_rows_does_not_matter_and_only_those_asked_for_count(seed: int) -> None:
    problem = random_graph(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(problem.num_rows)
    search = Backwards(problem.transitions[order], problem.row_state[order], problem.goals)
    kept = rng.random(problem.num_rows) < 0.7
    found = search.almost_sure(kept[order])
    # The same question of a problem that has only those rows.
    counts = np.bincount(problem.row_state[kept], minlength=problem.num_states)
    fewer = CSSP(
        transitions=csr_array(problem.transitions[np.flatnonzero(kept)]),
        row_start=np.concatenate(([0], np.cumsum(counts))),
        costs=problem.costs[:, kept],
        initial=problem.initial,
        goals=problem.goals,
        cost_names=problem.cost_names,
        bounds=problem.bounds,
    )
    expected = almost_sure(fewer)
    assert np.array_equal(found.states, expected.states)
    rows = np.zeros(problem.num_rows, dtype=bool)
    rows[order] = found.rows
    assert np.array_equal(rows[kept], expected.rows)
    assert not rows[~kept].any()


@settings(max_examples=examples(200))
@given(st.integers(0, 10**9))
def test_rows_that_approach_the_goal_are_those_with_a_successor_in_an_earlier_layer(seed: int) -> None:
    problem = random_graph(seed)
    kept = np.random.default_rng(seed).random(problem.num_rows) < 0.8
    search = Backwards(problem.transitions, problem.row_state, problem.goals)
    dense = problem.transitions.toarray() > 0
    expected = np.zeros(problem.num_rows, dtype=bool)
    layer = problem.goals.copy()
    while True:
        leads = kept & dense[:, layer].any(axis=1) & ~layer[problem.row_state]
        if not leads.any():
            break
        expected |= leads
        layer = layer | np.isin(np.arange(problem.num_states), problem.row_state[leads])
    assert np.array_equal(search.approaching(kept), expected)


@settings(max_examples=examples(200))
@given(st.integers(0, 10**9))
def test_what_is_lost_spreads_to_states_that_have_no_row_left(seed: int) -> None:
    problem = random_graph(seed)
    rng = np.random.default_rng(seed)
    successors = [set(row.nonzero()[0].tolist()) for row in problem.transitions.toarray()]
    rows = rng.random(problem.num_rows) < 0.9
    lost = (rng.random(problem.num_states) < 0.2) & ~problem.goals
    left = {row for row in range(problem.num_rows) if rows[row]}
    gone = set(np.flatnonzero(lost).tolist())
    while True:
        left = {row for row in left if not successors[row] & gone}
        owners = {int(problem.row_state[row]) for row in left}
        # A state that had no row to begin with is no business of this search.
        had = {int(problem.row_state[row]) for row in range(problem.num_rows) if rows[row]}
        more = {state for state in had - owners if not problem.goals[state]} | gone
        if more == gone:
            break
        gone = more
    search = Backwards(problem.transitions, problem.row_state, problem.goals)
    found = search.spread(lost, rows)
    assert set(np.flatnonzero(found).tolist()) == left
    assert set(np.flatnonzero(lost).tolist()) == gone
