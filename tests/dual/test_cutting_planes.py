"""The ascent for several constraints: its model, its phases on tables of policies, duals of procedures."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
from scipy.optimize import linprog

from brute_force_procedures import brute_force
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Ascent, Dual, PlanesModel, cut_planes, maximise, seek_feasible
from hcssp.dual.oracle import CLEARLY_VISITED, Minimum
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.errors import OutOfPrecision
from hcssp.numerics import tolerated
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from menus import Dish, Menu
from mixtures import best_mixture
from random_procedures import random_procedure
from volume import some

LIMIT = 10.0


def highest_point(excesses: FloatArray, costs: FloatArray, lowest: FloatArray, highest: FloatArray) -> float:
    """The level of the highest point of the least of all planes, by a linear program over (prices, level)."""
    planes = np.hstack([-excesses, np.ones((len(costs), 1))])
    objective = np.append(np.zeros(len(lowest)), -1.0)
    limited = [*zip(lowest, highest, strict=True), (None, None)]
    return float(-linprog(objective, A_ub=planes, b_ub=costs, bounds=limited).fun)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", some(range(20), 4))
def test_the_highest_point_is_that_of_a_linear_program(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    costs, excesses = rng.exponential(1.0, 15), rng.exponential(1.0, (15, size)) - rng.exponential(0.5, size)
    model = PlanesModel(excesses[:2], costs[:2], LIMIT)
    nothing, limits = np.zeros(size), np.full(size, LIMIT)
    for known in range(2, 15):
        model.add(excesses[known], costs[known])
        level, prices = model.highest()
        own = slice(known + 1)
        assert level == pytest.approx(highest_point(excesses[own], costs[own], nothing, limits), abs=1e-9)
        assert np.all((prices >= 0.0) & (prices <= LIMIT * (1.0 + 1e-9)))
        assert (costs[own] + excesses[own] @ prices).min() == pytest.approx(level, abs=1e-8)
        carriers, shares = model.mixture(1e-12)
        assert shares.sum() == pytest.approx(1.0)
        violation = float(np.maximum(shares @ excesses[carriers], 0.0).max())
        assert (model.pressure > 1e-9) == (violation > 1e-9)
    free, free_pressure = level, model.pressure
    lowest = rng.uniform(0.0, 1.0, size) * (rng.random(size) < 0.7)
    highest = lowest + rng.uniform(0.1, 1.0, size)
    model.confine(lowest, highest)
    level, prices = model.highest()
    assert level == pytest.approx(highest_point(excesses, costs, lowest, highest))
    assert np.all((lowest - 1e-9 <= prices) & (prices <= highest + 1e-9))
    assert model.pressure > 1e-9 or level == pytest.approx(free)
    # What was confined is set free again.
    model.confine(nothing, limits)
    assert model.highest()[0] == pytest.approx(free)
    assert (model.pressure > 1e-9) == (free_pressure > 1e-9)


def test_columns_with_huge_entries_are_weighed_as_they_are() -> None:
    # The second policy exceeds the bound by so much that hardly any of it is taken.
    model = PlanesModel(np.array([[-2.0], [2e9]]), np.array([10.0, 4.0]), 1e6)
    assert model.highest()[0] == pytest.approx(10.0)
    assert model.mixture(0.0)[1] == pytest.approx([1.0, 1e-9], rel=1e-6)


ROADS = ((10.0, 0.0, 4.0), (6.0, 2.0, 3.0), (4.0, 6.0, 8.0))
BOTH = np.array([0, 1])


def known(menu: Menu) -> list[Dish]:
    return [Dish(costs, row) for row, costs in enumerate(menu.table)]


def test_a_region_whose_cheapest_policy_keeps_the_bounds_needs_no_master() -> None:
    first, last = cut_planes(Ascent(Menu(ROADS, [6.0, 8.0]), Region()), BOTH)
    assert not first.converged
    assert last.converged
    assert last.bound == 4.0
    assert last.prices.tolist() == [0.0, 0.0]


def test_an_empty_region_is_decided_at_once() -> None:
    (last,) = cut_planes(Ascent(Menu(ROADS, [4.0, 4.0]), Region().forbid([0, 1, 2])), BOTH)
    assert last.empty


def test_a_mixture_that_keeps_the_bounds_ends_the_search_for_one_without_a_question() -> None:
    menu = Menu(ROADS, [1.0, 3.5])
    ascent = Ascent(menu, Region(), known(menu))
    assert list(seek_feasible(ascent, BOTH)) == []
    assert menu.asked == []


def test_bounds_that_exclude_one_another_are_refuted_with_weights() -> None:
    # Each alone is possible: damage + 2 fuel is 8 at least.
    menu = Menu(ROADS, [0.5, 3.5])
    ascent = Ascent(menu, Region(), known(menu)[:1])
    *_, last = seek_feasible(ascent, BOTH)
    proof = last.infeasibility
    assert proof is not None
    assert proof.weights == pytest.approx([1 / 3, 2 / 3])
    assert proof.least == pytest.approx(8 / 3)
    assert proof.allowed == pytest.approx(2.5)
    assert last.bound == np.inf


def test_what_rounding_hides_is_not_asked_for_again_and_again() -> None:
    """The only policy breaks both bounds, but by bounds that are too low for that nothing proves it."""

    class Doubtful(Menu):
        def minimise(
            self, weights: FloatArray, region: Region, precision: float = 0.0, near: Dish | None = None
        ) -> Minimum[Dish]:
            found = super().minimise(weights, region, precision, near)
            assert found is not None
            return Minimum(found.point, 0.5 * found.bound)

    menu = Doubtful([(1.0, 3.0, 4.0)], [2.0, 3.0])
    ascent = Ascent(menu, Region(), known(menu))
    with pytest.raises(OutOfPrecision, match="lost in rounding"):
        list(seek_feasible(ascent, BOTH))
    assert len(menu.asked) == 1


@pytest.mark.parametrize("blur", [0.0, 0.2])
@pytest.mark.parametrize(
    ("bounds", "value"), [((4.0, 100.0), 5.0), ((100.0, 5.5), 5.0), ((1.0, 3.5), 8.0), ((2.0, 3.0), 6.0)]
)
def test_the_whole_search_finds_the_best_mixture(
    bounds: tuple[float, float], value: float, blur: float
) -> None:
    *_, last = cut_planes(Ascent(Menu(ROADS, bounds, blur), Region()), BOTH)
    assert last.converged
    assert last.bound == pytest.approx(value, abs=1e-6)
    assert last.bound <= value
    mixed = last.mixture @ np.array([point.costs for point in last.support])
    assert mixed[0] == pytest.approx(value, abs=1e-6)
    assert np.all(mixed[1:] <= np.array(bounds) + 1e-6)


@pytest.mark.parametrize("price", [0.0, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", some(range(20), 4))
def test_wherever_it_begins_it_finds_the_best_mixture(seed: int, price: float) -> None:
    rng = np.random.default_rng(seed)
    table, bounds = rng.exponential(1.0, (30, 4)), rng.exponential(0.6, 3)
    optimum = best_mixture(table, tolerated(bounds))
    for size in (1e-6, 1.0, 1e6):
        # In other units it is the same problem.
        menu = Menu(table * [1.0, size, 1.0, 1.0], bounds * [size, 1.0, 1.0], blur=0.01)
        dual = maximise(menu, Region(), start=np.array([price / size, price, price]))
        assert dual.infeasible == (optimum == np.inf)
        assert dual.infeasible or dual.converged
        assert dual.bound == pytest.approx(optimum, rel=1e-8)


def test_multipliers_that_press_against_their_limits_are_let_go() -> None:
    # Only an enormous price on the first cost makes the second policy worth its cost.
    menu = Menu([(1.0, 5.0, 1.0), (1e7, 1.0, 1.0)], [2.0, 4.0])
    dual = maximise(menu, Region())
    assert dual.converged
    assert dual.bound == pytest.approx(0.25 * 1.0 + 0.75 * 1e7, rel=1e-6)
    assert any(weights[0] == 0.0 for weights, _ in menu.asked)


def test_prices_beyond_any_number_end_the_dual_and_leave_what_is_proven() -> None:
    # A price at which a use of 1e-300 outweighs a cost of 1e9 overflows.
    tiny, huge = 1e-300, 1e9
    steps = CSSPBuilder(cost_names=("time", "damage", "noise"))
    here, out = steps.add_state("here"), steps.add_goal("out")
    for name, costs in {"run": (1.0, 4.0, 1.0), "creep": (3.0, 1.0, 0.0), "wait": (2.0, 2.0, 3.0)}.items():
        steps.add_action(here, name, to=out, costs=(huge * costs[0], tiny * costs[1], costs[2]))
    room, procedure = steps.build(), ProcedureBuilder()
    start, middle, end = (procedure.add_event(name) for name in ("start", "middle", "end"))
    first, second = procedure.add_activity("first", room), procedure.add_activity("second", room)
    procedure.add_choice(start, "go", to=[Outcome(1.0, middle, runs=first)])
    procedure.add_choice(middle, "on", to=[Outcome(1.0, end, runs=second)])
    for name, bound in (("damage", 5.0 * tiny), ("noise", 2.0)):
        procedure.add_constraint(name, at_most=bound, counts={first: name, second: name})
    plan = solve(procedure.build(start=start, end=end))
    assert plan.lower_bound <= 4.0 * huge <= plan.upper_bound


ABOVE = (0.5, 1e-5)  # the cutoff, above what is searched for, of one region and the next


def regions(oracle: ProcedureOracle, dual: Dual[ProcedurePoint]) -> list[Region]:
    """The regions in which the support of a dual must decide otherwise somewhere."""
    found = []
    for point in dual.support:
        visited = np.flatnonzero(point.visits > CLEARLY_VISITED)
        rows = point.rows[visited]
        several = np.diff(oracle.row_start)[visited] > 1
        found += [Region().forbid([row]) for row in rows[several].tolist()]
        found += [Region().force(row, oracle.row_start, oracle.row_state) for row in rows[several].tolist()]
    return found


@pytest.mark.parametrize("constraints", [2, 3])
@pytest.mark.parametrize("seed", some(range(24), 3))
def test_duals_of_regions_are_those_of_all_their_policies(seed: int, constraints: int) -> None:
    problem = random_procedure(seed, cycles=seed % 2 == 0, num_constraints=constraints)
    if np.count_nonzero(np.isfinite(problem.bounds)) < 2:
        return
    oracle, policies = ProcedureOracle(problem.flattening), brute_force(problem)
    root = maximise(oracle, Region())
    if not root.converged:
        return
    lifted = np.concatenate(
        [
            np.arange(oracle.procedure.num_rows),
            *(
                first + planner.prepared.rows
                for first, planner in zip(oracle.flattening.row_offset[:-1], oracle.planners, strict=True)
            ),
        ]
    )
    for above, region in zip(cycle(ABOVE), regions(oracle, root), strict=False):
        forbidden = lifted[list(region.forbidden)]
        own = policies.costs[~np.isin(policies.rows, forbidden).any(axis=1)]
        least = best_mixture(own, tolerated(problem.bounds))
        known = [each for each in root.points if each.lies_in(region, oracle.row_state)]
        cutoff = 1e6 if least == np.inf else least * (1.0 + above)
        dual = maximise(oracle, region, known, start=root.prices, cutoff=cutoff, proven=root.bound)
        if least == np.inf:
            assert dual.infeasible
            continue
        assert dual.bound <= least * (1.0 + 1e-9)
        assert dual.bound >= least - 0.2 * (cutoff - least)
        assert dual.mixture.sum() == pytest.approx(1.0)
        mixed = dual.mixture @ np.array([each.costs for each in dual.support])
        assert np.all(mixed[1:] <= tolerated(problem.bounds) * (1.0 + 1e-6) + 1e-9)
        assert mixed[0] >= least * (1.0 - 1e-6)
        # A region whose support is one policy is not split: nothing may be missing.
        assert len(dual.support) > 1 or dual.bound >= least * (1.0 - 1e-8)


def test_where_what_is_known_is_the_answer_little_is_solved() -> None:
    oracle = ProcedureOracle(random_procedure(4, num_constraints=2).flattening)
    root = maximise(oracle, Region())
    again = maximise(oracle, Region(), root.points, start=root.prices, cutoff=root.bound + 1.0)
    assert again.converged
    assert again.bound == pytest.approx(root.bound)
    assert {id(each) for each in again.support} <= {id(each) for each in again.points}


def test_what_a_larger_region_has_proven_is_not_solved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = ProcedureOracle(random_procedure(4, num_constraints=2).flattening)
    root = maximise(oracle, Region())
    solved = []
    explore = Ascent.explore

    def noting(ascent: Ascent[ProcedurePoint], prices: FloatArray, precision: float = 0.0) -> object:
        solved.append(prices)
        return explore(ascent, prices, precision)

    monkeypatch.setattr(Ascent, "explore", noting)
    cutoff = root.bound + 1.0
    again = maximise(oracle, Region(), root.points, root.prices, cutoff, proven=root.bound)
    assert not solved
    assert again.converged
    assert again.bound == root.bound
    # Where policies are missing that would cost no more, something may be learnt there.
    dearer = [
        each
        for each in root.points
        if root.bound + 1e-3 < Ascent(oracle, Region()).lagrangian(each.costs, root.prices)
    ]
    maximise(oracle, Region(), dearer, root.prices, root.bound + 1e-4, proven=root.bound)
    assert np.array_equal(solved[0], root.prices)


def test_equal_policies_are_met_once() -> None:
    problem = random_procedure(4, num_constraints=2)
    oracle = ProcedureOracle(problem.flattening)
    root = maximise(oracle, Region())
    again = maximise(oracle, Region(), root.points, start=root.prices, cutoff=root.bound + 1.0)
    costs = np.array([each.costs for each in again.support])
    apart = np.abs(costs[:, np.newaxis] - costs).max(axis=2) + np.eye(len(costs))
    assert np.all(apart > 1e-9)
