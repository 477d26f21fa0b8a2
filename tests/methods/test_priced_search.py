"""Heuristic search led by heuristics that know prices, against brute force and its own checker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hcssp
from brute_force import brute_force
from hcssp.contract.progress import Progress
from hcssp.cssp.expansion import ExpandedCSSP
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.state_space import TransitionBatch
from hcssp.heuristics import expected_costs, highest, shortest_paths
from implicit_problems import implicit_of
from random_problems import random_cssp
from volume import examples


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["expected", "shortest", "both"]))
def test_every_bound_holds_and_the_optimum_is_found(seed: int, kind: str) -> None:
    problem = random_cssp(seed)
    truth = brute_force(problem)
    known = {"expected": [expected_costs(problem)], "shortest": [shortest_paths(problem)]}
    heuristic = highest(*known.get(kind, [*known["expected"], *known["shortest"]]))
    told: list[Progress] = []
    plan = hcssp.solve(implicit_of(problem, heuristic), on_progress=told.append)
    assert plan.status.value == truth.status
    if truth.status == "optimal":
        assert plan.upper_bound == pytest.approx(truth.value, rel=1e-6)
    for step in told:
        assert step.lower_bound <= truth.value * (1.0 + 1e-12) + 1e-12
    verdict = hcssp.check(plan.problem, plan.certificate)
    assert verdict.lower_bound <= truth.value * (1.0 + 1e-9)


SIZE = 40


def field(joint: bool) -> ImplicitCSSP:
    """Across a field of mud, where a step may fail: around it is clean, and takes longer."""
    moves = np.array([[1, 0], [0, 1], [0, -1]])

    def steps(cells: np.ndarray) -> TransitionBatch:
        count = len(cells)
        mud = (np.abs(cells[:, 1]) < 4) & (cells[:, 0] % 4 > 0) & (cells[:, 0] < SIZE)
        ahead = (cells[:, np.newaxis] + moves).reshape(-1, 2)
        stay = np.repeat(cells, 3, axis=0)
        return TransitionBatch(
            np.repeat(np.arange(count), 3),
            np.tile(np.arange(3), count),
            np.stack((np.ones(3 * count), np.repeat(mud * 1.0, 3))),
            np.tile(np.arange(3 * count), 2),
            np.concatenate((ahead, stay)).clip([0, -SIZE], [SIZE, SIZE]),
            np.repeat((0.9, 0.1), 3 * count),
        )

    def over(cells: np.ndarray) -> np.ndarray:
        return cells[:, 0] >= SIZE

    whole = ImplicitCSSP.in_batches(
        (0, 0), steps, over, action_names=("on", "up", "down"), cost_names=("time", "mud")
    )
    known = expected_costs(whole.enumerated())
    return ImplicitCSSP.in_batches(
        (0, 0),
        steps,
        over,
        known if joint else known.of,
        ("on", "up", "down"),
        ("time", "mud"),
        {"mud": 9.0},
        consistent=True,
    )


def test_who_knows_prices_expands_less_and_proves_it() -> None:
    apart, joint = (hcssp.solve(field(each), stop=hcssp.Gap(0.05)) for each in (False, True))
    assert joint.gap <= 0.05
    assert joint.problem.num_expanded < 0.5 * apart.problem.num_expanded
    part = joint.problem
    assert isinstance(part, ExpandedCSSP)
    assert part.priced_at is not None
    verdict = hcssp.check(part, joint.certificate)
    assert verdict.lower_bound == pytest.approx(joint.lower_bound, rel=1e-6)
    assert verdict.lower_bound <= joint.upper_bound
    # What comes after takes the plan as any other.
    stricter = joint.resolve(mud=8.0, stop=hcssp.Gap(0.05))
    assert stricter.gap <= 0.05
    assert stricter.lower_bound >= joint.lower_bound * (1.0 - 1e-9)
