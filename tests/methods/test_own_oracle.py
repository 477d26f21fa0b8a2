"""An oracle of one's own, for a shape that allows better than ours: a chain of independent choices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from hcssp import CSSP, HCSSP, CSSPBuilder, PolicyBranching, Status, solve
from hcssp.extend import FlatOracle, Minimum, Oracle, PolicyPoint, Region
from volume import some


def chain(choices: Sequence[Sequence[tuple[float, ...]]], bounds: dict[str, float]) -> CSSP:
    """Stages one after another; at each, one of several ways, each with its costs."""
    plan = CSSPBuilder(cost_names=("time", *bounds), bounds=bounds)
    stages = [plan.add_state(f"stage-{index}") for index in range(len(choices))]
    stages.append(plan.add_goal("out"))
    for index, ways in enumerate(choices):
        for way, costs in enumerate(ways):
            plan.add_action(stages[index], f"way-{way}", to=stages[index + 1], costs=costs)
    return plan.build()


def random_chain(seed: int, stages: int, num_bounds: int = 1) -> CSSP:
    rng = np.random.default_rng(seed)
    ways = [rng.uniform(1.0, 10.0, size=(int(rng.integers(1, 4)), 1 + num_bounds)) for _ in range(stages)]
    least = np.sum([each[:, 1:].min(axis=0) for each in ways], axis=0)
    names = ("damage", "noise")[:num_bounds]
    bounds = dict(zip(names, (least * rng.uniform(0.9, 1.6, num_bounds)).tolist(), strict=True))
    return chain([[tuple(way) for way in each.tolist()] for each in ways], bounds)


class ChainPoint(PolicyPoint):
    """One way at every stage; each stage is passed once."""

    def __init__(self, rows: npt.NDArray[np.int64], costs: npt.NDArray[np.float64]) -> None:
        self.costs = costs
        self._rows = rows

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        return self._rows

    @property
    def visits(self) -> npt.NDArray[np.float64]:
        return np.ones(len(self._rows))


class ChainOracle(Oracle):
    """Under any weights, every stage takes its own best way: no system is ever solved."""

    def __init__(self, problem: CSSP | HCSSP) -> None:
        assert isinstance(problem, CSSP)
        self._bounds = problem.bounds
        self._costs = problem.costs
        self._row_start = problem.row_start[:-1]
        self._goals = problem.goals
        self.asked: list[npt.NDArray[np.float64]] = []

    @property
    def row_start(self) -> npt.NDArray[np.int64]:
        return self._row_start

    @property
    def row_state(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(len(self._row_start) - 1), np.diff(self._row_start))

    def minimise(
        self,
        weights: npt.NDArray[np.float64],
        region: Region,
        precision: float = 0.0,
        near: PolicyPoint | None = None,
    ) -> Minimum | None:
        self.asked.append(weights)
        weighted = weights @ self._costs
        weighted[list(region.forbidden)] = np.inf
        first, last = self._row_start[:-1], self._row_start[1:]
        rows = np.array(
            [low + int(np.argmin(weighted[low:high])) for low, high in zip(first, last, strict=True)]
        )
        value = float(weighted[rows].sum())
        if value == np.inf:
            return None
        # A bound may be too low, never too high, so that it allows for the rounding of the sum.
        return Minimum(ChainPoint(rows, self._costs[:, rows].sum(axis=1)), value - 1e-12 * (1.0 + value))

    def lift(self, point: PolicyPoint) -> npt.NDArray[np.int64]:
        rows = np.full(len(self._goals), -1)
        rows[~self._goals] = point.rows
        return rows


@pytest.mark.parametrize("num_bounds", [1, 2])
@pytest.mark.parametrize("seed", some(range(25)))
def test_it_proves_what_ours_proves(seed: int, num_bounds: int) -> None:
    problem = random_chain(seed, stages=8, num_bounds=num_bounds)
    ours = solve(problem, stop=())
    own = solve(problem, PolicyBranching(oracle=ChainOracle), stop=())
    assert own.status is ours.status
    assert own.upper_bound == pytest.approx(ours.upper_bound, rel=1e-9)
    if own.found:
        assert own.evaluate().keeps_bounds()
        assert own.stochastic is not None
        assert ours.stochastic is not None
        assert own.stochastic.value == pytest.approx(ours.stochastic.value, rel=1e-7)


def test_the_chains_are_of_all_kinds() -> None:
    plans = [solve(random_chain(seed, stages=8)) for seed in range(25)]
    assert {plan.status for plan in plans} == {Status.OPTIMAL, Status.INFEASIBLE}
    assert sum(bool(plan.prices and plan.prices["damage"] > 0.0) for plan in plans if plan.found) > 5


def test_ours_is_not_asked() -> None:
    problem = random_chain(1, stages=8)
    made: list[ChainOracle] = []

    def make(problem: CSSP | HCSSP) -> Oracle:
        made.append(ChainOracle(problem))
        return made[-1]

    plan = solve(problem, PolicyBranching(oracle=make))
    assert len(made) == 1
    assert made[0].asked
    # What was learnt is in the own oracle; there is nothing in the memory.
    assert vars(plan.memory)["_oracles"] == {}


@pytest.mark.parametrize(
    "make", [ChainOracle, partial(FlatOracle, evaluation="factorise")], ids=["own", "ours"]
)
def test_an_oracle_serves_under_any_bounds(make: type[ChainOracle]) -> None:
    """One oracle for all bounds: it is copied with what it knows, and the copies agree with new ones."""
    problem = random_chain(3, stages=8)
    kept = make(problem)
    for scale in (0.95, 1.1, 2.0):
        bounded = problem.with_bounds(damage=scale * float(problem.bounds[0]))
        under = kept.under(bounded.bounds)
        assert type(under) is type(kept)
        assert under.bounds.tolist() == bounded.bounds.tolist()
        assert kept.bounds.tolist() == problem.bounds.tolist()
        for price in (0.0, 0.4, 3.0):
            answers = [each.minimise(np.array([1.0, price]), Region()) for each in (under, make(bounded))]
            assert answers[0] is not None
            assert answers[1] is not None
            assert answers[0].bound == pytest.approx(answers[1].bound)
        shared = solve(bounded, PolicyBranching(oracle=lambda each: kept.under(each.bounds)))
        assert shared.upper_bound == pytest.approx(solve(bounded).upper_bound)


def test_what_an_oracle_learns_under_other_bounds_is_shared() -> None:
    problem = random_chain(3, stages=8)
    kept = ChainOracle(problem)
    kept.under(problem.bounds + 1.0).minimise(np.array([1.0, 0.5]), Region())
    assert [weights.tolist() for weights in kept.asked] == [[1.0, 0.5]]
