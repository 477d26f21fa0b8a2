from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import prepare
from hcssp.ssp.backward import BackwardPass
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.scalar_problem import ScalarProblem


def layered(seed: int, layers: int = 5, width: int = 12, back: bool = False) -> CSSP:
    """Steps lead to the next layers, or stay; with `back`, one of the last layer leads to the first."""
    rng = np.random.default_rng(seed)
    plan = CSSPBuilder(cost_names=("time", "risk"))
    states = [[plan.add_state(f"{layer}.{each}") for each in range(width)] for layer in range(layers)]
    out = plan.add_goal("out")
    for layer, here in enumerate(states):
        later = [state for each in states[layer + 1 : layer + 3] for state in each] or [out]
        for state in here:
            for action in range(int(rng.integers(1, 5))):
                heads = rng.choice(len(later), min(3, len(later)), replace=False)
                stays = float(rng.choice([0.0, 0.3]))
                odds = (1.0 - stays) * rng.dirichlet(np.ones(len(heads)))
                to = {later[head]: float(p) for head, p in zip(heads, odds, strict=True)}
                if stays:
                    to[state] = stays
                plan.add_action(state, f"a{action}", to=to, costs=tuple(rng.uniform(0.0, 2.0, 2)))
    if back:
        plan.add_action(states[-1][0], "back", to=states[0][0], costs=(0.1, 0.1))
    plan.set_initial(dict.fromkeys(states[0], 1.0 / width))
    return plan.build()


@pytest.mark.parametrize("seed", range(4))
def test_one_pass_finds_what_policy_iteration_finds(seed: int) -> None:
    balance = Balance(prepare(layered(seed)).problem)
    iteration = PolicyIteration(balance, PolicySystem(balance))
    passing = BackwardPass.of(balance)
    assert passing is not None
    rng = np.random.default_rng(seed)
    for weights in (np.array([1.0, 0.0]), np.array([1.0, 3.0]), np.array([0.0, 1.0])):
        for share in (0.0, 0.1):
            allowed = rng.random(balance.num_rows) >= share
            # No state is to be lost: its first row stays.
            allowed[balance.row_start[:-1]] = True
            found = passing.minimise(ScalarProblem(balance, weights, allowed))
            best = iteration.minimise(weights, allowed)
            assert found is not None
            assert best is not None
            rows, values = found
            assert allowed[rows].all()
            np.testing.assert_allclose(values, iteration.system.values(rows), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(values @ weights, best.values @ weights, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(passing.visits(rows), iteration.visits(rows), rtol=1e-12, atol=1e-14)
            through = PolicyIteration(balance).minimise(weights, allowed)
            assert through is not None
            np.testing.assert_array_equal(through.rows, rows)
            assert best.bound == pytest.approx(through.bound, rel=1e-9)
            assert through.bound <= float(weights @ through.costs) * (1.0 + 1e-15)


def test_a_region_with_dead_ends_is_left_to_others() -> None:
    balance = Balance(prepare(layered(1)).problem)
    passing = BackwardPass.of(balance)
    assert passing is not None
    allowed = np.ones(balance.num_rows, dtype=np.bool_)
    lost = balance.num_live - 1
    allowed[balance.row_start[lost] : balance.row_start[lost + 1]] = False
    assert passing.minimise(ScalarProblem(balance, np.array([1.0, 1.0]), allowed)) is None
    # Policy iteration goes around them.
    around = PolicyIteration(balance).minimise(np.array([1.0, 1.0]), allowed)
    expected = PolicyIteration(balance, PolicySystem(balance)).minimise(np.array([1.0, 1.0]), allowed)
    assert (around is None) == (expected is None)
    if around is not None and expected is not None:
        assert around.bound == pytest.approx(expected.bound, rel=1e-12)


def test_a_row_that_stays_for_ever_is_never_taken() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    out = plan.add_goal("out")
    states = [plan.add_state(f"{each}") for each in range(20)]
    for state in states:
        plan.add_action(state, "stay", to=state, costs=0.0)
        plan.add_action(state, "leave", to=out, costs=5.0)
    plan.set_initial(dict.fromkeys(states, 0.05))
    balance = Balance(plan.build())
    passing = BackwardPass.of(balance)
    assert passing is not None
    found = passing.minimise(ScalarProblem(balance, np.ones(1)))
    assert found is not None
    np.testing.assert_array_equal(found[1], np.full((20, 1), 5.0))


def test_circles_and_long_lines_are_not_passed_over() -> None:
    assert BackwardPass.of(Balance(prepare(layered(1, back=True)).problem)) is None
    assert BackwardPass.of(Balance(prepare(layered(1, layers=9, width=3)).problem)) is None
