from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, eye_array, kron, lil_array

from hcssp.cssp.factorisation import MAX_HUBS, OrderedFactors, eliminate, flow_order
from hcssp.scenarios.racetrack import racetrack
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import MAX_NEW_COLUMNS_IN_FLOW, Factors, PolicySystem
from hcssp.ssp.policy_iteration import PolicyIteration

COUNT = 400


def chain(hubs: int, seed: int = 0) -> csr_array:
    """The system of a chain that goes forward, in a mixed-up numbering, and at times back to a hub."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(COUNT)
    state = np.arange(COUNT - 1)
    ahead = np.minimum(state[:, np.newaxis] + rng.integers(1, 40, (COUNT - 1, 3)), COUNT - 1)
    back = rng.integers(0, hubs, COUNT - 1) * (COUNT // max(hubs, 1))
    heads = name[np.column_stack([ahead, back])]
    odds = np.tile([0.5, 0.2, 0.2, 0.1], COUNT - 1)
    moves = csr_array((odds, (np.repeat(name[:-1], 4), heads.ravel())), shape=(COUNT, COUNT))
    return csr_array(eye_array(COUNT) - 0.999 * moves)


@pytest.mark.parametrize("hubs", [1, 3, MAX_HUBS])
def test_what_goes_forward_but_for_some_hubs_does_not_fill_in(hubs: int) -> None:
    system = chain(hubs)
    flow = flow_order(system)
    assert flow is not None
    assert sorted(flow.states.tolist()) == list(range(COUNT))
    assert 1 <= len(flow.hubs) <= hubs
    factors = OrderedFactors(system, flow.states)
    assert factors.nnz <= system.nnz + (2 + 2 * hubs) * COUNT
    assert factors.nnz < 0.7 * eliminate(system).nnz


def test_the_hubs_of_one_policy_serve_the_next() -> None:
    flow = flow_order(chain(2, seed=1))
    assert flow is not None
    again = flow_order(chain(2, seed=1), flow.hubs)
    assert again is not None
    assert again.hubs.tolist() == flow.hubs.tolist()


def test_what_goes_in_circles_everywhere_has_no_such_order() -> None:
    side = 30
    steps = eye_array(side, k=1) + eye_array(side, k=-1)
    grid = csr_array(eye_array(side**2) - 0.24 * (np.kron(np.eye(side), steps.toarray())))
    grid = csr_array(grid - 0.24 * np.kron(steps.toarray(), np.eye(side)))
    assert flow_order(grid) is None


def rooms_and_a_line(side: int, length: int) -> csr_array:
    """The system of a walk through two square rooms and along a line, which at times begins anew."""
    step = eye_array(side, k=1) + eye_array(side, k=-1)
    room = 0.2 * (kron(eye_array(side), step) + kron(step, eye_array(side)))
    walk = lil_array(block_diag([room, room, 0.8 * eye_array(length, k=1)]))
    walk[side**2 - 1, side**2] = walk[2 * side**2 - 1, 2 * side**2] = 0.2
    # The hub is in the middle of the second room.
    walk[:, [side**2 + side // 2]] = 0.1
    name = np.random.default_rng(0).permutation(walk.shape[0])
    system = csr_array(csr_array(eye_array(len(name)) - walk)[name][:, name])
    system.sort_indices()
    return system


def test_large_sets_of_states_that_lead_to_one_another_are_ordered_by_themselves() -> None:
    system = rooms_and_a_line(16, 2_000)
    flow = flow_order(system)
    assert flow is not None
    assert len(flow.hubs) == 1
    assert sorted(flow.states.tolist()) == list(range(system.shape[0]))
    factors = OrderedFactors(system, flow.states)
    assert factors.nnz < 3 * system.nnz
    right = np.random.default_rng(0).random(system.shape[0])
    np.testing.assert_allclose(system @ factors.solve(right, "T"), right, rtol=1e-11)


def test_sets_with_most_of_the_states_are_not_ordered_by_themselves() -> None:
    assert flow_order(rooms_and_a_line(16, 1_000)) is None


@pytest.mark.parametrize("hubs", [1, 3])
def test_solutions_are_those_of_the_system(hubs: int) -> None:
    system = chain(hubs, seed=2)
    factors = Factors.of(system)
    assert factors.flows
    right = np.random.default_rng(0).random((COUNT, 2))
    np.testing.assert_allclose(system @ factors.solve(right), right, rtol=1e-11)
    np.testing.assert_allclose(factors.solve_transposed(right[:, 0]) @ system, right[:, 0], rtol=1e-11)


def test_policies_of_a_track_are_evaluated_the_same_however_many_states_change() -> None:
    balance = Balance(racetrack(scale=1, max_speed=2))
    system = PolicySystem(balance)
    solver = PolicyIteration(balance, system)
    best = solver.minimise(np.array([1.0, 0.0]))
    assert best is not None
    rng = np.random.default_rng(0)
    for count in (1, MAX_NEW_COLUMNS_IN_FLOW, 4 * MAX_NEW_COLUMNS_IN_FLOW):
        system.values(best.rows, 0.0)
        rows = best.rows.copy()
        other = solver.minimise(np.array([1.0, 5.0]))
        assert other is not None
        states = rng.permutation(np.flatnonzero(other.rows != rows))[:count]
        rows[states] = other.rows[states]
        np.testing.assert_allclose(
            system.values(rows), PolicySystem(balance).values(rows), rtol=1e-9, atol=1e-9
        )
