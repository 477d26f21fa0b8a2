r"""The baseline over randomised policies: one linear program over occupation measures, by HiGHS.

**Problem.** A C-SSP (an HC-SSP is flattened); wanted is the optimum over randomised policies, which bounds
that over deterministic ones from below.

**Method.** :math:`\min C_0 x` over flows :math:`x(s, a)` with :math:`C_i x \le \Delta_i`. The expected number
of times a policy takes each row satisfies, in every state that is no goal, :math:`\sum_a x(s, a) - \sum P(s
\mid s', a') x(s', a') = \mu(s)`. Every non-negative solution is the flow of a stationary randomised policy
(plus, perhaps, circulations that it never enters) and a mixture of at most N + 1 deterministic ones.

**Guarantee.** No figure is HiGHS's own. The duals of the program are multipliers and values of the states;
together they give a Lagrangian bound, which is certified here rather than read off the objective. All costs
come from exact evaluations of the extracted policies. If HiGHS finds no flow that keeps the bounds, the
ascent of the dual (:mod:`hcssp.dual.ascent`) proves that there is none. A deterministic policy
met on the way is offered as the incumbent only if it keeps the bounds; nothing is done to improve it.

HiGHS has absolute tolerances, and drops coefficients below 1e-9. So every cost is passed relative to the
largest one of its kind: units do not matter.

**References.** Altman 1999.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> _ = plan.add_action(here, "walk", to=out, costs=(3.0, 0.0))
>>> _ = plan.add_action(here, "jump", to=out, costs=(1.0, 4.0))
>>> *_, last = LinearProgram().iterate(plan.build(), Context())
>>> round(last.lower_bound, 6), round(last.upper_bound, 6), last.prices.tolist()
(2.5, 2.5, [0.5])
>>> last.incumbent.probabilities.tolist()
[0.75, 0.25]
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from scipy.sparse import csr_array, hstack

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Infeasible, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW, DeterministicPolicy
from hcssp.cssp.preprocessing import Prepared, prepare
from hcssp.cssp.reachability import Backwards
from hcssp.dual.ascent import Dual, Infeasibility, StochasticOptimum, ascend, lagrangian_bound, stationary
from hcssp.dual.flat import FlatOracle, FlatPoint
from hcssp.errors import InvalidProblem
from hcssp.evaluation.chain import is_proper
from hcssp.evaluation.exact import evaluate
from hcssp.methods.highs.running import Answer, HighsParameters, Model, Outcome, options, run
from hcssp.methods.incumbents import is_limited, refuted
from hcssp.methods.randomised import within_bounds
from hcssp.numerics import FEASIBILITY_TOLERANCE, allowance, at_least, tolerated
from hcssp.ssp.balance import Balance, balance_matrix
from hcssp.ssp.policy_iteration import PolicyIteration
from hcssp.ssp.potential import Certifier
from hcssp.ssp.scalar_problem import Region

METHODS = ("choose", "simplex", "ipm", "ipx", "hipo", "pdlp")


@dataclass(frozen=True)
class LinearProgram:
    """The linear program over occupation measures.

    Attributes
    ----------
    method
        HiGHS's method: "choose" leaves it to HiGHS; "simplex", "ipm" (interior point), "pdlp" (first order).
    parameters
        How HiGHS is run, and how its flow is read.
    """

    method: str = "choose"
    parameters: HighsParameters = field(default_factory=HighsParameters)
    name = "lp"
    policies = "randomised"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidProblem([f"method {self.method!r} is unknown; HiGHS has {', '.join(METHODS)}"])

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield signs of life while HiGHS works, then everything at once."""
        began = time.perf_counter()
        prepared = prepare(problem.flat)
        relaxation = yield from relax(prepared.problem, self.options(context), began)
        ending = Ending(Reason.RELAXATION)
        found, _ = conclude(problem, prepared, relaxation, began, ending, self.parameters)
        yield _with_mixture(problem, found)

    def options(self, context: Context | None) -> dict[str, str | float]:
        """The options of HiGHS."""
        own = self.parameters
        tolerance = own.first_order_tolerance if self.method == "pdlp" else own.tolerance
        return options(tolerance, inf if context is None else context.time_limit, solver=self.method)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The linear program's answer.

    Attributes
    ----------
    answer
        The answer of HiGHS.
    lower_bound
        A certified lower bound on the cost of every policy that keeps the bounds.
    prices
        The multiplier of each secondary cost that gave it.
    flow
        The flow of each row in an optimal solution, up to HiGHS's tolerance; None if there is none.
    infeasible
        The proof that there is none, where it was found.
    """

    answer: Answer
    lower_bound: float = -inf
    prices: FloatArray | None = None
    flow: FloatArray | None = field(default=None, repr=False)
    infeasible: Infeasible | None = None


def relax(
    problem: CSSP, options: Mapping[str, str | float], began: float
) -> Generator[Progress, None, Relaxation]:
    """Solve the linear program of a prepared problem, yielding signs of life.

    Parameters
    ----------
    problem
        As :func:`hcssp.cssp.preprocessing.prepare` makes it.
    options
        Options of HiGHS.
    began
        When the caller began, for the signs of life.
    """

    def alive(_: FloatArray | None) -> Progress:
        return Progress(seconds=time.perf_counter() - began)

    below = np.flatnonzero(tolerated(problem.bounds) < 0.0)
    if len(below):
        # No cost is negative. HiGHS takes a bound just below zero for zero.
        weights = np.eye(problem.num_constraints)[below[0]]
        proof = Infeasible(Infeasibility(weights, least=0.0, allowed=float(problem.bounds[below[0]])))
        return Relaxation(Answer(Outcome.INFEASIBLE, "a bound below zero"), infeasible=proof)
    answer = yield from run(flow_model(problem), options, alive)
    if answer.outcome is Outcome.INFEASIBLE:
        # HiGHS claims it; the ascent of the dual proves it, or finds that the tolerance decides.
        oracle, dual = FlatOracle(problem), Dual[FlatPoint]()
        for step in ascend(oracle, Region()):
            dual = step
            yield alive(None)
        if dual.infeasible:
            return Relaxation(answer, infeasible=refuted(oracle, dual))
        # The bounds are kept only thanks to the tolerance. It is used here only, where it is needed.
        answer = yield from run(flow_model(problem, FEASIBILITY_TOLERANCE), options, alive)
    if answer.outcome is not Outcome.OPTIMAL or answer.values is None or answer.row_duals is None:
        return Relaxation(answer)
    bounded, sizes = np.flatnonzero(np.isfinite(problem.bounds)), cost_sizes(problem)
    count = len(answer.row_duals) - len(bounded)
    prices = np.zeros(problem.num_constraints)
    # HiGHS gives "at most" a dual below zero.
    prices[bounded] = np.maximum(0.0, -answer.row_duals[count:]) * (sizes[0] / sizes[1 + bounded])
    row_costs = problem.costs[0] + prices @ problem.costs[1:]
    certificate = Certifier.of(problem).certify(row_costs, sizes[0] * answer.row_duals[:count])
    # The bound must hold for every policy that counts as feasible.
    bound = lagrangian_bound(certificate.bound, prices, problem.bounds)
    return Relaxation(answer, bound, prices, answer.values)


def cost_sizes(problem: CSSP) -> FloatArray:
    """The largest entry of each cost, or one where it is zero throughout."""
    largest = problem.costs.max(axis=1, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def flow_model(problem: CSSP, slack: float = 0.0) -> Model:
    """The program over flows, each cost relative to its size.

    Its constraints are the balance of every state that is no goal, then the finite bounds.

    Parameters
    ----------
    problem
        A prepared problem.
    slack
        The share by which a bound may be exceeded.
    """
    bounded = np.flatnonzero(np.isfinite(problem.bounds))
    sizes = cost_sizes(problem)
    secondary = problem.costs[1 + bounded] / sizes[1 + bounded, np.newaxis]
    bounds = problem.bounds[bounded] + allowance(problem.bounds[bounded], slack)
    start = problem.initial[~problem.goals]
    return Model(
        costs=problem.costs[0] / sizes[0],
        upper=np.full(problem.num_rows, inf),
        columns=csr_array(hstack([balance_matrix(problem), csr_array(secondary.T)], format="csr")),
        row_lower=np.concatenate([start, np.full(len(bounded), -inf)]),
        row_upper=np.concatenate([start, bounds / sizes[1 + bounded]]),
    )


@dataclass(frozen=True)
class Incumbent:
    """A feasible deterministic policy: its exact cost and its rows in the prepared problem."""

    cost: float
    rows: IntArray


def conclude(
    problem: Problem,
    prepared: Prepared,
    relaxation: Relaxation,
    began: float,
    ending: Ending | None,
    parameters: HighsParameters,
) -> tuple[Progress, Incumbent | None]:
    """The bound of a relaxation, with the policies found in its flow.

    Parameters
    ----------
    problem, prepared, relaxation, began
        The problem, its flat form, the answer, and when the solver began.
    ending
        The ending of the progress if the relaxation was solved; None if the solver continues.
    parameters
        How the flow is read.
    """
    # No cost is negative, so zero is a bound at any prices.
    lower_bound = max(0.0, relaxation.lower_bound)
    stochastic: StochasticOptimum | None = None
    incumbent: Incumbent | None = None
    if relaxation.infeasible is not None:
        lower_bound, ending = inf, Ending(Reason.INFEASIBLE)
    elif relaxation.flow is None:
        ending = relaxation.answer.ending
    else:
        flat, flow = prepared.problem, relaxation.flow
        elsewhere = _best_rows(flat, relaxation.prices)
        mixture = decompose(flat, flow, elsewhere, parameters.negligible_flow)
        stochastic = StochasticOptimum(
            # The certified bound, not the policy's own cost, which carries HiGHS's tolerances.
            value=lower_bound,
            weights=np.array([weight for weight, _, _ in mixture]),
            policies=tuple(prepared.lift(rows) for _, rows, _ in mixture),
            costs=np.array([costs for _, _, costs in mixture]).reshape(-1, len(flat.cost_names)),
        )
        suggested = (most_visited(flat, flow), approaching(flat, flow, flow > 0.0))
        candidates = [np.where(rows == NO_ROW, elsewhere, rows) for rows in suggested]
        incumbent = best_feasible(problem, prepared, [*candidates, *(rows for _, rows, _ in mixture)])
    upper_bound = inf if incumbent is None else incumbent.cost
    progress = Progress(
        seconds=time.perf_counter() - began,
        iterations=1,
        lower_bound=lower_bound if incumbent is None else min(lower_bound, at_least(upper_bound)),
        upper_bound=upper_bound,
        incumbent=None if incumbent is None else problem.policy(prepared.lift(incumbent.rows)),
        prices=relaxation.prices,
        stochastic=stochastic,
        infeasible=relaxation.infeasible,
        ending=ending,
    )
    return progress, incumbent


def _with_mixture(problem: Problem, progress: Progress) -> Progress:
    """The progress with the mixture as one policy, if that is better than the incumbent."""
    if progress.stochastic is None or len(progress.stochastic.weights) < 2:
        return progress
    found = within_bounds(progress.stochastic, problem.bounds)
    mixed = stationary(problem.flat, found)
    policy = problem.policy(mixed.rows, mixed.extra)
    evaluation = evaluate(problem, policy)
    cost = float(evaluation.costs[0])
    if not evaluation.keeps_bounds() or cost >= progress.upper_bound:
        return progress
    return replace(
        progress,
        lower_bound=min(progress.lower_bound, at_least(cost)),
        upper_bound=cost,
        incumbent=policy,
        stochastic=found,
    )


def best_feasible(problem: Problem, prepared: Prepared, candidates: Iterable[IntArray]) -> Incumbent | None:
    """The cheapest of the policies `candidates` that is proper and keeps the bounds, by exact evaluation."""
    best: Incumbent | None = None
    flat, limited = prepared.problem, is_limited(problem)
    for rows in candidates:
        policy = DeterministicPolicy(flat, rows)
        if not is_proper(flat, policy):
            continue
        evaluation = evaluate(flat, policy)
        cost = float(evaluation.costs[0])
        if evaluation.keeps_bounds() and (best is None or cost < best.cost):
            whole = evaluate(problem, problem.policy(prepared.lift(rows))) if limited else evaluation
            best = Incumbent(cost, rows) if whole.keeps_bounds() else best
    return best


def _best_rows(problem: CSSP, prices: FloatArray | None) -> IntArray:
    """For each state the row that is best under `prices`, for states where a flow decides nothing."""
    weights = np.append(1.0, np.zeros(problem.num_constraints) if prices is None else prices)
    balance = Balance(problem)
    best = PolicyIteration(balance).minimise(weights)
    if best is None:
        raise RuntimeError("a prepared problem without a proper policy")
    rows = np.full(problem.num_states, NO_ROW, dtype=np.int64)
    rows[balance.live] = best.rows
    return rows


def most_visited(problem: CSSP, flow: FloatArray, among: BoolArray | None = None) -> IntArray:
    """In each state the row with the largest flow, the first of them in a tie.

    Parameters
    ----------
    problem, flow
        The problem, and the flow of each row.
    among
        The rows to choose from; a state that has none of them gets :data:`NO_ROW`.
    """
    weight = flow if among is None else np.where(among, flow, -np.inf)
    # Last key first: by state, then by falling flow, then by row.
    order = np.lexsort((np.arange(problem.num_rows), -weight, problem.row_state))
    rows = np.full(problem.num_states, NO_ROW, dtype=np.int64)
    has_rows = np.diff(problem.row_start) > 0
    rows[has_rows] = order[problem.row_start[:-1][has_rows]]
    taken = rows >= 0
    rows[taken] = np.where(np.isneginf(weight[rows[taken]]), NO_ROW, rows[taken])
    return rows


def approaching(problem: CSSP, flow: FloatArray, among: BoolArray) -> IntArray:
    """A row for each state: the one with the largest flow of those `among` that may lead closer to a goal.

    It is proper wherever the rows `among` lead only to states from which they can reach a goal. States
    without such a row get :data:`NO_ROW`.
    """
    search = Backwards(problem.transitions, problem.row_state, problem.goals)
    return most_visited(problem, flow, search.approaching(among))


def decompose(
    problem: CSSP, flow: FloatArray, elsewhere: IntArray, negligible: float
) -> list[tuple[float, IntArray, FloatArray]]:
    """A flow as a mixture of at most N + 1 deterministic policies: weights, rows and exact costs.

    Policies are peeled off one by one, each with the largest weight that leaves no flow negative; the
    flow of a vertex of the polytope with N constraints needs at most N + 1. Flow below `negligible` is
    ignored; where there is none, policies take the rows `elsewhere`. Empty if the mixture's costs are not
    those of the flow, as with an inexact solution.
    """
    remaining = np.maximum(flow, 0.0)
    left, acting = 1.0, ~problem.goals
    mixture: list[tuple[float, IntArray, FloatArray]] = []
    while left > negligible:
        rows = approaching(problem, remaining, remaining > negligible**2)
        rows = np.where(rows == NO_ROW, elsewhere, rows)
        if not is_proper(problem, DeterministicPolicy(problem, rows)):
            return []
        evaluation = evaluate(problem, DeterministicPolicy(problem, rows))
        visited = np.flatnonzero((evaluation.visits > negligible) & acting)
        used = np.maximum(remaining[rows[visited]], 0.0) / evaluation.visits[visited]
        # The flow of rare states is noise; the last policy takes the rest.
        is_last = len(mixture) == problem.num_constraints
        weight = left if is_last else float(np.min(used, initial=left))
        if weight <= negligible:
            return []
        remaining[rows[acting]] -= weight * evaluation.visits[acting]
        left -= weight
        mixture.append((weight, rows, evaluation.costs))
    total = sum(weight for weight, _, _ in mixture)
    mixture = [(weight / total, rows, costs) for weight, rows, costs in mixture]
    mixed = sum((weight * costs for weight, _, costs in mixture), np.zeros(len(problem.costs)))
    wanted = problem.costs @ flow
    close = np.abs(mixed - wanted) <= negligible * np.maximum(1.0, np.abs(wanted))
    return mixture if close.all() else []
