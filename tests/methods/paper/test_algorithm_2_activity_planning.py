"""Algorithm 2 on its own: an activity under limits, against all its plans and the anytime algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from brute_force_procedures import brute_force_flat
from hcssp.contract.progress import Progress
from hcssp.methods.anytime import Anytime
from hcssp.methods.paper import Instance, activity_planning
from hcssp.methods.paper.activity_budget import within
from hcssp.solving.solve import solve
from random_procedures import random_activity, random_procedure
from volume import some

ITERATIONS = (0, 1, 3, inf)


@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("seed", some(range(10), 2))
def test_it_bounds_the_best_plan_within_the_limits(seed: int, branches: bool) -> None:
    problem = random_procedure(seed)
    instance = Instance(problem, branches)
    rng = np.random.default_rng(seed)
    for activity, budget in enumerate(instance.activities):
        costs = brute_force_flat(problem.activities[activity].cssp).costs
        use = costs[:, list(budget.counted)]
        for _ in range(3):
            limits = rng.uniform(0.9 * use.min(axis=0, initial=0.0), 1.1 * use.max(axis=0, initial=1.0))
            best = costs[np.all(use <= limits, axis=1), 0].min(initial=inf)
            last = -inf
            for iterations in ITERATIONS:
                answer = activity_planning(instance, activity, limits, iterations)
                assert last - 1e-9 <= answer.lower_bound <= best + 1e-9
                assert answer.upper_bound >= best - 1e-9
                last = answer.lower_bound
                if answer.plan is not None:
                    assert within(budget.usage(answer.plan), limits)
                    assert answer.plan.costs[0] == answer.upper_bound
            assert answer.lower_bound == pytest.approx(best)
            assert answer.upper_bound == pytest.approx(best)


def test_line_by_line_on_three_ways() -> None:
    instance = Instance(in_a_row([ways(*THREE_WAYS)], damage=3.5))
    limit = np.array([3.5])

    def answer(iterations: float) -> tuple[float, float]:
        found = activity_planning(instance, 0, limit, iterations)
        return round(found.lower_bound, 6), found.upper_bound

    # Stage 1: the line from (10, 0) to (1, 4) at 3.5, and the best of its ends that keeps the limit.
    assert answer(0) == (2.125, 10.0)
    # The first and the second best policy under that line's price are its ends.
    assert answer(1) == (2.125, 10.0)
    # The third is the way between them, 2.75 above the line; it keeps the limit, and there is no fourth.
    assert answer(2) == (4.875, 6.0)
    assert answer(3) == answer(inf) == (6.0, 6.0)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_l_means_what_it_means_to_the_anytime_algorithm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    room = random_activity(rng)
    uses = brute_force_flat(room).costs[:, 1]
    limit = float(rng.uniform(uses.min(), uses.max()))
    instance = Instance(in_a_row([room], damage=limit))
    bounded = room.with_bounds(damage=limit)
    for iterations in (0, 1, 2, 3, 4, inf):
        answer = activity_planning(instance, 0, np.array([limit]), iterations)
        result = solve(bounded, Anytime(iterations=iterations))
        assert answer.lower_bound == pytest.approx(result.lower_bound, abs=1e-7)
        assert answer.upper_bound == pytest.approx(result.upper_bound, abs=1e-7)


@pytest.mark.parametrize("branches", [False, True])
def test_no_answer_depends_on_what_was_asked_before(branches: bool) -> None:
    problem = random_procedure(7, num_constraints=2)
    asked = Instance(problem, branches)
    rng = np.random.default_rng(0)
    for activity, budget in enumerate(asked.activities):
        least = np.array(budget.least)
        for _ in range(12):
            activity_planning(asked, activity, least + rng.uniform(0.0, 6.0, len(least)), 0)
        for more in (1.0, 2.0, 3.0):
            fresh = activity_planning(Instance(problem, branches), activity, least + more, 0)
            later = activity_planning(asked, activity, least + more, 0)
            assert fresh.lower_bound == pytest.approx(later.lower_bound, abs=1e-7)
            assert fresh.upper_bound == pytest.approx(later.upper_bound, abs=1e-7)


def test_what_rounding_leaves_undecided_is_not_impossible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def undecided(_: object) -> Iterator[Progress]:
        yield Progress(lower_bound=5.0)

    monkeypatch.setattr("hcssp.methods.paper.instance.PolicySearch.run", undecided)
    instance = Instance(in_a_row([ways(*THREE_WAYS)], damage=3.5), branches=True)
    answer = activity_planning(instance, 0, np.array([3.5]), inf)
    # What the dual has found stays.
    assert (answer.lower_bound, answer.upper_bound, answer.exact) == (5.0, 10.0, False)
    # Nor does it answer for smaller limits.
    monkeypatch.undo()
    assert activity_planning(instance, 0, np.array([3.25]), inf).upper_bound == 6.0
