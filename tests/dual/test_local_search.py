from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual import local_search
from hcssp.dual.ascent import maximise
from hcssp.dual.flat import FlatOracle
from hcssp.dual.local_search import (
    DEFAULT_PARAMETERS,
    Fragment,
    FragmentSearch,
    Step,
    Use,
    _is_gain,
    best_step,
    promising_moves,
    relinked,
)
from hcssp.dual.oracle import Oracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.evaluation.exact import Evaluation, evaluate
from hcssp.numerics import EXACT, is_feasible
from hcssp.procedure import Flattening, ProcedurePolicy
from hcssp.scenarios.domains.campus import campus
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import PolicySystem, SweepSystem, System
from hcssp.ssp.scalar_problem import Region
from policy_systems import circle
from random_problems import random_cssp
from random_procedures import random_procedure
from small_procedures import retrying
from volume import some


def evaluated(oracle: Oracle[Any], problem: CSSP, rows: np.ndarray) -> Evaluation:
    if isinstance(oracle, ProcedureOracle):
        procedure = oracle.flattening.problem
        return evaluate(procedure, ProcedurePolicy(procedure, rows))
    return evaluate(problem, DeterministicPolicy(problem, rows))


@pytest.mark.parametrize("hierarchical", [False, True])
def test_what_comes_out_is_feasible_costs_what_it_says_and_is_no_worse(hierarchical: bool) -> None:
    restored = bettered = 0
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
            point = minimum.point
            better = oracle.strategies.local_search.improve(point, 8)
            if better is None:
                continue
            assert is_feasible(better.costs, oracle.bounds)
            evaluation = evaluated(oracle, problem, oracle.lift(better))
            assert evaluation.keeps_bounds()
            np.testing.assert_allclose(evaluation.costs, better.costs, rtol=1e-9, atol=1e-9)
            if not hierarchical:
                assert better.costs[0] >= brute_force(problem).value * (1.0 - 1e-9)
            if is_feasible(point.costs, oracle.bounds):
                assert better.costs[0] <= point.costs[0] * (1.0 + 1e-12)
                bettered += better.costs[0] < point.costs[0] - 1e-9
            else:
                restored += 1
    assert restored > 0
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
    found = []
    for price in (0.0, 100.0):
        minimum = oracle.minimise(np.array([1.0, price]), Region())
        assert minimum is not None
        better = oracle.strategies.local_search.improve(minimum.point, 8)
        found.append((better or minimum.point).costs)
    assert all(costs[1] <= bound for costs in found)
    assert min(costs[0] for costs in found) == pytest.approx(reached)
    assert max(costs[0] for costs in found) <= 1.1 * reached


def test_no_rounds_no_change() -> None:
    oracle = FlatOracle(knapsack(4.0))
    minimum = oracle.minimise(np.array([1.0, 100.0]), Region())
    assert minimum is not None
    assert oracle.strategies.local_search.improve(minimum.point, 0) is None


def fragment_of(system: System, rows: IntArray, times: float = 1.0) -> Fragment:
    """A fragment of a problem with one bounded cost, which begins as the problem does."""
    balance = system.balance
    return Fragment(
        balance,
        system,
        rows,
        system.values(rows, EXACT),
        times * balance.initial,
        times * system.visits(rows),
        np.eye(len(balance.costs)),
    )


@pytest.mark.parametrize("system", [PolicySystem, SweepSystem])
def test_a_switch_into_a_cycle_is_none(system: type[PolicySystem] | type[SweepSystem]) -> None:
    fragment = fragment_of(system(Balance(circle())), np.array([1, 2]))
    assert fragment.switched([0]) is None
    switched = fragment.switched([3])
    assert switched is not None
    rows, values, change = switched
    assert rows.tolist() == [1, 3]
    assert values == pytest.approx(np.ones((2, 2)))
    # From the second state it takes one step where it took two.
    assert change == pytest.approx([-0.75, -0.75])


class Lost(PolicySystem):
    """Adds an error to the values of a policy, as where rounding hides that the policy never ends."""

    wrong: float | FloatArray = 0.0

    def values(self, rows: IntArray, tolerance: float | None = None) -> FloatArray:
        return super().values(rows, tolerance) + self.wrong


@pytest.mark.parametrize("wrong", [-5.0, -np.inf, np.inf, np.nan])
def test_a_switch_to_values_that_no_policy_has_is_none(wrong: float) -> None:
    system = Lost(Balance(circle()))
    fragment = fragment_of(system, np.array([1, 2]))
    assert fragment.switched([3]) is not None
    system.wrong = wrong
    assert fragment.switched([3]) is None
    # Negative values that rounding explains are those of a policy.
    system.wrong = np.array([[-1.0 - 1e-8, 0.0], [0.0, 0.0]])
    assert fragment.switched([3]) is not None


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_gain_is_one_beyond_rounding_whatever_the_unit(size: float) -> None:
    before, bounds = np.array([size, 1.0]), np.array([2.0])
    for share, gained in ((0.5, False), (2.0, True)):
        after = np.array([size * (1.0 - share * DEFAULT_PARAMETERS.gain), 1.0])
        assert _is_gain(after, before, bounds, restoring=False) == gained
    # What breaks a bound is no gain; towards keeping it, everything is.
    assert not _is_gain(np.array([0.5 * size, 2.5]), before, bounds, restoring=False)
    broken = np.array([size, 4.0])
    assert _is_gain(np.array([2.0 * size, 2.5]), broken, bounds, restoring=True)
    assert not _is_gain(np.array([0.5 * size, 4.0]), broken, bounds, restoring=True)


def test_only_what_fits_and_gains_is_tried() -> None:
    system = PolicySystem(Balance(knapsack(4.0)))
    # Hurrying in the second room costs 3 of 4: there is room for the last one's 1, and for nothing else.
    uses = [Use(0, 1.0, fragment_of(system, np.array([0, 3, 4, 6])))]
    # On its own only the last room's fits; beside walking in the second room, the first room's does.
    moves = promising_moves(uses, np.array([35.0, 3.0]), np.array([4.0]), restoring=False)
    assert [switches for _, switches in moves] == [((0, 1), (0, 2)), ((0, 7),)]
    assert [change for change, _ in moves] == pytest.approx([-3.0, -1.0])
    # To restore a policy that spends 5, the cheapest of its switches back is the best.
    uses = [Use(0, 1.0, fragment_of(system, np.array([1, 2, 4, 7])))]
    moves = promising_moves(uses, np.array([31.0, 5.0]), np.array([4.0]), restoring=True)
    assert moves[0] == (pytest.approx(1.0), ((0, 6),))
    assert all(change < 8.0 + 1e-9 for change, _ in moves[:2])


def test_pairs_spend_what_no_single_switch_can() -> None:
    system = PolicySystem(Balance(knapsack(8.0)))
    fragment = fragment_of(system, np.array([0, 3, 5, 7]))  # 5 + 4 + 1 for 7
    costs = fragment.flow @ fragment.values
    assert costs.tolist() == [30.0, 7.0]
    moves = promising_moves([Use(0, 1.0, fragment)], costs, np.array([8.0]), restoring=False)
    assert moves[0][1] == ((0, 1), (0, 4))  # 8 for 4 instead of 4 for 3
    assert len(moves) <= DEFAULT_PARAMETERS.max_evaluated
    states = system.balance.row_state
    assert all(len({states[row] for _, row in pair}) == len(pair) for _, pair in moves)


def hurrying(*damages: float, price: float = 0.1) -> Use:
    """Rooms in which one hurries for some damage each; a unit less costs `price` in time."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    rooms = [plan.add_state(f"room-{index}") for index in range(len(damages))]
    rooms.append(plan.add_goal("out"))
    for index, damage in enumerate(damages):
        plan.add_action(rooms[index], "walk", to=rooms[index + 1], costs=(1.0 + price * damage, 0.0))
        plan.add_action(rooms[index], "hurry", to=rooms[index + 1], costs=(1.0, damage))
    system = PolicySystem(Balance(plan.build()))
    return Use(len(damages), 1.0, fragment_of(system, 2 * np.arange(len(damages)) + 1))


def test_what_restores_feasibility_comes_before_what_is_cheaper_and_only_helps() -> None:
    # The second activity could do less damage for next to nothing, round after round.
    uses = [hurrying(40.0), hurrying(1e-3, 1e-3, 1e-3)]
    step = best_step(uses, np.array([4.0, 40.003]), np.array([10.0]), restoring=True)
    assert step is not None
    assert step.costs == pytest.approx([8.0, 0.003])
    assert [activity for activity, _, _ in step.changes] == [1]


def test_what_only_helps_helps_most_for_its_cost() -> None:
    # Nothing restores it alone, nor in pairs, and the cheapest switch spares next to nothing.
    uses = [hurrying(40.0), hurrying(30.0, 30.0), hurrying(1e-3, 0.0, 0.0, price=1.0)]
    step = best_step(uses, np.array([5.0, 100.001]), np.array([10.0]), restoring=True)
    assert step is not None
    assert step.costs == pytest.approx([9.0, 60.001])


def test_a_fragment_that_is_executed_more_often_moves_more() -> None:
    one = hurrying(4.0, 2.0)
    twice = one._replace(times=2.0)
    apart = Use(0, 1.0, fragment_of(one.fragment.system, one.fragment.rows, times=2.0))
    costs, bounds = np.array([4.0, 12.0]), np.array([9.0])
    assert best_step([twice], costs, bounds, True).costs == pytest.approx(  # type: ignore[union-attr]
        best_step([apart], costs, bounds, True).costs  # type: ignore[union-attr]
    )


@pytest.mark.parametrize(("size", "made"), [(100, 1), (10, 10), (30, 8)])
def test_what_would_stay_infeasible_is_given_up(
    size: int, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def step(uses: object, costs: FloatArray, bounds: FloatArray, restoring: bool) -> Step | None:
        asked.append(restoring)
        return Step([], costs + np.array([1.0, -1.0])) if restoring else None

    monkeypatch.setattr(local_search, "best_step", step)
    found = Walk(np.array([3.0])).improve(Point(np.array([5.0, 3.0 + size])), 12)
    assert sum(asked) == made
    assert found is None if size > 12 else found is not None


class Point:
    """Nothing but costs."""

    def __init__(self, costs: FloatArray) -> None:
        self.costs = costs


class Walk(FragmentSearch[Any]):
    """Each step changes the costs as the last best step says."""

    change = np.array([1.0, -1.0])

    def _uses(self, point: Any, known: Any) -> list[Use]:
        return []

    def _changed(self, point: Point, changes: Any) -> Point:
        return Point(point.costs + self.change)


@pytest.mark.parametrize(
    ("saved", "known_cost", "least", "made"),
    [
        (0.1, np.inf, -np.inf, 12),  # nothing is known of what could be gained
        # Three more steps, four times as large, would gain a tenth of nine; two would not.
        (0.1, 20.0, 0.0, 10),
        (0.001, 20.0, 0.0, 1),
        (0.001, 20.0, 9.9, 10),  # as before, with a hundredth of it open
        (0.1, 7.0, 0.0, 4),  # eight more steps would not lead from 9.6 to 6.3
        (0.1, 9.0, 0.0, 10),
    ],
)
def test_what_gains_next_to_nothing_is_given_up(
    saved: float, known_cost: float, least: float, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = np.array([-saved, 0.0])
    monkeypatch.setattr(local_search, "best_step", lambda uses, costs, *_, **__: Step([], costs + change))
    walk = Walk(np.array([3.0]))
    walk.change = change
    found = walk.improve(Point(np.array([10.0, 1.0])), 12, known_cost, least)
    # What was gained is kept.
    assert found is not None
    assert found.costs[0] == pytest.approx(10.0 - made * saved)


def test_policies_between_two_of_the_support_spend_what_is_left() -> None:
    problem = campus(damage=60.0, buildings=3, floors=4)
    oracle = ProcedureOracle(problem.flattening)
    dual = maximise(oracle, Region())
    kept = min(dual.support, key=lambda point: point.costs[1])
    found = oracle.strategies.local_search.relink(dual.support)
    assert found is not None
    assert dual.bound <= found.costs[0] < kept.costs[0]
    assert kept.costs[1] < found.costs[1] <= 60.0
    # Its costs are those of the policy that it is.
    costs = evaluate(problem, ProcedurePolicy(problem, oracle.lift(found))).costs
    np.testing.assert_allclose(costs, found.costs, rtol=1e-9)


def test_there_is_nothing_between_a_policy_and_itself() -> None:
    problem = campus(damage=np.inf, size=4)
    oracle = ProcedureOracle(problem.flattening)
    (only,) = maximise(oracle, Region()).support
    assert oracle.strategies.local_search.relink((only,)) is None


def test_choices_that_never_end_or_lack_a_plan_are_no_policy() -> None:
    oracle = ProcedureOracle(retrying().flattening)
    point = maximise(oracle, Region()).support[0]
    assert oracle.point_of(point.choices, (None, None)) is None
    again = oracle.point_of(point.choices, point.plans)
    assert again is not None
    np.testing.assert_allclose(again.costs, point.costs, rtol=1e-12)
    assert oracle.procedure.ends(point.choices)
    assert not oracle.procedure.ends(np.full_like(point.choices, -1))


def test_alike_stages_of_a_flat_problem_are_decided_one_by_one() -> None:
    # All stages change their minds at the same price, and 7.5 of them would spend the whole budget.
    stages = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 7.5})
    states = [*(stages.add_state(f"stage-{n}") for n in range(20)), stages.add_goal("out")]
    for here, after in pairwise(states):
        stages.add_action(here, "walk", to=after, costs=(3.0, 0.0))
        stages.add_action(here, "run", to=after, costs=(1.0, 1.0))
    problem = stages.build()
    oracle = FlatOracle(problem)
    dual = maximise(oracle, Region())
    found = oracle.strategies.local_search.relink(dual.support)
    assert found is not None
    assert found.costs.tolist() == [46.0, 7.0]
    costs = evaluate(problem, DeterministicPolicy(problem, oracle.lift(found))).costs
    np.testing.assert_allclose(costs, found.costs, rtol=1e-12)


class Purse:
    """What is bought with the `items` taken: each costs as much of the bound as it saves."""

    def __init__(self, items: list[float]) -> None:
        self.costs = np.array([100.0 - sum(items), sum(items)])


@pytest.mark.parametrize(
    ("items", "bound", "spent"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0], 10.0, 10.0),  # 5 + 4, not 3, not 2, but 1
        ([8.0, 7.0, 6.0], 10.0, 8.0),
        ([20.0, 30.0], 10.0, 0.0),
        ([1.0] * 64, 40.5, 40.0),
        ([], 10.0, 0.0),
    ],
)
def test_what_is_too_much_is_passed_over(items: list[float], bound: float, spent: float) -> None:
    tried = []

    def mixed(taken: list[float]) -> Purse:
        tried.append(taken)
        return Purse(taken)

    found = relinked(Purse([]), items, mixed, np.array([bound]))  # type: ignore[type-var]
    assert (0.0 if found is None else found.costs[1]) == spent
    assert len(tried) <= DEFAULT_PARAMETERS.max_relinked


def test_what_is_no_policy_is_passed_over_too() -> None:
    found = relinked(
        Purse([]),  # type: ignore[type-var]
        [4.0, 3.0, 2.0],
        lambda taken: None if 3.0 in taken else Purse(taken),
        np.array([7.5]),
    )
    assert found is not None
    assert found.costs[1] == 6.0


def test_no_more_policies_are_tried_than_allowed() -> None:
    problem = campus(damage=60.0, buildings=3, floors=4)
    kept = min(
        maximise(ProcedureOracle(problem.flattening), Region()).support, key=lambda each: each.costs[1]
    )
    tried: list[list[int]] = []

    def mixed(taken: list[int]) -> None:
        tried.append(taken)

    assert relinked(kept, list(range(1_000)), mixed, np.array([60.0]), 12) is None
    assert len(tried) == 12
