from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from brute_force import brute_force
from hazard_grid import hazard_grid, stages
from hcssp.contract.progress import MaxMemory, memory_limit_of
from hcssp.contract.proof import Status
from hcssp.cssp.model import CSSP
from hcssp.dual.ascent import Dual, maximise
from hcssp.dual.oracles import oracle_of
from hcssp.dual.plan_point import ProcedurePoint
from hcssp.dual.procedure import ProcedureOracle
from hcssp.methods.policy_branching import (
    DUAL_BYTES,
    NODE_BYTES,
    REFERENCE_BYTES,
    OpenDuals,
    PolicyBranching,
    PolicySearch,
    SearchParameters,
    undecided_row,
)
from hcssp.procedure import HCSSP
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from menus import Dish
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some

FORGETFUL = SearchParameters(node_memory=0.0)


def dual(*dishes: Dish) -> Dual[Dish]:
    return Dual(bound=1.0, points=tuple(dishes))


def dish(size: int) -> Dish:
    return Dish(np.zeros(size), 0)


def test_what_fits_is_kept_and_a_policy_counts_once() -> None:
    shared, own = dish(1000), dish(500)
    shelf: OpenDuals[Dish] = OpenDuals(capacity=1e6)
    first, second = dual(shared), dual(shared, own)
    shelf.put(Region([1]), first)
    shelf.put(Region([2]), second)
    assert shelf.occupied == shared.nbytes + own.nbytes + 2 * DUAL_BYTES + 3 * REFERENCE_BYTES
    assert shelf.take(Region([1])) is first
    assert shelf.take(Region([1])) is None
    assert shelf.occupied == shared.nbytes + own.nbytes + DUAL_BYTES + 2 * REFERENCE_BYTES
    assert shelf.take(Region([2])) is second
    assert shelf.occupied == 0


def test_a_plan_of_an_activity_counts_once_for_all_policies() -> None:
    oracle = ProcedureOracle(small_building(2.0).flattening)
    found = maximise(oracle, Region())
    first, second = found.support
    plans = {id(each): each for point in (first, second) for each in point.parts[1:]}
    assert len(plans) < len(first.parts[1:]) + len(second.parts[1:])
    shelf: OpenDuals[ProcedurePoint] = OpenDuals()
    shelf.put(Region([1]), replace(found, points=found.support))
    held = REFERENCE_BYTES * (len(first.parts) + len(second.parts))
    sizes = sum(each.nbytes for each in (first, second, *plans.values()))
    assert shelf.occupied == DUAL_BYTES + held + sizes
    # What a search has asked for is given back, and the same when it is asked for again.
    before, rows, visits = first.nbytes, first.rows.copy(), first.visits.copy()
    assert first.nbytes > before
    first.release()
    assert first.nbytes == before
    assert np.array_equal(first.rows, rows)
    assert np.array_equal(first.visits, visits)


def test_the_older_half_is_dropped_for_lack_of_room() -> None:
    room = 3 * (dish(1000).nbytes + DUAL_BYTES + REFERENCE_BYTES)
    shelf: OpenDuals[Dish] = OpenDuals(capacity=room)
    for number in range(4):
        shelf.put(Region([number]), dual(dish(1000)))
        assert shelf.occupied <= room
    assert [shelf.take(Region([number])) is not None for number in range(4)] == [False, False, True, True]


def test_many_duals_take_little_more_than_there_is_room_for() -> None:
    each = dish(1000).nbytes + DUAL_BYTES + REFERENCE_BYTES
    shelf: OpenDuals[Dish] = OpenDuals(capacity=100 * each)
    most = 0
    for number in range(1_000):
        shelf.put(Region([number]), dual(dish(1000)))
        most = max(most, shelf.occupied)
    assert 100 * each <= most <= 130 * each
    assert shelf.take(Region([999])) is not None


def test_open_nodes_leave_less_room() -> None:
    shelf: OpenDuals[Dish] = OpenDuals(capacity=10 * NODE_BYTES)
    shelf.put(Region([1]), dual(dish(10)))
    assert shelf.occupied > 0
    shelf.put(Region([2]), dual(dish(10)), num_nodes=10)
    assert shelf.occupied == 0


@pytest.mark.parametrize(
    "problem", [stages(12, constraints=3, seed=3), random_procedure(3, several_exits=True, exits_part=True)]
)
def test_what_duals_of_small_problems_take_is_not_mostly_overlooked(problem: CSSP | HCSSP) -> None:
    """Arrays of a few numbers take less than the objects around them."""
    oracle = oracle_of(problem)
    root = maximise(oracle, Region())
    shelf: OpenDuals[Any] = OpenDuals()
    tracemalloc.start()
    for row in range(len(oracle.row_state)):
        region = Region([row])
        found = maximise(oracle, region, start=root.prices)
        undecided_row(found)
        shelf.put(region, found)
    taken, counted = tracemalloc.get_traced_memory()[0], shelf.occupied
    del shelf, found
    gc.collect()
    taken -= tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.75 * taken <= counted <= 4.0 * taken


@pytest.mark.parametrize("seed", some(range(40)))
def test_a_search_that_may_keep_nothing_proves_the_same(seed: int) -> None:
    problem = random_cssp(seed)
    truth = brute_force(problem)
    last = None
    for last in PolicySearch(oracle_of(problem), problem, parameters=FORGETFUL).run():
        assert last.lower_bound <= truth.value * (1.0 + 1e-9)
    assert last is not None
    if truth.value == np.inf:
        assert last.infeasible is not None
    else:
        assert last.upper_bound == pytest.approx(truth.value, rel=1e-8)
        assert last.lower_bound == pytest.approx(truth.value, rel=1e-6, abs=1e-9)


def test_a_limit_on_memory_is_planned_with() -> None:
    assert memory_limit_of([MaxMemory(5e9), MaxMemory(4e9)]) == 4e9
    assert memory_limit_of([]) == np.inf
    problem = hazard_grid(12, 12, seed=2)
    free = solve(problem, PolicyBranching())
    limited = solve(problem, PolicyBranching(), stop=[MaxMemory(1e12)])
    assert free.status is Status.OPTIMAL
    assert limited.upper_bound == pytest.approx(free.upper_bound, rel=1e-6)
