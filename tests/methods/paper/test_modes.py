"""Both modes against brute force, and that the mode published uses nothing of the mode sharp."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from allocation_boxes import THREE_WAYS, in_a_row, ways
from brute_force_procedures import brute_force
from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxIterations, Progress
from hcssp.contract.proof import Status
from hcssp.contract.solver import Context, Problem
from hcssp.errors import UnknownName
from hcssp.methods.paper import MODES, BudgetAllocation, Instance, find_mode, sharp
from hcssp.methods.paper.algorithms import LowerBound
from hcssp.procedure import HCSSP
from hcssp.solving.solve import solve
from random_procedures import random_procedure
from volume import some


@cache
def instance(seed: int) -> tuple[HCSSP, float]:
    problem = random_procedure(seed)
    best = brute_force(problem).optimum(problem.bounds)
    return problem, inf if best is None else best[0]


class Recorded:
    """A solver that keeps its own snapshots, before anybody has tightened them."""

    def __init__(self, solver: BudgetAllocation) -> None:
        self._solver = solver
        self.name = solver.name
        self.steps: list[Progress] = []

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        for step in self._solver.iterate(problem, context):
            self.steps.append(step)
            yield step


def run(problem: HCSSP, solver: BudgetAllocation, most: int, optimum: float) -> Plan:
    """Solve, checking that every interval is sound and none is wider than the one before."""
    recorded = Recorded(solver)
    result = solve(problem, recorded, [MaxIterations(most)])
    tolerance = 1e-7 * (1.0 + (abs(optimum) if optimum < inf else 0.0))
    for step in recorded.steps:
        assert step.lower_bound <= optimum + tolerance
        assert step.upper_bound >= optimum - tolerance
        assert step.lower_bound <= step.upper_bound
    for before, after in pairwise(recorded.steps):
        assert after.lower_bound >= before.lower_bound
        assert after.upper_bound <= before.upper_bound
    assert result.evaluation is None or result.evaluation.keeps_bounds()
    return result


@pytest.mark.parametrize("seed", some(range(30), 6))
def test_sharp_with_infinite_iterations_is_the_optimum(seed: int) -> None:
    problem, optimum = instance(seed)
    result = run(problem, BudgetAllocation(iterations=inf), 10_000, optimum)
    if optimum == inf:
        assert result.status is Status.INFEASIBLE
    else:
        assert result.status is Status.OPTIMAL
        assert result.upper_bound == pytest.approx(optimum, rel=1e-7, abs=1e-7)
        assert result.lower_bound == pytest.approx(optimum, rel=1e-7, abs=1e-7)


PUBLISHED_SEEDS = some(range(30), 2)


@cache
def published(seed: int) -> Plan:
    problem, optimum = instance(seed)
    return run(problem, BudgetAllocation(inf, "published"), 30, optimum)


@pytest.mark.parametrize("seed", PUBLISHED_SEEDS)
def test_published_with_infinite_iterations_is_the_optimum_once_it_ends(seed: int) -> None:
    _, optimum = instance(seed)
    result = published(seed)
    if result.ending.reason == "proved":
        assert result.status is Status.OPTIMAL
        assert result.upper_bound == pytest.approx(optimum, rel=1e-7, abs=1e-7)
    elif result.ending.reason == "infeasible":
        assert optimum == inf
    else:
        assert result.ending.reason == "iterations"


def test_published_does_not_always_end_at_once() -> None:
    """Were all of them trivial, or none, the tests above would say little."""
    assert sum(published(seed).iterations > 2 for seed in PUBLISHED_SEEDS) > 2
    assert sum(published(seed).status is Status.INFEASIBLE for seed in PUBLISHED_SEEDS) > 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", some(range(30), 5))
def test_every_interval_is_sound_whatever_the_iterations(seed: int, mode: Any) -> None:
    problem, optimum = instance(seed)
    # Each number of iterations on a third of the procedures keeps traces long and the tests short.
    run(problem, BudgetAllocation((0, 1, 3)[seed % 3], mode), 15, optimum)


def test_published_halves_until_the_bounds_meet() -> None:
    # Ways that no dual finds: 6 and 3 in one room, 1 and 4 in the other, within 7.
    problem = in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0)
    result = run(problem, BudgetAllocation(inf, "published"), 10_000, 7.0)
    assert result.ending.reason == "proved"
    assert result.upper_bound == 7.0
    assert result.iterations > 3


def test_published_with_a_gap_that_stays_goes_on_until_it_is_stopped() -> None:
    problem = in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0)
    solver = BudgetAllocation(0, "published")
    result = run(problem, solver, 300, 7.0)
    assert result.ending.reason == "iterations"
    assert result.lower_bound < 7.0 < result.upper_bound
    # The other mode raises l where nothing is left to split.
    assert solve(problem, BudgetAllocation(0), [MaxIterations(300)]).ending.reason == "proved"


def test_published_has_no_dual_of_the_whole() -> None:
    problem = in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0)
    published, sharp = (solve(problem, BudgetAllocation(0, mode), [MaxIterations(1)]) for mode in MODES)
    assert published.stochastic is None
    assert published.prices is None
    assert published.lower_bound == pytest.approx(2.0)
    assert sharp.stochastic is not None
    assert sharp.prices == pytest.approx({"damage": 2.25})
    assert sharp.lower_bound == pytest.approx(2 * (10.0 - 2.25 * 3.5))


def test_sharp_is_the_default() -> None:
    assert BudgetAllocation() == BudgetAllocation(0, "sharp", 0.0)
    assert MODES == ("published", "sharp")
    assert [find_mode(name).branches for name in MODES] == [False, True]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(UnknownName, match="no mode 'shrap'; did you mean 'sharp'"):
        BudgetAllocation(mode="shrap")  # type: ignore[arg-type]


PIECES = [
    "hcssp.methods.paper.sharp.sharp_limits",
    "hcssp.methods.paper.sharp.sharp_lower_bound",
    "hcssp.methods.paper.sharp.split_at_incumbent",
    "hcssp.methods.paper.sharp.suggested_solutions",
    "hcssp.methods.paper.sharp.BoxOracle",
    "hcssp.methods.paper.sharp.is_dominated",
    "hcssp.methods.paper.solver.ascend",
    "hcssp.methods.paper.algorithms.prove",
]
"""What sharp does beyond the paper, each where it is called."""


class Used(Exception):
    """A piece of the mode sharp was used."""


def refuse(*_: object, **__: object) -> NoReturn:
    raise Used


@pytest.mark.parametrize("piece", PIECES)
def test_sharp_uses_each_of_its_pieces(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piece, refuse)
    problem = in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0)
    with pytest.raises(Used):
        solve(problem, BudgetAllocation(inf), [MaxIterations(30)])


@pytest.mark.parametrize("iterations", [0, 1, inf])
def test_published_uses_none_of_them(iterations: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [
        in_a_row([ways(*THREE_WAYS)] * 2, damage=7.0),
        *(instance(seed)[0] for seed in some((1, 7, 10), 2)),
    ]
    solver = BudgetAllocation(iterations, "published")

    def traces() -> list[list[tuple[float, float]]]:
        results = [solve(problem, solver, [MaxIterations(12)]) for problem in problems]
        return [[point[1:] for point in result.trace] for result in results]

    before = traces()
    for piece in [*PIECES, "hcssp.methods.paper.algorithms.prove"]:
        monkeypatch.setattr(piece, refuse)
    assert traces() == before


def test_only_the_solver_knows_the_mode_sharp() -> None:
    knowing = set()
    for path in Path(sharp.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "hcssp.methods.paper.sharp":
                knowing.add(path.name)
    assert knowing == {"solver.py"}


def test_in_published_a_box_is_bounded_by_itself() -> None:
    """Neither the parent's bound, nor its prices, nor the incumbent have a say."""
    problem, _ = instance(1)
    mode = find_mode("published")
    planned = Instance(problem)
    box = mode.initial_box(planned)
    rich = LowerBound(1e6, np.full(problem.num_constraints, 3.0), np.ones(problem.num_activities))
    poor = LowerBound(-inf, np.zeros(problem.num_constraints), np.zeros(problem.num_activities))
    first = mode.compute_lb(planned, box, 1, rich, cutoff=0.0).value
    second = mode.compute_lb(planned, box, 1, poor, cutoff=inf).value
    assert first == second < 1e6
    costs = [mode.compute_ub(planned, box, 1, parent)[0] for parent in (rich, poor)]
    assert costs[0] == costs[1]
