r"""The baseline over randomised policies: one linear program over occupation measures, by HiGHS.

**Problem.** A C-SSP (an HC-SSP is flattened); wanted is the optimum over randomised policies, which bounds
that over deterministic ones from below.

**Method.** :math:`\min C_0 x` over flows :math:`x(s, a)` that keep the bounds; see
:mod:`hcssp.methods.highs.relaxation`. The flow is a stationary randomised policy and a mixture of at most
N + 1 deterministic ones.

**Guarantee.** No figure is HiGHS's own: the lower bound is certified from the duals, all costs come from
exact evaluations of the extracted policies. A deterministic policy met on the way is offered as the
incumbent only if it keeps the bounds; nothing is done to improve it.

**References.** Altman 1999.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> _ = plan.add_action(here, "walk", to=out, costs=(3.0, 0.0))
>>> _ = plan.add_action(here, "jump", to=out, costs=(1.0, 4.0))
>>> *_, last = LinearProgram().iterate(plan.build(), Context())
>>> round(last.lower_bound, 6), last.upper_bound, last.prices.tolist()
(2.5, 3.0, [0.5])
>>> last.randomised.probabilities.tolist()
[0.75, 0.25]
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.memory import Problem
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Infeasible
from hcssp.contract.solver import Context
from hcssp.cssp.implicit import refuse_implicit
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy, RandomisedPolicy
from hcssp.cssp.preprocessing import Prepared, prepare
from hcssp.dual.ascent import Infeasibility
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.errors import InvalidProblem
from hcssp.evaluation.chain import is_proper
from hcssp.evaluation.exact import evaluate
from hcssp.methods.careful_costs import is_limited
from hcssp.methods.highs.occupation import decompose, deterministic_candidates, randomised
from hcssp.methods.highs.relaxation import Relaxation, relax
from hcssp.methods.highs.running import TOLERANCE, ending_of
from hcssp.numerics import at_least, tolerated
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import policy_of
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_iteration import PolicyIteration

METHODS = ("choose", "simplex", "ipm", "ipx", "hipo", "pdlp")

# A first-order method does not get further than this in reasonable time.
_FIRST_ORDER_TOLERANCE = 1e-7
_BREATH = 1e-9


@dataclass(frozen=True)
class Incumbent:
    """A feasible deterministic policy: its exact cost and its rows."""

    cost: float
    rows: IntArray


@dataclass(frozen=True)
class LinearProgram:
    """The linear program over occupation measures.

    Attributes
    ----------
    method
        HiGHS's method: "choose" leaves it to HiGHS; "simplex", "ipm" (interior point), "pdlp" (first order).
    """

    method: str = "choose"
    name = "lp"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidProblem([f"method {self.method!r} is unknown; HiGHS has {', '.join(METHODS)}"])

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield signs of life while HiGHS works, then everything at once."""
        began = time.perf_counter()
        refuse_implicit(problem, f"the method {self.name!r}")
        time_limit = inf if context is None else context.time_limit
        flat = flat_problem(problem)
        refuted = refuted_at_the_goal(flat, began)
        if refuted is not None:
            yield refuted
            return
        prepared = prepare(flat)
        relaxation = yield from relax(prepared.problem, self.options(time_limit), began)
        yield conclude(problem, prepared, relaxation, began, Ending(Reason.RELAXATION))

    def options(self, time_limit: float) -> dict[str, Any]:
        """The parameters as options of HiGHS, which may work for `time_limit` seconds."""
        tolerance = _FIRST_ORDER_TOLERANCE if self.method == "pdlp" else TOLERANCE
        options: dict[str, Any] = {
            "solver": self.method,
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
        }
        if isfinite(time_limit):
            options["time_limit"] = time_limit
        return options


def flat_problem(problem: Problem) -> CSSP:
    """The problem as one C-SSP."""
    return problem.flattening.cssp if isinstance(problem, HCSSP) else problem


def refuted_at_the_goal(problem: CSSP, began: float) -> Progress | None:
    """The proof that nothing is feasible if the start is a goal, where even nothing is too much.

    HiGHS has no say there: without flow there is no constraint. None in every other case.
    """
    broken = np.flatnonzero(tolerated(problem.bounds) < 0.0)
    if float(problem.initial @ problem.goals) < 1.0 or len(broken) == 0:
        return None
    weights = np.zeros(problem.num_constraints)
    weights[broken[0]] = 1.0
    proof = Infeasibility(weights, 0.0, float(problem.bounds[broken[0]]))
    seconds = time.perf_counter() - began
    ending = Ending(Reason.INFEASIBLE)
    return Progress(seconds, lower_bound=inf, infeasible=Infeasible(proof), ending=ending)


def conclude(
    problem: Problem, prepared: Prepared, relaxation: Relaxation, began: float, ending: Ending | None
) -> Progress:
    """What a relaxation proves, with the policies found in its flow.

    Parameters
    ----------
    problem, prepared, relaxation, began
        The problem, its flat form, the answer, and when the solver began.
    ending
        What the progress says if the relaxation was solved; None if the solver goes on from there.
    """
    # No cost is negative, so zero is a bound whatever the prices are.
    lower_bound, upper_bound = max(0.0, relaxation.lower_bound), inf
    rows: IntArray | None = None
    stochastic: StochasticOptimum | None = None
    policy: RandomisedPolicy | None = None
    if relaxation.infeasibility is not None:
        lower_bound, ending = inf, Ending(Reason.INFEASIBLE)
    elif relaxation.flow is None:
        ending = ending_of(relaxation.outcome, relaxation.status)
    else:
        flow, elsewhere = relaxation.flow, _best_rows(prepared.problem, relaxation.prices)
        policy = _randomised_policy(prepared, flow, elsewhere)
        mixture = decompose(prepared.problem, flow, prepared.problem.num_constraints + 1, elsewhere)
        # The certified bound, not the policy's own cost, which carries HiGHS's tolerances.
        stochastic = _mixture(prepared, mixture, lower_bound)
        candidates = [
            *deterministic_candidates(prepared.problem, flow, elsewhere),
            *(rows for _, rows, _ in mixture),
        ]
        incumbent = best_feasible(problem, prepared, candidates)
        if incumbent is not None:
            upper_bound, rows = incumbent.cost, prepared.lift(incumbent.rows)
            lower_bound = min(lower_bound, at_least(upper_bound))
    return Progress(
        seconds=time.perf_counter() - began,
        iterations=1,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        incumbent=None if rows is None else policy_of(problem, rows),
        prices=relaxation.prices,
        stochastic=stochastic,
        randomised=policy,
        infeasible=None if relaxation.infeasibility is None else Infeasible(relaxation.infeasibility),
        ending=ending,
    )


def best_feasible(problem: Problem, prepared: Prepared, candidates: list[IntArray]) -> Incumbent | None:
    """The cheapest of the proper policies `candidates` that keeps the bounds, by exact evaluation."""
    best: Incumbent | None = None
    flat, limited = prepared.problem, is_limited(problem)
    for rows in candidates:
        evaluation = evaluate(flat, DeterministicPolicy(flat, rows))
        cost = float(evaluation.costs[0])
        if evaluation.keeps_bounds() and (best is None or cost < best.cost):
            whole = evaluate(problem, policy_of(problem, prepared.lift(rows))) if limited else evaluation
            best = Incumbent(cost, rows) if whole.keeps_bounds() else best
    return best


def _best_rows(problem: CSSP, prices: FloatArray | None) -> IntArray:
    """For each state the row that is best under `prices`, wherever a flow leaves it open."""
    weights = np.append(1.0, np.zeros(problem.num_constraints) if prices is None else prices)
    balance = Balance(problem)
    best = PolicyIteration(balance).minimise(weights)
    if best is None:
        raise RuntimeError("a prepared problem without a proper policy")
    rows = np.full(problem.num_states, NO_ROW, dtype=np.int64)
    rows[balance.live] = best.rows
    return rows


def _randomised_policy(prepared: Prepared, flow: FloatArray, elsewhere: IntArray) -> RandomisedPolicy:
    problem = prepared.problem
    probabilities = randomised(problem, flow, elsewhere)
    if not is_proper(problem, RandomisedPolicy(problem, probabilities)):
        # What little flows in circles is left by a breath of the best rows everywhere.
        best = randomised(problem, np.zeros(problem.num_rows), elsewhere)
        probabilities = (1.0 - _BREATH) * probabilities + _BREATH * best
    return RandomisedPolicy(prepared.original, prepared.lift_probabilities(probabilities))


def _mixture(
    prepared: Prepared, mixture: list[tuple[float, IntArray, FloatArray]], value: float
) -> StochasticOptimum:
    return StochasticOptimum(
        value=value,
        weights=np.array([weight for weight, _, _ in mixture]),
        policies=tuple(prepared.lift(rows) for _, rows, _ in mixture),
        costs=np.array([costs for _, _, costs in mixture]).reshape(-1, len(prepared.problem.cost_names)),
    )
