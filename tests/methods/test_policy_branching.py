from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import brute_force
from hazard_grid import hazard_grid, symmetric_grid
from hcssp.contract.progress import Gap, MaxIterations, Target
from hcssp.contract.proof import Infeasible, Reason, Status
from hcssp.contract.solver import Context
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.flat import FlatOracle
from hcssp.dual.oracle import PolicyPoint
from hcssp.errors import DeadEnd
from hcssp.methods.anytime import Anytime
from hcssp.methods.policy_branching import PolicyBranching, split_region, undecided_row
from hcssp.procedure import HCSSP
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from known_optima import knapsack, start_in_goal
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some


def policies_of(problem: CSSP, region: Region) -> set[tuple[int, ...]]:
    """All proper policies within a region, by enumeration."""
    allowed = np.append(region.allowed(problem.num_rows), True)
    policies = brute_force(problem).policies
    used = np.where(policies == NO_ROW, problem.num_rows, policies)
    return {tuple(rows) for rows in policies[allowed[used].all(axis=1)].tolist()}


@pytest.mark.parametrize("seed", some(range(60)))
def test_a_split_loses_no_policy_but_those_it_cuts_off_twice(seed: int) -> None:
    problem = prepare(random_cssp(seed, infeasible=0.0)).problem
    oracle = FlatOracle(problem)
    region = Region()
    for _ in range(3):
        dual = maximise(oracle, region)
        row = undecided_row(dual)
        if dual.infeasible or row is None:
            return
        halves = split_region(oracle, region, [row])
        forced, rest = (policies_of(problem, half) for half in halves)
        # A policy that never comes to the state lies in both halves; all others in one.
        assert forced | rest == policies_of(problem, region)
        assert len(forced) < len(forced | rest) or len(rest) < len(forced | rest)
        for half in halves:
            inside = [point.lies_in(half, oracle.row_state) for point in dual.support]
            assert not all(inside)
        region = halves[seed % 2]


def test_a_region_whose_relaxation_is_one_policy_is_decided() -> None:
    oracle = FlatOracle(knapsack(100.0))
    assert undecided_row(maximise(oracle, Region())) is None


class Visiting(PolicyPoint):
    """A policy of which it is known how often it comes where."""

    def __init__(self, rows: list[int], visits: list[float], reached: list[bool] | None = None) -> None:
        self.costs = np.zeros(1)
        self._rows, self._visits, self._reached = np.array(rows), np.array(visits), reached

    @property
    def rows(self) -> IntArray:
        return self._rows

    @property
    def visits(self) -> FloatArray:
        return self._visits

    @property
    def reached(self) -> BoolArray:
        assert self._reached is not None, "it takes a search, which is not for nothing"
        return np.array(self._reached)


def test_branching_happens_where_two_policies_part_and_both_come_most_often() -> None:
    # They part in the last three states; the first comes to all of them, the second seldom to the second.
    first = Visiting([0, 2, 4, 6], [9.0, 3.0, 1.0, 0.5])
    second = Visiting([0, 3, 5, 7], [9.0, 0.1, 2.0, 0.6])
    assert undecided_row(Dual(support=(first, second), mixture=np.array([0.6, 0.4]))) == 4
    assert undecided_row(Dual(support=(first, second), mixture=np.array([0.4, 0.6]))) == 5
    # Of several pairs, the one that parts where both come most often.
    third = Visiting([1, 2, 4, 6], [2.0, 3.0, 1.0, 0.5])
    assert undecided_row(Dual(support=(first, second, third), mixture=np.array([0.5, 0.3, 0.2]))) == 0
    assert undecided_row(Dual(support=(first,), mixture=np.ones(1))) is None


class Moving(Visiting):
    """A policy of which it is known what another row would change."""

    def __init__(self, rows: list[int], visits: list[float], changes: dict[int, list[float]]) -> None:
        super().__init__(rows, visits)
        self._changes = changes

    def switching_costs(self, states: IntArray, rows: IntArray) -> FloatArray:
        unknown = [np.nan] * 3
        return np.array([self._changes.get(state, unknown) for state in states.tolist()])


def test_branching_happens_where_a_decision_moves_most_of_what_is_bounded() -> None:
    prices = np.array([2.0, 0.0])
    mixture = np.array([0.6, 0.4])
    # The first decision is made more often and dearer, the second moves more of what has a price.
    moves = {0: [9.0, 0.1, 50.0], 1: [1.0, -2.0, 0.0]}
    first, second = Moving([0, 2], [3.0, 1.0], moves), Moving([1, 3], [3.0, 1.0], moves)
    assert undecided_row(Dual(support=(first, second), mixture=mixture, prices=prices)) == 2
    # What moves nothing that is bounded is decided by how often it is made.
    idle = {0: [9.0, 0.0, 50.0], 1: [1.0, 0.0, 0.0]}
    first, second = Moving([0, 2], [3.0, 1.0], idle), Moving([1, 3], [3.0, 1.0], idle)
    assert undecided_row(Dual(support=(first, second), mixture=mixture, prices=prices)) == 0
    # Where it is not known what a decision moves, it comes first.
    known = {1: [1.0, -2.0, 0.0]}
    first, second = Moving([0, 2], [0.1, 1.0], known), Moving([1, 3], [0.1, 1.0], known)
    assert undecided_row(Dual(support=(first, second), mixture=mixture, prices=prices)) == 0


def test_however_seldom_both_come_there_they_part() -> None:
    first = Visiting([0, 2, 4], [1.0, 1e-14, 1e-13], [True, True, False])
    second = Visiting([0, 3, 5], [1.0, 1e-14, 1e-13], [True, True, True])
    mixture = np.array([0.6, 0.4])
    assert undecided_row(Dual(support=(first, second), mixture=mixture)) == 2
    nowhere = Visiting([0, 3, 5], [1.0, 1e-14, 1e-13], [True, False, True])
    assert undecided_row(Dual(support=(first, nowhere), mixture=mixture)) is None


def shortest_ways(problem: CSSP) -> int:
    """How many ways of least time lead from the start to a goal, if no step slips."""
    successor = np.argmax(problem.transitions.toarray(), axis=1)
    steps = np.where(problem.goals, 0, -1)
    ways = np.where(problem.goals, 1, 0)
    for _ in range(problem.num_states):
        for state in np.flatnonzero(steps < 0):
            rows = range(problem.row_start[state], problem.row_start[state + 1])
            after = [successor[row] for row in rows if steps[successor[row]] >= 0]
            if after and min(steps[after]) == steps.max():
                ways[state] = sum(ways[s] for s in after if steps[s] == min(steps[after]))
                steps[state] = -2 - min(steps[after])
        steps = np.where(steps < -1, -1 - steps, steps)
    return int(ways[np.argmax(problem.initial)])


def test_a_plateau_of_thousands_of_equal_policies_is_proved() -> None:
    problem = symmetric_grid(8)
    assert shortest_ways(problem) == 3432
    result = solve(problem, PolicyBranching(), stop=[Gap(1e-6), MaxIterations(2000)])
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(15.0)
    assert result.lower_bound == pytest.approx(15.0, rel=1e-6)
    assert result.stochastic is not None
    assert result.stochastic.value == pytest.approx(14.0 + 2.0 / 3.0)


@pytest.mark.parametrize(("size", "bound"), [(6, 2.0), (8, 3.0)])
def test_a_plateau_whose_steps_slip_is_proved(size: int, bound: float) -> None:
    problem = symmetric_grid(size, slip=0.1, bound=bound)
    result = solve(problem, PolicyBranching(), stop=[Gap(1e-6), MaxIterations(2000)])
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-6
    # Decided at once, it would be no plateau.
    assert result.iterations > 20


@pytest.mark.parametrize("bound", [0.5, 3.5, 5.0])
def test_plateaus_under_other_bounds(bound: float) -> None:
    optimum = {0.5: 20.0, 3.5: 15.0, 5.0: 15.0}[bound]
    result = solve(symmetric_grid(8, bound=bound), PolicyBranching(), stop=[Gap(1e-6), MaxIterations(2000)])
    assert result.status is Status.OPTIMAL
    assert result.upper_bound == pytest.approx(optimum)


def test_a_hazard_grid_is_proved_by_factorisation_and_by_sweeps_alike() -> None:
    problem = hazard_grid(9, 9, seed=5, bound=0.2)
    first = solve(problem, PolicyBranching(evaluation="factorise"), stop=())
    second = solve(problem, PolicyBranching(evaluation="sweep"), stop=())
    assert first.status is second.status is Status.OPTIMAL
    assert second.upper_bound == pytest.approx(first.upper_bound, rel=1e-8)
    assert first.stochastic is not None
    assert second.stochastic is not None
    assert second.stochastic.value == pytest.approx(first.stochastic.value, rel=1e-7)


def test_targets_and_gaps_stop_it_early() -> None:
    problem = hazard_grid(9, 9, seed=5, bound=0.2)
    whole = solve(problem, PolicyBranching(), stop=())
    early = solve(problem, PolicyBranching(), stop=[Gap(0.2)])
    assert early.ending.reason == "gap"
    assert early.gap <= 0.2
    assert early.iterations < whole.iterations
    target = solve(problem, PolicyBranching(), stop=[Target(1.3 * whole.upper_bound)])
    assert target.ending.reason in ("target", "proved")
    assert target.upper_bound <= 1.3 * whole.upper_bound
    assert early.lower_bound <= whole.upper_bound <= early.upper_bound


def test_every_step_of_the_dual_and_every_node_counts_once() -> None:
    counts = [progress.iterations for progress in PolicyBranching().iterate(knapsack(6.0), Context())]
    assert set(np.diff([0, *counts])) == {0, 1}
    for most in (1, 2, max(counts) - 1):
        assert solve(knapsack(6.0), stop=[MaxIterations(most)]).iterations == most


def test_the_same_problem_gives_the_same_run() -> None:
    problem = random_cssp(11)
    first, second = (solve(problem, PolicyBranching(), stop=()) for _ in range(2))
    assert [point[1:] for point in first.trace] == [point[1:] for point in second.trace]
    assert first.iterations == second.iterations


@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize("seed", some(range(25)))
def test_the_units_of_the_costs_do_not_matter(seed: int, scale: float) -> None:
    problem = random_cssp(seed)
    truth = brute_force(problem)
    units = np.append(1.0, np.full(problem.num_constraints, scale))
    scaled = replace(problem, costs=problem.costs * units[:, np.newaxis], bounds=problem.bounds * scale)
    expected = truth.value
    result = solve(scaled, PolicyBranching(), stop=())
    if expected == np.inf:
        assert result.status is Status.INFEASIBLE
    else:
        assert result.upper_bound == pytest.approx(expected, rel=1e-7)
        assert result.status is Status.OPTIMAL


def infeasible_in_all_ways() -> list[CSSP | HCSSP]:
    return [start_in_goal(-1.0), random_procedure(3).with_bounds({"damage": -1.0})]


@pytest.mark.parametrize("problem", infeasible_in_all_ways(), ids=["flat", "procedure"])
def test_a_bound_that_nothing_can_keep_is_proved_with_its_least_value(problem: CSSP | HCSSP) -> None:
    result = solve(problem, PolicyBranching(), stop=())
    assert result.status is Status.INFEASIBLE
    assert isinstance(result.proof, Infeasible)
    assert result.proof.weights is not None
    assert result.proof.weights.allowed == -1.0
    assert result.proof.weights.least >= 0.0
    assert "raise the bound" in result.message


def test_a_dead_end_is_an_error_not_an_answer() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, pit = plan.add_state("here"), plan.add_state("pit")
    plan.add_goal("out")
    plan.add_action(here, "fall", to=pit, costs=1.0)
    for solver in (PolicyBranching(), Anytime()):
        with pytest.raises(DeadEnd, match="initial state 'here'"):
            solve(plan.build(), solver)


def test_what_is_known_before_is_made_use_of() -> None:
    problem = knapsack(6.0)
    *_, alone = PolicyBranching().iterate(problem)
    assert alone.ending is not None
    assert alone.ending.reason is Reason.PROVED
    # Nothing is better than what is known already, and so nothing is told.
    context = Context(known_cost=alone.upper_bound)
    *_, told = PolicyBranching().iterate(problem, context)
    assert told.incumbent is None
    assert told.lower_bound == pytest.approx(alone.upper_bound)
    assert len(context.record) > 1
