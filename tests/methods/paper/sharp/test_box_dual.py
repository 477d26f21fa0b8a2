"""The dual restricted to a box: below every solution in it, whatever the prices, and as high as it can be."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, lying_in, random_boxes, ways
from enumerated_solutions import enumerate_solutions
from hcssp.dual.ascent import maximise
from hcssp.methods.paper import Box, Instance, activity_planning
from hcssp.methods.paper.sharp import BoxOracle
from hcssp.scenarios.domains.evacuation import small_building
from hcssp.ssp.scalar_problem import Region
from random_procedures import random_procedure
from volume import some


def oracle_of(instance: Instance, box: Box, iterations: float) -> BoxOracle:
    answers = []
    for activity in range(len(instance.activities)):
        answer = activity_planning(instance, activity, box.upper[instance.edges_of(activity)], iterations)
        answers.append(answer if answer.lower_bound < inf else None)
    return BoxOracle(instance, box, answers)


@pytest.mark.parametrize("seed", some(range(16)))
def test_at_any_prices_no_solution_of_the_box_costs_less(seed: int) -> None:
    problem = random_procedure(seed)
    solutions = enumerate_solutions(problem)
    if solutions is None:
        return
    instance = Instance(problem, branches=True)
    rng = np.random.default_rng(seed)
    for box in random_boxes(instance, seed):
        inside = lying_in(box, instance, solutions)
        for iterations in (0, inf):
            oracle = oracle_of(instance, box, iterations)
            for _ in range(4):
                prices = rng.choice([0.0, 0.1, 1.0, 5.0, 40.0], len(instance.bounds))
                prices[~np.isfinite(instance.bounds)] = 0.0
                for primary in (1.0, 0.0):
                    weights = np.append(primary, prices)
                    found = oracle.minimise(weights, Region())
                    least = (solutions.costs[inside] @ weights).min(initial=inf)
                    assert (inf if found is None else found.bound) <= least + 1e-8 * (1.0 + abs(least))


def test_the_curve_is_clipped_at_both_limits() -> None:
    instance = Instance(in_a_row([ways(*THREE_WAYS)], damage=4.0), branches=True)

    def at(lower: float, upper: float, price: float, iterations: float = 0) -> list[float]:
        oracle = oracle_of(instance, Box(np.array([lower]), np.array([upper])), iterations)
        found = oracle.minimise(np.array([1.0, price]), Region())
        assert found is not None
        return [*found.point.costs.tolist(), found.bound]

    # The line from (10, 0) to (1, 4) has slope 2.25: cheaper, and the upper limit is best, dearer the lower.
    assert at(1.0, 3.0, price=1.0) == pytest.approx([3.25, 3.0, 6.25])
    assert at(1.0, 3.0, price=5.0) == pytest.approx([7.75, 1.0, 12.75])
    # What is proven under the upper limit lifts the line: nothing within 3 costs less than 6.
    assert at(1.0, 3.0, price=1.0, iterations=inf) == pytest.approx([6.0, 16 / 9, 70 / 9])
    # Without limits it is the line's end.
    assert at(0.0, 9.0, price=1.0) == pytest.approx([1.0, 4.0, 5.0])
    assert at(0.0, 9.0, price=9.0) == pytest.approx([10.0, 0.0, 10.0])


def test_an_activity_without_an_answer_is_not_run() -> None:
    room = ways((10.0, 2.0), (1.0, 4.0))
    instance = Instance(in_a_row([room], damage=4.0, detour=30.0), branches=True)
    box = Box(np.zeros(1), np.ones(1))
    found = oracle_of(instance, box, 0).minimise(np.array([1.0, 1.0]), Region())
    assert found is not None
    assert found.point.costs.tolist() == pytest.approx([30.0, 0.0])
    alone = Instance(in_a_row([room], damage=4.0), branches=True)
    assert oracle_of(alone, box, 0).minimise(np.array([1.0, 1.0]), Region()) is None


@pytest.mark.parametrize("bound", [0.3, 1.0, 3.0])
def test_if_the_box_limits_nothing_it_is_the_dual_of_the_whole(bound: float) -> None:
    instance = Instance(small_building(bound), branches=True)
    everything = Box(np.zeros(len(instance.edges)), np.full(len(instance.edges), 1e6))
    restricted = maximise(oracle_of(instance, everything, 0), Region())
    whole = maximise(instance.oracle, Region())
    assert restricted.bound == pytest.approx(whole.bound, abs=1e-7)
