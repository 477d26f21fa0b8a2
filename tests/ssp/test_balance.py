from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import hcssp
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import prepare
from hcssp.evaluation.linear_systems import EVALUATION
from hcssp.ssp.balance import Balance
from hcssp.ssp.potential import UNIT_ROUNDOFF
from proper_problems import proper_problem
from random_problems import cssps, random_cssp
from volume import examples


@given(cssps())
@settings(max_examples=examples(60))
def test_the_matrix_says_what_flows_out_less_what_flows_in(problem: CSSP) -> None:
    problem = prepare(problem).problem
    balance = Balance(problem)
    live = np.flatnonzero(~problem.goals)
    dense = problem.transitions.toarray()
    expected = np.zeros((problem.num_rows, len(live)))
    ends = np.zeros(problem.num_rows)
    for row in range(problem.num_rows):
        own = problem.row_state[row]
        leaving = float(np.delete(dense[row], own).sum())
        ends[row] = dense[row, problem.goals].sum() / (leaving or 1.0)
        for column, state in enumerate(live):
            if state == own:
                expected[row, column] = float(leaving > 0.0)
            elif leaving > 0.0:
                expected[row, column] = -dense[row, state] / leaving
        np.testing.assert_allclose(balance.costs[:, row], problem.costs[:, row] / (leaving or 1.0))
    np.testing.assert_allclose(balance.matrix.toarray(), expected, atol=1e-15)
    np.testing.assert_allclose(balance.goal_probability, ends, atol=1e-15)
    assert (balance.goal_probability > 0.0).tolist() == (ends > 0.0).tolist()
    assert balance.live.tolist() == live.tolist()
    assert live[balance.row_state].tolist() == problem.row_state.tolist()
    assert balance.initial.tolist() == problem.initial[live].tolist()


SHAPES = pytest.mark.parametrize(
    ("successors", "same"),
    [(3, False), (3, True), (EVALUATION.max_padded_width + 6, False)],
    ids=["ragged", "even", "wide"],
)


@SHAPES
def test_products_of_some_rows_are_those_of_the_matrix(successors: int, same: bool) -> None:
    balance = Balance(proper_problem(1, num_successors=successors, same=same))
    rng = np.random.default_rng(2)
    for count in (1, 5, 40, balance.num_live):
        rows = rng.choice(balance.num_rows, count, replace=False)
        columns = rng.normal(size=(balance.num_live, 4))
        weights = rng.normal(size=count)
        dense = balance.matrix.toarray()[rows]
        np.testing.assert_allclose(balance.times(rows, columns), dense @ columns, atol=1e-13)
        np.testing.assert_allclose(balance.row_times(weights, rows), weights @ dense, atol=1e-13)
        moves, others = balance.policy_moves(rows), balance.policy_moves(rows[::-1])
        np.testing.assert_allclose(moves(columns[:, 0]), dense @ columns[:, 0], atol=1e-13)
        np.testing.assert_allclose(others(columns[:, 0]), (dense @ columns[:, 0])[::-1], atol=1e-13)
        assert set(balance.successors(rows).tolist()) == set(np.nonzero(dense)[1].tolist())


@SHAPES
def test_the_least_of_each_state_is_found_and_so_is_its_first_row(successors: int, same: bool) -> None:
    balance = Balance(proper_problem(3, num_successors=successors, same=same))
    # Few values, so that there are ties; infinities, as a region leaves them.
    values = np.random.default_rng(4).choice([0.0, 1.0, 2.0, np.inf], size=balance.num_rows)
    ranges = [range(balance.row_start[s], balance.row_start[s + 1]) for s in range(balance.num_live)]
    least = balance.least_of_state(values)
    assert least.tolist() == [min(values[row] for row in rows) for rows in ranges]
    states = np.flatnonzero(np.isfinite(least))[::3]
    expected = [min(ranges[state], key=lambda row: (values[row], row)) for state in states]
    assert balance.least_rows(values, least, states).tolist() == expected


def test_reduced_costs_of_a_policys_own_values_are_zero_on_its_rows() -> None:
    problem = proper_problem(5)
    balance = Balance(problem)
    rows = balance.row_start[:-1]
    values = np.linalg.solve(balance.matrix.toarray()[rows], balance.costs[0, rows])
    reduced = balance.reduced_costs(balance.costs[0], values)
    assert np.abs(reduced[rows]).max() < 1e-11
    assert np.abs(reduced).max() > 1.0


def test_a_problem_whose_start_is_a_goal_has_nothing_to_balance() -> None:
    problem = proper_problem(6)
    initial = np.zeros(problem.num_states)
    initial[-1] = 1.0
    balance = Balance(prepare(replace(problem, initial=initial)).problem)
    assert (balance.num_live, balance.num_rows) == (0, 0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_roundings_of_all_terms_of_the_longest_row_are_allowed_for(seed: int) -> None:
    problem = proper_problem(seed)
    balance = Balance(problem)
    longest = int(np.diff(balance.matrix.indptr).max())
    # Probabilities are divided by a sum of them, so that each of their roundings counts twice.
    counted = balance._rounding / UNIT_ROUNDOFF
    expected = 2 * longest + len(problem.costs)
    assert expected + 15 <= counted <= expected + 17


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_what_is_reached_and_what_ends_are_those_of_the_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    balance = Balance(random_cssp(rng))
    matrix = balance.matrix.toarray()
    for _ in range(20):
        rows = rng.integers(balance.row_start[:-1], balance.row_start[1:])
        leads = matrix[rows] < 0.0
        for begins in (None, rng.random(balance.num_live) < 0.3):
            reached = balance.initial > 0.0 if begins is None else begins.copy()
            for _ in range(balance.num_live):
                reached = reached | leads[reached].any(axis=0)
            assert balance.reached(rows, begins).tolist() == reached.tolist()
        ends = balance.goal_probability[rows] > 0.0
        for _ in range(balance.num_live):
            ends = ends | (leads & ends).any(axis=1)
        assert balance.is_proper(rows) == bool(ends.all())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_rows_of_some_states_are_theirs_in_the_order_of_the_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    balance = Balance(random_cssp(rng))
    states = rng.permutation(balance.num_live)[: 1 + balance.num_live // 2]
    rows, begins, counts = balance.rows_of(states)
    for state, begin, count in zip(states.tolist(), begins.tolist(), counts.tolist(), strict=True):
        own = range(balance.row_start[state], balance.row_start[state + 1])
        assert rows[begin : begin + count].tolist() == list(own)
    assert len(rows) == counts.sum()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_that_are_too_high_prove_nothing_but_where_rows_are_forbidden(seed: int) -> None:
    balance = Balance(proper_problem(seed))
    weights = np.zeros(len(balance.costs))
    weights[0] = 1.0
    costs = weights @ balance.costs
    # Better and better policies, until none is better.
    rows = balance.row_start[:-1]
    for _ in range(100):
        values = np.linalg.solve(balance.matrix.toarray()[rows], costs[rows])
        reduced = balance.reduced_costs(costs, values)
        least = balance.least_of_state(reduced)
        if least.min() > -1e-9:
            break
        rows = balance.least_rows(reduced, least, np.arange(balance.num_live))
    truth = float(balance.initial @ values)
    first = balance.row_start[:-1]
    higher = np.linalg.solve(balance.matrix.toarray()[first], costs[first])
    reduced = balance.reduced_costs(costs, higher)
    assert balance.certify(weights, higher, reduced).bound <= truth * (1.0 + 1e-9)
    # Without all that is better than the first rows, those are the best.
    better = np.flatnonzero(reduced < -1e-9)
    reduced[better] = np.inf
    proven = balance.certify(weights, higher, reduced, better).bound
    assert proven == pytest.approx(float(balance.initial @ higher), rel=1e-8)
    assert proven > 1.01 * truth


def test_values_below_zero_are_not_proven_at_a_glance() -> None:
    balance = Balance(proper_problem(1))
    weights = np.zeros(len(balance.costs))
    weights[0] = 1.0
    values = np.zeros(balance.num_live)
    reduced = balance.reduced_costs(weights @ balance.costs, values)
    assert balance.certify_quickly(weights, values, reduced) is not None
    values[0] = -1e-300
    assert balance.certify_quickly(weights, values, reduced) is None


def test_a_row_that_may_stay_costs_as_much_as_its_repetitions() -> None:
    plan = hcssp.CSSPBuilder(cost_names=("time", "damage"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "try", to={here: 0.75, out: 0.25}, costs=(1.0, 2.0))
    plan.add_action(here, "stay", to=here, costs=(1.0, 1.0))
    balance = Balance(plan.build())
    assert balance.costs.tolist() == [[4.0, 1.0], [8.0, 1.0]]
