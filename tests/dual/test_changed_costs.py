"""Activities whose costs have changed: what is kept of their moves, and what is known of them at no price."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import hcssp
from brute_force import brute_force
from counting_planner import CountingPlanner
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.activity_planners import ActivityPlanners
from hcssp.procedure.elements import Activity
from hcssp.scenarios.hazard_grid import hazard_grid
from hcssp.ssp.balance import Balance
from hcssp.ssp.dense_system import DenseSystem
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.policy_system import PolicySystem
from hcssp.ssp.sweep_system import SweepSystem
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

NOTHING = frozenset[int]()


def with_other_costs(cssp: CSSP, seed: int, *, primary: bool = False) -> CSSP:
    """The same moves, some of which use more and some less than before."""
    rng = np.random.default_rng(seed)
    costs = cssp.costs.copy()
    changed = rng.random(cssp.num_rows) < 0.5
    first = 0 if primary else 1
    costs[first:, changed] = rng.exponential(2.0, size=(len(costs) - first, int(changed.sum())))
    return cssp.derive(costs=costs)


def unbounded(seed: int, **options: float) -> CSSP:
    problem = random_cssp(seed, **options)
    return replace(problem, bounds=np.full_like(problem.bounds, np.inf))


@pytest.mark.parametrize("zero_costs", [0.0, 0.3])
@pytest.mark.parametrize("first", some(range(0, 60, 20), 3))
def test_what_is_known_after_a_change_of_costs_holds_at_every_price(first: int, zero_costs: float) -> None:
    """Beside all policies; at no price, and between there and what was planned since, is what is new."""
    kept = sharper = 0
    for seed in range(first, first + 20):
        cssp = unbounded(seed, zero_costs=zero_costs, max_constraints=1)
        before = ActivityPlanner(cssp, frozenset({1}))
        before.plan_at(0.0, NOTHING)
        # Now and then the primary cost is another, too, and nothing holds at no price.
        world = with_other_costs(cssp, seed, primary=seed % 4 == 0)
        after = before.with_costs(world)
        if after is None:
            # Not all of it was used.
            assert before.prepared.problem is not cssp
            continue
        kept += 1
        truth, rng = brute_force(world), np.random.default_rng(seed)
        region = frozenset(int(row) for row in rng.integers(0, cssp.num_rows, size=2))
        prices = rng.exponential(2.0, size=6)
        for forbidden in (NOTHING, region):
            uses = np.isin(truth.policies, list(forbidden)) & (truth.policies != NO_ROW)
            costs = truth.costs[~uses.any(axis=1)]
            for price in prices:
                least = (costs @ [1.0, price]).min(initial=np.inf)
                glimpse = after.glimpse_at(price, forbidden)
                assert glimpse is None or glimpse.bound <= least * (1.0 + 1e-12)
            answer = after.plan_at(float(prices.max()), forbidden)
            assert (answer is None) == (len(costs) == 0)
            if answer is None:
                continue
            for price in prices:
                least = (costs @ [1.0, price]).min()
                bracket = after.bracket_at(price, forbidden)
                assert bracket is not None
                assert bracket.bound <= least * (1.0 + 1e-12)
                assert bracket.value >= least * (1.0 - 1e-9)
                sharper += not bracket.final and bracket.bound > 0.9 * least
            at_once = after.bounds_at(prices)
            assert at_once is not None
            assert (
                at_once <= (truth.costs @ np.vstack([np.ones(6), prices])).min(axis=0) * (1 + 1e-12)
            ).all()
    assert kept > 5
    assert sharper > 5


def test_a_changed_primary_cost_leaves_nothing_known_at_no_price() -> None:
    room = hazard_grid(14, 20, bound=1.0)
    before = ActivityPlanner(room, frozenset({1}))
    known = before.plan_at(0.0, NOTHING)
    assert known is not None
    moved = room.derive(costs=np.vstack([room.costs[0], np.roll(room.costs[1], 60)]))
    cheaper = room.derive(costs=np.vstack([0.5 * room.costs[0], room.costs[1]]))
    floors = [after.floor for after in map(before.with_costs, (moved, cheaper)) if after is not None]
    assert floors == [known[1], 0.0]


def test_what_nobody_has_planned_at_no_price_is_known_by_its_shortest_ways() -> None:
    room = hazard_grid(14, 20, bound=1.0)
    before = ActivityPlanner(room, frozenset({1}))
    glimpse = before.glimpse_at(0.0, NOTHING)
    assert glimpse is not None
    moved = room.derive(costs=np.vstack([room.costs[0], np.roll(room.costs[1], 60)]))
    after = before.with_costs(moved)
    assert after is not None
    assert after.floor == glimpse.bound > 0.0
    # At another price it says nothing of no price; and what holds there is handed on from world to world.
    later = ActivityPlanner(room, frozenset({1}))
    later.glimpse_at(0.5, NOTHING)
    for known, floor in ((later, 0.0), (after, after.floor)):
        another = known.with_costs(room)
        assert another is not None
        assert another.floor == floor


def test_what_uses_next_to_nothing_is_planned_once_after_a_change() -> None:
    """Between no price and the one at which it was planned, its curve is as good as known."""
    room = hazard_grid(14, 20, bound=1.0)
    costs = np.zeros_like(room.costs)
    costs[0], costs[1, 3] = room.costs[0], 1e-9
    before = CountingPlanner(room.derive(costs=costs), frozenset({1}))
    before.plan_at(0.0, NOTHING)
    costs = costs.copy()
    costs[1, 7] = 1e-9
    after = before.with_costs(room.derive(costs=costs))
    assert after is not None
    answer = after.plan_at(2.0, NOTHING)
    assert answer is not None
    for price in (0.1, 0.5, 1.5):
        bracket = after.bracket_at(price, NOTHING)
        assert bracket is not None
        assert bracket.value - bracket.bound <= 1e-8 * bracket.value


def systems(cssp: CSSP) -> list[PolicyIteration]:
    """Every way to evaluate policies that suits a problem."""
    balance = Balance(cssp)
    ways = [PolicyIteration(balance, PolicySystem(balance)), PolicyIteration(balance, SweepSystem(balance))]
    if DenseSystem.suits(balance):
        ways.append(PolicyIteration(balance, DenseSystem(balance)))
    return ways


def once_through(width: int) -> CSSP:
    """Layer after layer of a few states each; nothing comes back."""
    plan = hcssp.CSSPBuilder(cost_names=("time", "damage"))
    layers = [[plan.add_state((layer, place)) for place in range(width)] for layer in range(6)]
    out = plan.add_goal("out")
    for layer, states in enumerate(layers):
        for place, state in enumerate(states):
            ahead = layers[layer + 1] if layer < 5 else [out] * width
            plan.add_action(state, "straight", to=ahead[place], costs=(2.0, 1.0 + place))
            plan.add_action(
                state, "aside", to={ahead[place - 1]: 0.5, ahead[place - 2]: 0.5} if layer < 5 else out,
                costs=(1.0 + layer, 0.5),
            )  # fmt: skip
    plan.set_initial(dict.fromkeys(layers[0], 1.0 / width))
    return plan.build()


@pytest.mark.parametrize("make", [lambda: hazard_grid(10, 10, bound=1.0), lambda: once_through(10)])
def test_however_policies_are_evaluated_other_costs_count(make: object) -> None:
    cssp = make()  # type: ignore[operator]
    world = with_other_costs(cssp, 5, primary=True)
    weights = np.array([1.0, 0.7])
    expected = PolicyIteration(Balance(world)).minimise(weights)
    assert expected is not None
    ways = systems(cssp)
    assert len(ways) >= 3
    for way in ways:
        first = way.minimise(weights)
        assert first is not None
        changed = way.with_costs(way.balance.with_costs(world))
        found = changed.minimise(weights)
        assert found is not None
        assert found.costs @ weights == pytest.approx(expected.costs @ weights, rel=1e-9)
        assert found.bound == pytest.approx(expected.bound, rel=1e-6)
        assert changed.system.visits(found.rows) == pytest.approx(way.system.visits(found.rows), rel=1e-9)
        # The one before is what it was.
        again = way.minimise(weights, warm=first.rows)
        assert again is not None
        assert again.costs == pytest.approx(first.costs, rel=1e-12)


def test_rows_that_stay_cost_as_much_as_they_are_repeated() -> None:
    plan = hcssp.CSSPBuilder(cost_names=("time", "damage"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "try", to={here: 0.75, out: 0.25}, costs=(1.0, 2.0))
    plan.add_action(here, "stay", to=here, costs=(1.0, 1.0))
    cssp = plan.build()
    changed = Balance(cssp).with_costs(cssp.derive(costs=3.0 * cssp.costs))
    assert changed.costs.tolist() == (3.0 * Balance(cssp).costs).tolist() == [[12.0, 3.0], [24.0, 3.0]]
    assert changed.departures_at_most(np.array([12.0, 24.0])) == 4.0


def test_regions_without_a_plan_have_none_at_other_costs() -> None:
    room = hazard_grid(5, 5, bound=1.0)
    before = ActivityPlanner(room, frozenset({1}))
    everything = frozenset(range(before.balance.num_rows))
    assert before.plan_at(1.0, everything) is None
    after = before.with_costs(room.derive(costs=2.0 * room.costs))
    assert after is not None
    assert after.plan_at(1.0, everything) is None
    # What is found out of one says nothing of the other's own record.
    assert after.plan_at(1.0, NOTHING) is not None
    some_rows = frozenset(range(before.balance.num_rows - 1))
    after.plan_at(1.0, some_rows)
    assert before._impossible is not after._impossible


def test_only_activities_of_one_name_and_the_same_moves_share_what_is_known() -> None:
    room = hazard_grid(10, 10, bound=1.0)
    moved = room.derive(costs=np.vstack([room.costs[0], np.roll(room.costs[1], 20)]))
    steeper = hazard_grid(10, 10, bound=1.0, slip=0.3)
    counts = [[(0, 1)]] * 3
    old = ActivityPlanners([Activity(name, room) for name in ("a", "b", "c")], counts, ())
    new = ActivityPlanners(
        [Activity("a", moved), Activity("d", moved.derive(costs=2.0 * moved.costs)), Activity("c", steeper)],
        counts, (), like=old,
    )  # fmt: skip
    known = old.every[0]
    shared = [planner.balance.matrix is known.balance.matrix for planner in new.every]
    assert shared == [True, False, False]
    # What a bound of nought takes out may be another part of it now.
    free = ActivityPlanners([Activity("a", moved)], [[(0, 1)]], (0,), like=old)
    assert free.every[0].balance.num_rows < known.balance.num_rows


@pytest.mark.parametrize("seed", some(range(60), 6))
def test_a_plan_after_other_uses_is_the_best_and_proven(seed: int) -> None:
    """Only secondary costs change, as when hazards move; beside a search of its own."""
    problem = random_procedure(seed, cycles=seed % 2 == 0, num_constraints=1)
    plan = hcssp.solve(problem)
    if not plan.found:
        return
    changed = {
        each.name: with_other_costs(each.cssp, 7 * seed + index)
        for index, each in enumerate(problem.activities)
        if (seed + index) % 2
    }
    world = problem.with_activities(changed)
    again, anew = plan.replan(problem=world), hcssp.solve(world)
    assert again.status == anew.status
    if anew.found:
        assert again.upper_bound == pytest.approx(anew.upper_bound, rel=2e-6)
        verdict = hcssp.check(world, again.certificate, exact=True)
        assert verdict.lower_bound == pytest.approx(again.lower_bound, rel=1e-6)


def test_worlds_that_are_gone_are_let_go() -> None:
    """However often the world changes, no more than the planners of the last two worlds are kept."""
    room = hazard_grid(10, 10, bound=1.0)
    worlds = [room.derive(costs=room.costs * np.array([[1.0], [1.0 + 0.1 * turn]])) for turn in range(4)]
    planners, floors, known = [], [], None
    for world in worlds:
        known = ActivityPlanners([Activity("a", world)], [[(0, 1)]], (), like=known)
        planner = known.every[0]
        planner.plan_at(0.0 if not planners else 0.5, NOTHING)
        planners.append(weakref.ref(planner))
        floors.append(planner.floor)
    del planner
    gc.collect()
    assert [each() is not None for each in planners] == [False, False, True, True]
    # What holds at no price is handed on.
    assert floors[0] == 0.0
    assert floors[1] == floors[2] == floors[3] > 0.0


def test_a_cost_that_was_not_there_before_makes_it_another_activity() -> None:
    """What is to come of those that were says nothing of it."""
    room = hazard_grid(10, 10, bound=1.0)
    before = ActivityPlanner(room, frozenset({1}))
    before.plan_at(0.5, NOTHING)
    world = room.derive(
        costs=np.vstack([room.costs, np.arange(room.num_rows) % 3.0]),
        cost_names=("time", "damage", "fuel"),
        bounds=np.array([1.0, np.inf]),
    )
    assert before.with_costs(world) is None
    after = ActivityPlanner(world, frozenset({1}))
    after.begin_near(before)
    answer, expected = after.plan_at(0.5, NOTHING), before.plan_at(0.5, NOTHING)
    assert answer is not None
    assert expected is not None
    assert answer[0].costs[:2] == pytest.approx(expected[0].costs, rel=1e-9)
    assert len(answer[0].costs) == 3
