"""What every oracle promises, whatever its problem's shape: against brute force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from brute_force_procedures import AllPolicies, brute_force, brute_force_flat
from hcssp import ImplicitCSSP
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.expansion import Expansion
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import maximise
from hcssp.dual.flat import FlatOracle
from hcssp.dual.implicit import ImplicitOracle
from hcssp.dual.multi_exit import MultiExitOracle
from hcssp.dual.oracle import Oracle
from hcssp.dual.oracles import OneActivityOracle
from hcssp.dual.procedure import ProcedureOracle
from hcssp.errors import OutOfPrecision
from hcssp.evaluation.exact import evaluate
from hcssp.numerics import is_feasible, tolerated
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.ssp.scalar_problem import Region
from menus import Menu
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

TINY = 1e-9


@dataclass
class Case:
    """An oracle, all policies of its problem, the rows it numbers, and what a lifted policy costs."""

    make: Callable[[], Oracle[Any]]
    truth: AllPolicies
    original_row: Callable[[Oracle[Any], int], int]
    costs_of: Callable[[IntArray], FloatArray]

    def costs_within(self, oracle: Oracle[Any], region: Region) -> FloatArray:
        """The costs of all policies of a region."""
        forbidden = [self.original_row(oracle, row) for row in region.forbidden]
        return self.truth.costs[~np.isin(self.truth.rows, forbidden).any(axis=1)]


def menu_case(seed: int) -> Case:
    table = np.random.default_rng(seed).integers(0, 20, (8, 3)).astype(float)
    return Case(
        lambda: Menu(table, [9.0, 12.0]),
        AllPolicies(np.arange(8)[:, np.newaxis], table),
        lambda oracle, row: row,
        lambda rows: table[rows[0]],
    )


def flat_case(seed: int) -> Case:
    problem = random_cssp(seed)
    return Case(
        lambda: FlatOracle(problem, thin=False),
        brute_force_flat(problem),
        lambda oracle, row: oracle.original_row(row),  # type: ignore[attr-defined]
        lambda rows: evaluate(problem, DeterministicPolicy(problem, rows)).costs,
    )


def procedure_case(kind: type[Any], problem: HCSSP) -> Case:
    def original_row(oracle: Any, row: int) -> int:
        if not isinstance(oracle, ProcedureOracle):
            return int(oracle.original_row(row))
        activity = int(np.searchsorted(oracle.row_offset, row, side="right")) - 1
        if activity < 0:
            return row
        own = int(oracle.planners[activity].prepared.rows[row - oracle.row_offset[activity]])
        return int(oracle.flattening.row_offset[activity]) + own

    return Case(
        lambda: kind(problem.flattening),
        brute_force(problem),
        original_row,
        lambda rows: evaluate(problem, ProcedurePolicy(problem, rows)).costs,
    )


def one_activity(seed: int) -> HCSSP:
    rng = np.random.default_rng(seed)
    room = CSSPBuilder(cost_names=("time", "damage"))
    states = [room.add_state(index) for index in range(4)]
    out = room.add_goal("out")
    for index, state in enumerate(states):
        for action in range(2):
            after = [*states[index + 1 :], out][int(rng.integers(4 - index))]
            # No row is dominated by another: what is slower is safer.
            costs = {"time": 1.0 + action, "damage": 2.0 - action - float(rng.random())}
            room.add_action(state, action, to={after: 0.75, out: 0.25} if after != out else out, costs=costs)
    room.set_initial(states[0])
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    run = plan.add_activity("room", room.build())
    plan.add_choice(start, "go", to=[Outcome(1.0, end, runs=run)])
    plan.add_constraint("damage", at_most=2.0, counts={run: "damage"})
    return plan.build(start=start, end=end)


CASES: dict[str, Callable[[int], Case]] = {
    "menu": menu_case,
    "flat": flat_case,
    "one activity": lambda seed: procedure_case(OneActivityOracle, one_activity(seed)),
    "procedure": lambda seed: procedure_case(ProcedureOracle, random_procedure(seed, cycles=seed % 2 == 1)),
    "multi-exit": lambda seed: procedure_case(
        MultiExitOracle, random_procedure(seed, several_exits=True, exits_part=seed % 2 == 0)
    ),
    "strongly connected": lambda seed: procedure_case(
        MultiExitOracle, random_procedure(seed, cycles=True, several_exits=True, exits_part=True)
    ),
}


@pytest.fixture(params=[(kind, seed) for kind in CASES for seed in some(range(8), 3)], ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    kind, seed = request.param
    return CASES[kind](seed)


def questions(oracle: Oracle[Any], rng: np.random.Generator, count: int) -> list[tuple[FloatArray, Region]]:
    """Random weights and regions; some weights are zero, and some regions hold no policy."""
    found = []
    for _ in range(count):
        weights = np.append(
            rng.choice([1.0, 1.0, 0.0]), rng.choice([0.0, 0.3, 1.0, 20.0], len(oracle.bounds))
        )
        rows = np.flatnonzero(rng.random(len(oracle.row_state)) < rng.choice([0.0, 0.1, 0.3]))
        found.append((weights, Region().forbid(rows.tolist())))
    return found


def judge(case: Case, oracle: Oracle[Any], point: Any) -> None:
    """A policy costs what it says, wherever it is evaluated."""
    np.testing.assert_allclose(case.costs_of(oracle.lift(point)), point.costs, rtol=1e-8, atol=1e-9)


def test_the_least_policy_of_a_region_is_found_whatever_the_precision(case: Case) -> None:
    oracle, rng = case.make(), np.random.default_rng(1)
    near = None
    for weights, region in questions(oracle, rng, 12):
        precision = float(rng.choice([0.0, 0.0, 1e-3, 0.2, np.inf]))
        found = oracle.minimise(weights, region, precision, near)
        values = case.costs_within(oracle, region) @ weights
        assert (found is None) == (len(values) == 0)
        if found is None:
            continue
        least, value = values.min(), float(found.point.costs @ weights)
        # The bound is sacred; the policy is as good as the precision says.
        assert found.bound <= least + 1e-12 * (1.0 + least)
        assert value >= least - TINY * (1.0 + least)
        if precision < np.inf:
            assert value - found.bound <= (precision + 1e-7) * (1.0 + value)
        assert found.point.lies_in(region, oracle.row_state)
        judge(case, oracle, found.point)
        near = found.point


def test_rows_visits_and_reached_states_of_a_point_agree(case: Case) -> None:
    oracle = case.make()
    points = []
    for weights, region in questions(oracle, np.random.default_rng(2), 6):
        found = oracle.minimise(weights, region)
        points += [] if found is None else [found.point]
    every = np.arange(len(oracle.row_start) - 1)
    for point in points:
        assert point.rows_of(every).tolist() == point.rows.tolist()
        assert point.visits_of(every) == pytest.approx(point.visits)
        assert [point.goes_to(state) for state in every.tolist()] == point.reached.tolist()
        assert point.reached[point.visits > TINY].all()
        assert (oracle.row_state[point.rows[point.reached]] == every[point.reached]).all()
        for row in range(len(oracle.row_state)):
            state = oracle.row_state[row]
            uses = point.rows[state] == row and point.reached[state]
            assert point.lies_in(Region().forbid([row]), oracle.row_state) == (not uses)
        for other in points:
            differ = (point.rows != other.rows) & point.reached & other.reached
            assert set(np.flatnonzero(differ)) <= set(point.parting(other).tolist())


def test_other_bounds_change_no_answer_and_leave_the_oracle_as_it_was(case: Case) -> None:
    oracle = case.make()
    before = oracle.bounds.copy()
    other = oracle.under(0.5 * before)
    assert type(other) is type(oracle)
    assert oracle.bounds.tolist() == before.tolist()
    assert other.asked_bounds.tolist() == (0.5 * before).tolist()
    for weights, region in questions(oracle, np.random.default_rng(3), 4):
        answers = [each.minimise(weights, region) for each in (oracle, other, case.make())]
        oracle.release()
        answers.append(oracle.minimise(weights, region))
        bounds = [np.inf if each is None else each.bound for each in answers]
        assert bounds == pytest.approx([bounds[0]] * 4, rel=1e-7, abs=1e-9)


def test_a_dual_is_below_every_policy_that_keeps_the_bounds(case: Case) -> None:
    oracle = case.make()
    for _, region in questions(oracle, np.random.default_rng(4), 4):
        dual = maximise(oracle, region)
        costs = case.costs_within(oracle, region)
        kept = costs[np.all(costs[:, 1:] <= tolerated(oracle.bounds), axis=1), 0]
        assert dual.bound <= kept.min(initial=np.inf) * (1.0 + 1e-9) + 1e-12
        assert not (dual.infeasible and len(kept))


def test_local_search_keeps_the_bounds_and_never_makes_a_policy_worse(case: Case) -> None:
    oracle = case.make()
    search = oracle.strategies.local_search
    if search is None:
        return
    dual = maximise(oracle, Region())
    found = [search.relink(dual.support)] if len(dual.support) > 1 else []
    for point in dual.points:
        better = search.improve(point, 6)
        found.append(better)
        if better is not None and is_feasible(point.costs, oracle.bounds):
            assert better.costs[0] <= point.costs[0] * (1.0 + TINY)
    for each in found:
        if each is not None:
            assert is_feasible(each.costs, oracle.bounds)
            judge(case, oracle, each)


def test_known_policies_lie_in_their_region_and_cost_what_they_say(case: Case) -> None:
    oracle = case.make()
    strategy = oracle.strategies.known_policies
    if strategy is None:
        return
    for weights, region in questions(oracle, np.random.default_rng(5), 6):
        oracle.minimise(weights, region)
        known = strategy.within(region)
        best = None if known is None else known.best(weights)
        if best is not None:
            point = best.point()
            assert point.lies_in(region, oracle.row_state)
            assert point.costs == pytest.approx(best.costs)
            assert best.costs @ weights >= (case.costs_within(oracle, region) @ weights).min() - TINY
            judge(case, oracle, point)


def test_rows_of_an_orbit_are_worth_the_same(case: Case) -> None:
    oracle = case.make()
    symmetry = oracle.strategies.symmetry
    if symmetry is None:
        return
    weights = np.append(1.0, np.full(len(oracle.bounds), 0.3))
    for row in range(len(oracle.row_state)):
        orbit = symmetry.orbit(Region(), row)
        assert orbit[0] == row
        values = []
        for each in orbit:
            region = Region().force(each, oracle.row_start, oracle.row_state)
            found = oracle.minimise(weights, region)
            values.append(np.inf if found is None else found.bound)
        assert values == pytest.approx([values[0]] * len(values), rel=1e-7)


def test_settling_and_rounding_up_stay_below_what_they_bound(case: Case) -> None:
    oracle = case.make()
    strategies, dual = oracle.strategies, maximise(oracle, Region())
    costs = case.truth.costs
    kept = costs[np.all(costs[:, 1:] <= tolerated(oracle.bounds), axis=1), 0]
    least = kept.min(initial=np.inf)
    assert strategies.round_up(dual.bound) <= least * (1.0 + 1e-9) + 1e-12
    if strategies.enumeration is not None and np.isfinite(dual.bound):
        settled = strategies.enumeration.settle(Region(), dual.prices, dual.bound, np.inf, 1)
        if settled is not None:
            assert settled.bound <= least * (1.0 + 1e-9) + 1e-12
            if settled.point is not None:
                judge(case, oracle, settled.point)


def test_an_oracle_corresponds_to_itself(case: Case) -> None:
    oracle = case.make()
    correspondence = oracle.strategies.correspondence
    if correspondence is not None:
        for row in range(len(oracle.row_state)):
            assert correspondence.same_row(row, oracle) == row
        assert correspondence.same_row(0, Menu([[1.0]], [])) is None


def test_a_prediction_is_a_step_and_changes_no_dual(case: Case) -> None:
    oracle = case.make()
    prediction = oracle.strategies.prediction
    if prediction is None or not len(oracle.bounds):
        return
    prices = np.zeros(len(oracle.bounds))
    found = oracle.minimise(np.append(1.0, prices), Region())
    assert found is not None
    excess = float(found.point.costs[1] - oracle.bounds[0])
    turn = prediction.breakpoint(found.point, prices, Region(), 0, excess)
    assert turn is None or turn.step >= 0.0


def implicit_of(problem: CSSP) -> ImplicitCSSP:
    """A problem as one that is known by its steps only."""

    def actions(state: int) -> range:
        return range(problem.row_start[state], problem.row_start[state + 1])

    def outcomes(state: int, row: int) -> dict[int, float]:
        line = problem.transitions[[row]]
        return dict(zip(line.indices.tolist(), line.data.tolist(), strict=True))

    return ImplicitCSSP(
        int(np.argmax(problem.initial)),
        actions,
        outcomes,
        lambda state, row: tuple(problem.costs[:, row].tolist()),
        lambda state: bool(problem.goals[state]),
        cost_names=problem.cost_names,
    )


@pytest.mark.parametrize("seed", some(range(8), 3))
def test_an_implicit_problem_is_bounded_as_its_explicit_one(seed: int) -> None:
    problem = one_activity(seed).activities[0].cssp
    truth = brute_force_flat(problem)
    oracle = ImplicitOracle(Expansion(implicit_of(problem)), np.array([2.0]))
    for price in (0.0, 0.3, 4.0):
        weights = np.array([1.0, price])
        found = oracle.minimise(weights, Region())
        assert found is not None
        least = (truth.costs @ weights).min()
        assert found.bound <= least * (1.0 + 1e-12)
        assert found.point.costs @ weights == pytest.approx(least, rel=1e-5)
    with pytest.raises(OutOfPrecision):
        oracle.minimise(np.ones(2), Region().forbid([0]))
