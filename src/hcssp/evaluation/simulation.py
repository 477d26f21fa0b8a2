r"""Monte Carlo: what a policy costs from run to run, not only on average.

Problem: given a policy, the distribution of every cost of a run: its percentiles and the probability
that it exceeds a bound. The exact evaluation knows the means alone.

Method: all runs advance together, one step at a time, as arrays; the successor of each is drawn by a
binary search in the cumulative probabilities of its row. A step costs what its transition costs, which may
depend on the state that is reached.

Guarantee: the same seed gives the same runs. A run that has not ended after `max_steps`, or when all runs
together have made 100 million steps, is never passed over: it is counted in
:attr:`Simulation.num_truncated`, logged as a warning, and enters every figure as a run of infinite cost,
since its total is only a lower bound.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> from hcssp.cssp.policy import DeterministicPolicy
>>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 3.0})
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=(1.0, 1.0))
>>> problem = plan.build()
>>> policy = DeterministicPolicy(problem, np.array([0, -1]))
>>> runs = simulate(problem, policy, runs=100_000, seed=1)
>>> round(runs.mean("time").value, 1), runs.percentile("time", 95)
(2.0, 5.0)
>>> round(runs.probability_of_exceeding("damage").value, 2)
0.13
>>> [(step.state, step.action) for step in narrate(problem, policy, seed=3)]
[('here', 'try'), ('here', 'try')]
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.errors import InvalidProblem
from hcssp.evaluation.chain import Policy, mismatch
from hcssp.evaluation.steps import Walk, draw_starts, steps_of
from hcssp.numerics import tolerated
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy

if TYPE_CHECKING:
    from hcssp.evaluation.procedure_simulation import ProcedureSimulation

logger = logging.getLogger(__name__)

MAX_STEPS = 100_000


class Estimate(NamedTuple):
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float


class Step(NamedTuple):
    """One step of a narrated run, by name."""

    state: Hashable
    action: Hashable
    costs: Mapping[str, float]
    successor: Hashable


@dataclass(frozen=True, eq=False)
class Simulation:
    """The runs of a policy.

    Attributes
    ----------
    totals
        Shape ``(number of costs, number of runs)``: the sum of each cost over each run. That of a
        truncated run stops where the run was stopped.
    steps
        The length of each run.
    truncated
        The runs that had not ended after the most steps allowed.
    cost_names, bounds
        The costs' names, and the bound of each secondary one.
    seed
        What the runs were drawn with.
    """

    totals: FloatArray
    steps: IntArray
    truncated: BoolArray
    cost_names: tuple[str, ...]
    bounds: FloatArray
    seed: int

    @property
    def means(self) -> FloatArray:
        """The mean of each cost over the runs, as far as they were followed."""
        return np.asarray(self.totals.mean(axis=1))

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each of the `means`; there must be at least two runs."""
        return np.asarray(self.totals.std(axis=1, ddof=1) / np.sqrt(self.num_runs))

    @property
    def num_runs(self) -> int:
        return len(self.steps)

    @property
    def num_truncated(self) -> int:
        """How many runs were stopped before their end; figures count their costs as infinite."""
        return int(np.count_nonzero(self.truncated))

    def mean(self, name: str, level: float = 0.95) -> Estimate:
        """The mean of a cost and its normal confidence interval; infinite if a run was truncated.

        Parameters
        ----------
        name
            The cost.
        level
            The probability with which such an interval holds the true mean.
        """
        totals = self._totals(name)
        if self.num_truncated:
            return Estimate(np.inf, float(np.mean(self.totals[self._index(name)])), np.inf)
        value = float(np.mean(totals))
        deviation = float(np.std(totals, ddof=1)) if len(totals) > 1 else np.inf
        half = _quantile(level) * deviation / float(np.sqrt(len(totals)))
        return Estimate(value, value - half, value + half)

    def percentile(self, name: str, percent: float) -> float:
        """The least total that at least `percent` of 100 runs do not exceed."""
        return float(np.percentile(self._totals(name), percent, method="inverted_cdf"))

    def probability_of_exceeding(
        self, name: str, bound: float | None = None, level: float = 0.95
    ) -> Estimate:
        """The share of runs that cost more than `bound`, and Wilson's confidence interval.

        Parameters
        ----------
        name
            The cost.
        bound
            By default the problem's bound on that cost.
        level
            The probability with which such an interval holds the true probability.
        """
        index = self._index(name)
        if bound is None:
            if index == 0:
                raise InvalidProblem(
                    [f"{name!r} is the primary cost and has no bound; give one to compare with"]
                )
            bound = float(self.bounds[index - 1])
        # A sum of many steps may miss a bound that it meets by a rounding error.
        broken = self._totals(name) > tolerated(np.array([bound])) if np.isfinite(bound) else np.zeros(1)
        share = float(np.mean(broken))
        quantile, count = _quantile(level), self.num_runs
        shrink = 1.0 + quantile**2 / count
        centre = (share + quantile**2 / (2 * count)) / shrink
        spread = float(np.sqrt(share * (1.0 - share) / count + quantile**2 / (4 * count**2)))
        half = quantile * spread / shrink
        return Estimate(share, max(0.0, centre - half), min(1.0, centre + half))

    def _index(self, name: str) -> int:
        if name not in self.cost_names:
            known = ", ".join(repr(known) for known in self.cost_names)
            raise InvalidProblem([f"there is no cost {name!r}; the costs are {known}"])
        return self.cost_names.index(name)

    def _totals(self, name: str) -> FloatArray:
        return np.where(self.truncated, np.inf, self.totals[self._index(name)])


@overload
def simulate(
    problem: CSSP, policy: Policy, runs: int = ..., seed: int = ..., max_steps: int = ...
) -> Simulation: ...
@overload
def simulate(
    problem: HCSSP, policy: ProcedurePolicy, runs: int = ..., seed: int = ..., max_steps: int = ...
) -> ProcedureSimulation: ...
@overload
def simulate(
    problem: CSSP | HCSSP,
    policy: Policy | ProcedurePolicy,
    runs: int = ...,
    seed: int = ...,
    max_steps: int = ...,
) -> Simulation: ...
def simulate(
    problem: CSSP | HCSSP,
    policy: Policy | ProcedurePolicy,
    runs: int = 10_000,
    seed: int = 0,
    max_steps: int = MAX_STEPS,
) -> Simulation:
    """Run `policy` many times.

    Parameters
    ----------
    problem, policy
        What is run: a C-SSP, or a procedure. A single problem's policy need not be proper; runs that go
        round for ever are truncated.
    runs
        How many runs.
    seed
        Names the runs for good.
    max_steps
        After how many steps a run is stopped. All runs together make at most 100 million; with fewer runs,
        each may go on for longer.

    Raises
    ------
    ImproperPolicy
        If a run enters a state where the policy has no action, or a procedure's policy does not reach the
        end almost surely.
    InvalidProblem
        If the policy does not fit the problem, or a number is not positive.
    """
    if isinstance(problem, HCSSP) and isinstance(policy, ProcedurePolicy):
        from hcssp.evaluation.procedure_simulation import simulate_procedure

        return simulate_procedure(
            policy if policy.problem is problem else policy.under(problem), runs, seed, max_steps
        )
    if not isinstance(problem, CSSP) or not isinstance(policy, DeterministicPolicy | RandomisedPolicy):
        raise mismatch(problem, policy)
    require_positive(runs=runs, max_steps=max_steps)
    generator = np.random.default_rng(seed)
    steps = steps_of(problem, policy)
    walk = Walk(problem, steps, draw_starts(problem, generator.random(runs)), generator)
    totals = np.zeros((len(problem.cost_names), runs))
    lengths = np.zeros(runs, dtype=np.int64)
    for under_way, taken in walk.go(max_steps):
        totals[:, under_way] += steps.costs(problem, taken)
        lengths[under_way] += 1
    truncated = truncated_runs(walk, lengths)
    return Simulation(totals, lengths, truncated, problem.cost_names, problem.bounds, seed)


def narrate(problem: CSSP, policy: Policy, seed: int = 0, max_steps: int = MAX_STEPS) -> Iterator[Step]:
    """Tell one run step by step; it ends in a goal, or after `max_steps` with a warning in the log.

    Parameters
    ----------
    problem, policy, seed, max_steps
        As for :func:`simulate`.
    """
    require_positive(max_steps=max_steps)
    generator = np.random.default_rng(seed)
    steps = steps_of(problem, policy)
    walk = Walk(problem, steps, draw_starts(problem, generator.random(1)), generator)
    for _, step in walk.go(max_steps):
        (taken,) = step
        row = int(steps.row[taken])
        yield Step(
            state=problem.state_labels[int(problem.row_state[row])],
            action=problem.action_labels[row],
            costs=dict(zip(problem.cost_names, steps.costs(problem, step)[:, 0].tolist(), strict=True)),
            successor=problem.state_labels[int(steps.state[taken])],
        )
    if len(walk.runs):
        logger.warning("the run had not reached a goal after %d steps", max_steps)


def truncated_runs(walk: Walk, lengths: IntArray) -> BoolArray:
    """Which runs have not ended, given the length of each; with a warning in the log if there are any."""
    truncated = np.zeros(len(lengths), dtype=np.bool_)
    truncated[walk.runs] = True
    if len(walk.runs):
        logger.warning(
            "%d of %d runs had not reached a goal after %d steps; their costs count as infinite",
            len(walk.runs),
            len(lengths),
            int(lengths.max()),
        )
    return truncated


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidProblem([f"confidence level {level} is not between 0 and 1"])
    # Imported when it is asked for: with its decimal numbers it takes longer than this whole module.
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + level / 2.0)


def require_positive(**numbers: int) -> None:
    """Raise :class:`InvalidProblem` unless all numbers are positive."""
    violations = [
        f"{name} is {number}; it must be positive" for name, number in numbers.items() if number < 1
    ]
    if violations:
        raise InvalidProblem(violations)
