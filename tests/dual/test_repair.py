from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual import repair
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.dual.oracle import Oracle
from hcssp.dual.policy_part import Part
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.repair import GAIN_TOLERANCE, MAX_EVALUATED, _acceptable, _merit, _pairs, improve
from hcssp.evaluation.exact import evaluate
from hcssp.evaluation.records import Evaluation
from hcssp.numerics import is_feasible
from hcssp.procedure import Flattening, ProcedurePolicy
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import EXACT, PolicySystem, SweepSystem
from hcssp.ssp.region import Region
from policy_systems import circle
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some


def evaluated(oracle: Oracle[Any], problem: CSSP, rows: np.ndarray) -> Evaluation:
    if isinstance(oracle, ProcedureOracle):
        procedure = oracle.flattening.problem
        return evaluate(procedure, ProcedurePolicy(procedure, rows))
    return evaluate(problem, DeterministicPolicy(problem, rows))


@pytest.mark.parametrize("hierarchical", [False, True])
def test_what_comes_out_is_feasible_costs_what_it_says_and_is_no_worse(hierarchical: bool) -> None:
    repaired = bettered = 0
    for seed in some(range(40), 2):
        problem = random_cssp(seed, infeasible=0.0)
        oracle: Oracle[Any] = FlatOracle(problem)
        if hierarchical:
            oracle = ProcedureOracle(Flattening(random_procedure(seed, cycles=seed % 2 == 0)))
        rng = np.random.default_rng(seed)
        for price in (0.0, 0.5, 3.0):
            prices = price * rng.random(len(oracle.bounds))
            minimum = oracle.minimise(np.append(1.0, prices), Region())
            assert minimum is not None
            vertex = minimum.vertex
            better = oracle.improve(vertex, 8)
            if better is None:
                continue
            assert is_feasible(better.costs, oracle.bounds)
            evaluation = evaluated(oracle, problem, oracle.lift(better))
            assert evaluation.keeps_bounds()
            np.testing.assert_allclose(evaluation.costs, better.costs, rtol=1e-9, atol=1e-9)
            if not hierarchical:
                assert better.costs[0] >= brute_force(problem).value * (1.0 - 1e-9)
            if is_feasible(vertex.costs, oracle.bounds):
                assert better.costs[0] <= vertex.costs[0] * (1.0 + 1e-12)
                bettered += better.costs[0] < vertex.costs[0] - 1e-9
            else:
                repaired += 1
    assert repaired > 0
    assert bettered > 0


def knapsack(bound: float) -> CSSP:
    """Four rooms in a row; in each one may hurry, which saves 8, 5, 4, 1 time and costs 4, 3, 3, 1 damage."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": bound})
    rooms = [plan.add_state(f"room-{index}") for index in range(4)]
    rooms.append(plan.add_goal("out"))
    for index, (saved, damage) in enumerate(((8.0, 4.0), (5.0, 3.0), (4.0, 3.0), (1.0, 1.0))):
        plan.add_action(rooms[index], "walk", to=rooms[index + 1], costs=(10.0, 0.0))
        plan.add_action(rooms[index], "hurry", to=rooms[index + 1], costs=(10.0 - saved, damage))
    return plan.build()


@pytest.mark.parametrize(("bound", "reached"), [(11.0, 22.0), (4.0, 32.0), (8.0, 26.0), (0.0, 40.0)])
def test_a_knapsack_is_filled_from_what_is_fastest_and_from_what_is_safest(
    bound: float, reached: float
) -> None:
    oracle = FlatOracle(knapsack(bound))
    for price in (0.0, 100.0):
        minimum = oracle.minimise(np.array([1.0, price]), Region())
        assert minimum is not None
        better = oracle.improve(minimum.vertex, 8)
        vertex = minimum.vertex if better is None else better
        assert vertex.costs[0] == pytest.approx(reached)


def test_no_rounds_no_change() -> None:
    oracle = FlatOracle(knapsack(4.0))
    minimum = oracle.minimise(np.array([1.0, 100.0]), Region())
    assert minimum is not None
    assert oracle.improve(minimum.vertex, 0) is None


@pytest.mark.parametrize("system", [PolicySystem, SweepSystem])
def test_a_switch_into_a_circle_is_none(system: type[PolicySystem] | type[SweepSystem]) -> None:
    balance = Balance(circle())
    evaluator = system(balance)
    rows = np.array([1, 2])
    part = Part(
        balance, evaluator, [(0, 1)], 1.0, rows, evaluator.values(rows, EXACT), evaluator.visits(rows)
    )
    assert part.switched([0]) is None
    switched = part.switched([3])
    assert switched is not None
    new_rows, values, change = switched
    assert new_rows.tolist() == [1, 3]
    assert values == pytest.approx(np.ones((2, 2)))
    # From the second state it takes one step where it took two.
    assert change == pytest.approx([-0.75, -0.75])
    assert not part.changed
    part.take(new_rows, values)
    assert part.changed
    assert part.visits == pytest.approx([0.25, 0.75])


class Lost(PolicySystem):
    """Has lost all digits of a policy's values, as where rounding hides that it never ends."""

    wrong = 0.0

    def values(self, rows: np.ndarray, tolerance: float | None = None) -> np.ndarray:
        return super().values(rows, tolerance) + self.wrong


@pytest.mark.parametrize("wrong", [-5.0, -np.inf, np.inf, np.nan])
def test_a_switch_to_values_that_no_policy_has_is_none(wrong: float) -> None:
    balance = Balance(circle())
    system = Lost(balance)
    rows = np.array([1, 2])
    part = Part(balance, system, [(0, 1)], 1.0, rows, system.values(rows, EXACT), system.visits(rows))
    assert part.switched([3]) is not None
    system.wrong = wrong
    assert part.switched([3]) is None


class Given(PolicySystem):
    """A system that says what it is told to."""

    answer = np.zeros((0, 2))

    def values(self, rows: np.ndarray, tolerance: float | None = None) -> np.ndarray:
        return self.answer


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_values_below_nothing_by_more_than_rounding_are_of_no_policy(size: float) -> None:
    balance = Balance(circle())
    system = Given(balance)
    own = np.full((balance.num_live, len(balance.costs)), size)
    part = Part(balance, system, (), 1.0, balance.row_start[:-1], own, np.ones(balance.num_live))
    for share, accepted in ((-1e-7, True), (-1e-5, False), (np.nan, False)):
        system.answer = own.copy()
        system.answer[-1, 0] = share * size
        assert (part.switched([0]) is not None) == accepted


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_gain_is_one_beyond_rounding_whatever_the_unit(size: float) -> None:
    before, bounds = np.array([size, 1.0]), np.array([2.0])
    for share, gained in ((0.5, False), (2.0, True)):
        after = np.array([size * (1.0 - share * GAIN_TOLERANCE), 1.0])
        assert _acceptable(after, before, bounds, repairing=False) == gained
    # What breaks a bound is no gain; towards keeping it, everything is.
    assert not _acceptable(np.array([0.5 * size, 2.5]), before, bounds, repairing=False)
    broken = np.array([size, 4.0])
    assert _acceptable(np.array([2.0 * size, 2.5]), broken, bounds, repairing=True)
    assert not _acceptable(np.array([0.5 * size, 4.0]), broken, bounds, repairing=True)


def test_only_what_fits_and_gains_is_worth_a_try() -> None:
    balance = Balance(knapsack(4.0))
    system = PolicySystem(balance)
    # Hurrying in the second room costs 3 of 4: there is room for the last one's 1, and for nothing else.
    rows = np.array([0, 3, 4, 6])
    part = Part(balance, system, ((0, 1),), 1.0, rows, system.values(rows), system.visits(rows))
    costs, bounds = np.array([35.0, 3.0]), np.array([4.0])
    # On its own only the last room's fits; beside walking in the second room, the first room's does.
    (most, pair), (less, single) = _pairs([part], costs, bounds)
    assert (pair, single) == (((0, 1), (0, 2)), ((0, 7),))
    assert [most, less] == pytest.approx([-3.0, -1.0])
    # To repair a policy that spends 5, any of its switches back will do, and the cheapest is the best.
    rows = np.array([1, 2, 4, 7])
    part = Part(balance, system, ((0, 1),), 1.0, rows, system.values(rows), system.visits(rows))
    merit = _merit(part.effects(1), part, np.array([31.0, 5.0]), bounds)
    assert np.flatnonzero(np.isfinite(merit)).tolist() == [0, 6]
    assert merit[[0, 6]] == pytest.approx([8.0, 1.0])


def test_pairs_spend_what_no_single_switch_can() -> None:
    balance = Balance(knapsack(8.0))
    system = PolicySystem(balance)
    rows = np.array([0, 3, 5, 7])  # 5 + 4 + 1 for 7
    part = Part(balance, system, ((0, 1),), 1.0, rows, system.values(rows), system.visits(rows))
    costs = balance.initial @ system.values(rows)
    assert costs.tolist() == [30.0, 7.0]
    found = [switches for _, switches in _pairs([part], costs, np.array([8.0]))]
    assert found[0] == ((0, 1), (0, 4))  # 8 for 4 instead of 4 for 3
    assert len(found) <= MAX_EVALUATED
    assert all(len({balance.row_state[row] for _, row in pair}) == len(pair) for pair in found)


def hurrying(*damages: float, price: float = 0.1) -> Part:
    """Rooms in which one hurries for so much damage each; a unit less costs `price` in time."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    rooms = [plan.add_state(f"room-{index}") for index in range(len(damages))]
    rooms.append(plan.add_goal("out"))
    for index, damage in enumerate(damages):
        plan.add_action(rooms[index], "walk", to=rooms[index + 1], costs=(1.0 + price * damage, 0.0))
        plan.add_action(rooms[index], "hurry", to=rooms[index + 1], costs=(1.0, damage))
    balance = Balance(plan.build())
    system = PolicySystem(balance)
    rows = 2 * np.arange(len(damages)) + 1
    return Part(balance, system, ((0, 1),), 1.0, rows, system.values(rows), system.visits(rows))


def test_what_repairs_a_policy_comes_before_what_is_cheaper_and_only_helps() -> None:
    # The second activity could do less damage for next to nothing, round after round.
    parts = [hurrying(40.0), hurrying(1e-3, 1e-3, 1e-3)]
    found = improve(parts, np.array([4.0, 40.003]), np.array([10.0]), rounds=1)
    assert found == pytest.approx([8.0, 0.003])
    assert [part.changed for part in parts] == [True, False]


def test_parts_with_the_same_plan_tell_the_same_for_as_long_as_they_have_it() -> None:
    part = hurrying(4.0, 2.0)
    again, own = (
        Part(part.balance, part.system, part.counts, 0.5, part.rows, part.values, part.visits, alike=alike)
        for alike in (part, None)
    )
    assert again.effects(1) == pytest.approx(own.effects(1))
    rows = part.rows - [1, 0]
    again, own = (
        Part(part.balance, part.system, part.counts, 0.5, part.rows, part.values, part.visits, alike=alike)
        for alike in (part, None)
    )
    part.take(rows, part.system.values(rows))
    assert again.effects(1) == pytest.approx(own.effects(1))


def test_what_only_helps_helps_most_for_its_cost() -> None:
    # No switch repairs it alone, and the cheapest of them spares next to nothing.
    parts = [hurrying(40.0), hurrying(30.0), hurrying(1e-3, price=1.0)]
    found = improve(parts, np.array([3.0, 70.001]), np.array([10.0]), rounds=2)
    assert found == pytest.approx([10.0, 0.001])


@pytest.mark.parametrize(("excess", "made"), [(100.0, 1), (10.0, 10), (30.0, 8)])
def test_what_would_stay_broken_is_given_up(
    excess: float, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def step(parts: object, costs: FloatArray, bounds: FloatArray, repairing: bool) -> repair._Step | None:
        asked.append(repairing)
        return repair._Step([], costs + np.array([1.0, -1.0])) if repairing else None

    monkeypatch.setattr(repair, "_best_step", step)
    found = repair.improve([], np.array([5.0, 3.0 + excess]), np.array([3.0]), rounds=12)
    assert sum(asked) == made
    assert found is None if excess > 12.0 else found is not None


@pytest.mark.parametrize(
    ("saved", "known_cost", "least", "made"),
    [
        (0.1, np.inf, -np.inf, 12),  # nothing is known of what could be gained
        (
            0.1,
            20.0,
            0.0,
            10,
        ),  # three more steps, four times as large, would gain a tenth of nine; two would not
        (0.001, 20.0, 0.0, 1),
        (0.001, 20.0, 9.9, 10),  # as before, with a hundredth of it open
        (0.1, 7.0, 0.0, 4),  # eight more steps would not lead from 9.6 to 6.3
        (0.1, 9.0, 0.0, 10),
    ],
)
def test_what_gains_next_to_nothing_is_given_up(
    saved: float, known_cost: float, least: float, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def step(parts: object, costs: FloatArray, bounds: FloatArray, repairing: bool) -> repair._Step:
        asked.append(repairing)
        return repair._Step([], costs - np.array([saved, 0.0]))

    monkeypatch.setattr(repair, "_best_step", step)
    costs, bounds = np.array([10.0, 1.0]), np.array([3.0])
    found = repair.improve([], costs, bounds, 12, known_cost, least)
    assert len(asked) == made
    # What was gained is kept.
    assert found is not None
    assert found[0] == pytest.approx(10.0 - made * saved)
