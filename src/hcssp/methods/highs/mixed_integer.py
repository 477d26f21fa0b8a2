r"""The baseline over deterministic policies: Dolgov and Durfee's integer program, by HiGHS.

**Problem.** A C-SSP (an HC-SSP is flattened); wanted is the best deterministic policy that keeps the bounds.

**Method.** The flows :math:`x(s, a)` of the linear program, and a binary :math:`y(s, a)` for each:
:math:`x(s, a) \le M(s, a) y(s, a)`, one binary a state. A loose M makes the binaries meaningless, so it
follows from the cost of an incumbent (:mod:`hcssp.methods.highs.flow_bounds`). While no policy is known, a
cost limit is guessed; if no policy costs less, that is a lower bound, and the limit is raised.

**Guarantee.** Every policy that HiGHS finds is extracted and evaluated exactly. If its cost is not what HiGHS
claims (flow has leaked through a binary), that very policy is excluded and HiGHS is asked again. The lower
bound is the certified bound of the linear program. HiGHS's own bound rests on its arithmetic, with absolute
tolerances, and is not reported: that a policy is optimal, or that none is feasible, is a claim of HiGHS which
the ending repeats.

**References.** Dolgov and Durfee 2005.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import floor, inf, isfinite, log2
from typing import Any

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Policy, Progress
from hcssp.contract.solver import Context
from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.preprocessing import Prepared, prepare
from hcssp.evaluation.chain import induced_chain, is_proper
from hcssp.evaluation.exact import evaluate
from hcssp.methods.highs.flow_bounds import flow_bounds, largest_cost
from hcssp.methods.highs.integer_model import integer_model
from hcssp.methods.highs.linear_program import (
    Incumbent,
    LinearProgram,
    best_feasible,
    conclude,
    flat_problem,
    refuted_at_the_goal,
)
from hcssp.methods.highs.occupation import most_visited
from hcssp.methods.highs.relaxation import Relaxation, relax
from hcssp.methods.highs.running import TOLERANCE, Answer, Claim, Model, Outcome, ending_of, run
from hcssp.numerics import OPTIMALITY_TOLERANCE, at_least, relative_gap
from hcssp.procedure.policy import policy_of

BOUND_TOLERANCE = 1e-7
"""Costs that HiGHS claims, and its bounds, may be wrong by this share (and 1e-9)."""

INTEGER_TOLERANCE = 1e-8
"""Feasibility tolerance asked of HiGHS here; at 1e-9 its presolve has been seen to lose the optimum."""

_RAISE_BY = 8.0
_OWN_COST_SLACK = 1e-6


OPTIMAL = "HiGHS claims that the policy is optimal; its bound is not certified"
NO_POLICY = "HiGHS claims that no policy keeps the bounds; that is not certified"
LOOSE = "HiGHS cannot bound the costs, since flows are too loosely limited"


@dataclass(frozen=True)
class MixedInteger:
    """The integer program with one binary for each row."""

    name = "milp"

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield the relaxation's progress, then whatever HiGHS finds, until it claims to be done."""
        began = time.perf_counter()
        refuse_implicit(problem, f"the method {self.name!r}")
        time_limit = inf if context is None else context.time_limit
        flat = flat_problem(problem)
        refuted = refuted_at_the_goal(flat, began)
        if refuted is not None:
            yield refuted
            return
        prepared, unit = _in_units(prepare(flat))
        # Whoever stops listening must stop HiGHS, too.
        with closing(self._search(problem, prepared, began, time_limit)) as steps:
            for step in steps:
                yield _told(step, unit)

    def _search(
        self, problem: Problem, prepared: Prepared, began: float, time_limit: float
    ) -> Generator[Progress, None, None]:
        relaxation = yield from relax(prepared.problem, LinearProgram().options(time_limit), began)
        root = conclude(problem, prepared, relaxation, began, ending=None)
        yield root
        if root.ending is None:
            yield from _Search(problem, prepared, relaxation, root, began, time_limit).steps()


@dataclass
class _Search:
    """What is known so far, and how HiGHS is asked for more."""

    original: Problem
    prepared: Prepared
    relaxation: Relaxation
    root: Progress
    began: float
    time_limit: float
    claimed: float = -inf
    incumbent: Incumbent | None = None
    cost_limit: float = inf
    limits_valid: bool = False
    runs: int = 0
    excluded: list[IntArray] = field(default_factory=list)

    def steps(self) -> Iterator[Progress]:
        problem = self.problem
        self.claimed = self.root.lower_bound
        if self.root.incumbent is not None:
            self.incumbent = self._evaluated(_reduced_rows(self.prepared, self.root.incumbent.rows))
        most = largest_cost(problem)
        self.cost_limit = self._first_cost_limit(most)
        while not self._claims_optimum():
            cost_limit = self.cost_limit * (1.0 + _OWN_COST_SLACK) + TOLERANCE
            limits = flow_bounds(problem, cost_limit, self._limits_by_reduced_cost(cost_limit))
            self.limits_valid = limits.valid
            self.runs += 1
            model = integer_model(problem, limits.limits, self.excluded)
            solving = run(model, self._options(), start=self._start(model))
            try:
                while True:
                    claim = next(solving)
                    if claim is not None:
                        self._hear(claim)
                    yield self._snapshot()
            except StopIteration as finished:
                answer: Answer = finished.value
            finally:
                solving.close()
            ending = self._conclude(answer, most)
            if ending is not None:
                yield self._snapshot(ending)
                return
            yield self._snapshot()
        certified = relative_gap(self.root.lower_bound, self.upper_bound) <= OPTIMALITY_TOLERANCE
        yield self._snapshot(Ending(Reason.PROVED) if certified else Ending(Reason.CONVERGED, OPTIMAL))

    @property
    def problem(self) -> CSSP:
        return self.prepared.problem

    @property
    def upper_bound(self) -> float:
        return inf if self.incumbent is None else self.incumbent.cost

    def _first_cost_limit(self, most: float) -> float:
        """The cost below which to look first: the incumbent's, or a guess a little above the relaxation."""
        if self.incumbent is not None:
            return self.incumbent.cost
        positive = self.problem.costs[0][self.problem.costs[0] > 0.0]
        guess = max(2.0 * self.claimed, float(np.min(positive, initial=inf)))
        return min(guess if isfinite(guess) else 0.0, most)

    def _limits_by_reduced_cost(self, cost_limit: float) -> FloatArray | None:
        """How often a row can be taken before the relaxation's bound exceeds the cost limit."""
        reduced_costs, prices = self.relaxation.reduced_costs, self.relaxation.prices
        if reduced_costs is None or prices is None:
            return None
        gap = max(0.0, cost_limit - self.relaxation.lower_bound)
        limits = np.full(len(reduced_costs), inf)
        np.divide(gap, reduced_costs, out=limits, where=reduced_costs > TOLERANCE * gap)
        return limits

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "mip_feasibility_tolerance": INTEGER_TOLERANCE,
            "primal_feasibility_tolerance": INTEGER_TOLERANCE,
            "dual_feasibility_tolerance": INTEGER_TOLERANCE,
            "mip_rel_gap": TOLERANCE,
            "mip_abs_gap": TOLERANCE,
        }
        if isfinite(self.time_limit):
            options["time_limit"] = max(0.01, self.time_limit - (time.perf_counter() - self.began))
        return options

    def _start(self, model: Model) -> FloatArray | None:
        """The incumbent as a solution of the model, unless it has been excluded."""
        if self.incumbent is None or self._is_excluded(self.incumbent.rows):
            return None
        visits = evaluate(self.problem, DeterministicPolicy(self.problem, self.incumbent.rows)).visits
        acting = np.flatnonzero(~self.problem.goals)
        rows = self.incumbent.rows[acting]
        start = np.zeros(len(model.costs))
        start[rows] = visits[acting]
        start[self.problem.num_rows + rows] = 1.0
        return start

    def _hear(self, claim: Claim) -> None:
        """Take the policy and the bound from a claim."""
        if claim.values is not None:
            self._offer(self._rows(claim.values))
        self._raise_claim(claim.dual_bound)

    def _rows(self, values: FloatArray) -> IntArray:
        return most_visited(self.problem, values[self.problem.num_rows :])

    def _offer(self, rows: IntArray) -> Incumbent | None:
        """Evaluate a policy exactly; it becomes the incumbent if it is feasible and better."""
        found = self._evaluated(rows)
        if found is not None and found.cost < self.upper_bound:
            self.incumbent = found
        return found

    def _evaluated(self, rows: IntArray) -> Incumbent | None:
        if not is_proper(self.problem, DeterministicPolicy(self.problem, rows)):
            return None
        return best_feasible(self.original, self.prepared, [rows])

    def _raise_claim(self, dual_bound: float) -> None:
        """HiGHS's bound is about policies within the limits and not excluded; the rest is known."""
        if self.limits_valid:
            self.claimed = max(self.claimed, min(dual_bound, self.cost_limit, self.upper_bound))

    def _conclude(self, answer: Answer, most: float) -> Ending | None:
        """Draw the consequences of a run; a reason to stop, or None to go on."""
        if answer.outcome is Outcome.OPTIMAL and answer.values is not None:
            return self._after_solution(answer, answer.values)
        if answer.outcome is Outcome.INFEASIBLE:
            return self._after_none(most)
        return ending_of(answer.outcome, answer.status)

    def _after_solution(self, answer: Answer, values: FloatArray) -> Ending | None:
        rows = self._rows(values)
        found = self._offer(rows)
        self._raise_claim(answer.dual_bound)
        if not self.limits_valid and found is not None and self.cost_limit <= found.cost:
            return Ending(Reason.CONVERGED, LOOSE)
        claimed = float(self.problem.costs[0] @ values[: self.problem.num_rows])
        honest = found is not None and found.cost <= claimed + BOUND_TOLERANCE * abs(claimed) + TOLERANCE
        if not honest:
            if self._is_excluded(rows):
                return Ending(Reason.FAILED, "HiGHS returns a policy that was excluded")
            self.excluded.append(self._reached(rows))
        elif self.cost_limit == self.upper_bound and not self._claims_optimum():
            return Ending(Reason.FAILED, "HiGHS bounds the costs by less than it claims")
        if self.incumbent is not None:
            self.cost_limit = self.incumbent.cost
        return None

    def _after_none(self, most: float) -> Ending | None:
        if self.incumbent is not None and not self._is_excluded(self.incumbent.rows):
            return Ending(Reason.FAILED, "HiGHS finds no policy, though one is known")
        if self.incumbent is not None and self.incumbent.cost <= self.cost_limit:
            self._raise_claim(inf)
            return None if self.limits_valid else Ending(Reason.CONVERGED, LOOSE)
        if not self.limits_valid:
            return Ending(Reason.CONVERGED, LOOSE)
        if self.cost_limit >= most:
            return Ending(Reason.CONVERGED, NO_POLICY)
        self.claimed = max(self.claimed, self.cost_limit)
        self.cost_limit = min(_RAISE_BY * self.cost_limit, most)
        return None

    def _reached(self, rows: IntArray) -> IntArray:
        """The rows that a policy uses; they tell it from all others."""
        chain = induced_chain(self.problem, DeterministicPolicy(self.problem, rows))
        return rows[chain.reached & ~self.problem.goals]

    def _is_excluded(self, rows: IntArray) -> bool:
        return any(np.isin(used, rows).all() for used in self.excluded)

    def _claims_optimum(self) -> bool:
        tolerance = BOUND_TOLERANCE * self.upper_bound + TOLERANCE
        return self.incumbent is not None and self.upper_bound - self.claimed <= tolerance

    def _snapshot(self, ending: Ending | None = None) -> Progress:
        return Progress(
            seconds=time.perf_counter() - self.began,
            iterations=self.runs,
            lower_bound=min(self.root.lower_bound, at_least(self.upper_bound)),
            upper_bound=self.upper_bound,
            incumbent=None if self.incumbent is None else self._policy(self.incumbent.rows),
            prices=self.root.prices,
            stochastic=self.root.stochastic,
            randomised=self.root.randomised,
            ending=ending,
        )

    def _policy(self, rows: IntArray) -> Policy:
        return policy_of(self.original, self.prepared.lift(rows))


def _in_units(prepared: Prepared) -> tuple[Prepared, float]:
    """The problem with primary costs of about one, and their unit: HiGHS's tolerances are absolute.

    The unit is a power of two, so that nothing is rounded.
    """
    problem = prepared.problem
    largest = float(problem.costs[0].max(initial=0.0))
    unit = 2.0 ** floor(log2(largest)) if largest > 0.0 else 1.0
    costs = problem.costs.copy()
    costs[0] /= unit
    return prepared.with_problem(problem.derive(costs=costs)), unit


def _told(step: Progress, unit: float) -> Progress:
    """A snapshot in the problem's own unit."""
    stochastic = step.stochastic
    if stochastic is not None:
        costs = stochastic.costs.copy()
        costs[:, 0] *= unit
        stochastic = replace(stochastic, value=stochastic.value * unit, costs=costs)
    return replace(
        step,
        lower_bound=step.lower_bound * unit,
        upper_bound=step.upper_bound * unit,
        prices=None if step.prices is None else step.prices * unit,
        stochastic=stochastic,
    )


def _reduced_rows(prepared: Prepared, rows: IntArray) -> IntArray:
    """A policy of the original as one of the reduced problem."""
    position = np.full(prepared.original.num_rows + 1, -1, dtype=np.int64)
    position[prepared.rows] = np.arange(len(prepared.rows))
    reduced: IntArray = position[rows[prepared.states]]
    return reduced
