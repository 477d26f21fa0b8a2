r"""The relaxation to randomised policies: a linear program over occupation measures, solved by HiGHS.

:math:`\min C_0 x` subject to flow balance and :math:`C_i x \le \Delta_i`. Its duals are the values of the
states under the cost :math:`C_0 + \sum_i \lambda_i C_i` and the prices :math:`\lambda`; together they give a
Lagrangian bound, which is certified here rather than read off the objective. If HiGHS finds no flow that
keeps the bounds, a second program minimises the largest violation: its prices prove that there is none.

HiGHS has absolute tolerances, and drops coefficients below 1e-9. So it is told every cost relative to the
largest one of its kind: units do not matter.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from hcssp.contract.progress import Progress
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.dual.ascent import Infeasibility, is_above, lagrangian_bound
from hcssp.methods.highs.running import Answer, Claim, Model, Outcome, run
from hcssp.numerics import allowance, scales, tolerated
from hcssp.ssp.balance import balance_matrix
from hcssp.ssp.potential import Certifier


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The relaxation's answer.

    Attributes
    ----------
    outcome, status
        What it came to, in our words and in those of HiGHS.
    lower_bound
        A certified lower bound on the cost of every policy that keeps the bounds.
    prices
        The multiplier of each secondary cost that gave it.
    reduced_costs
        For each row, what taking it adds to the lower bound each time.
    flow
        The flow of each row in an optimal solution, up to HiGHS's tolerance; None if there is none.
    infeasibility
        The proof that there is none, where it was found.
    """

    outcome: Outcome
    status: str
    lower_bound: float = -inf
    prices: FloatArray | None = None
    reduced_costs: FloatArray | None = field(default=None, repr=False)
    flow: FloatArray | None = field(default=None, repr=False)
    infeasibility: Infeasibility | None = None


def relax(problem: CSSP, options: Mapping[str, Any], began: float) -> Generator[Progress, None, Relaxation]:
    """Solve the relaxation of a prepared problem, yielding signs of life.

    Parameters
    ----------
    problem
        As :func:`hcssp.cssp.preprocessing.prepare` makes it.
    options
        Options of HiGHS.
    began
        When the caller began, for the signs of life.
    """
    bounded = np.flatnonzero(np.isfinite(problem.bounds))
    violation: Relaxation | None = None
    sizes = cost_sizes(problem)
    # Bounds that are met only thanks to the tolerance are tried second, so that they cost nothing else.
    for slack in (0.0, 1.0):
        bounds = problem.bounds[bounded] + slack * allowance(problem.bounds[bounded])
        solving = run(_model(problem, bounded, bounds, sizes), options)
        answer = yield from _alive(solving, began)
        if answer.outcome is Outcome.INFEASIBLE:
            violation = violation or (yield from _least_violation(problem, bounded, options, began))
            if violation.outcome is not Outcome.OPTIMAL or violation.infeasibility is not None:
                return violation
            continue
        if answer.outcome is not Outcome.OPTIMAL or answer.values is None or answer.row_duals is None:
            return Relaxation(answer.outcome, answer.status)
        below = bounded[tolerated(bounds) < 0.0]
        if len(below):
            # No cost is negative; so small a bound HiGHS takes for nothing.
            weights = np.eye(problem.num_constraints)[below[0]]
            proof = Infeasibility(weights, least=0.0, allowed=float(problem.bounds[below[0]]))
            return Relaxation(answer.outcome, answer.status, infeasibility=proof)
        prices = np.zeros(problem.num_constraints)
        prices[bounded] = _prices(answer.row_duals, len(bounded)) * (sizes[0] / sizes[1 + bounded])
        row_costs = problem.costs[0] + prices @ problem.costs[1:]
        certifier = Certifier.of(problem)
        certificate = certifier.certify(row_costs, sizes[0] * _values(problem, answer.row_duals))
        return Relaxation(
            answer.outcome,
            answer.status,
            # It must hold for all that counts as feasible.
            lower_bound=lagrangian_bound(certificate.bound, prices, problem.bounds),
            prices=prices,
            reduced_costs=certifier.surcharges(row_costs, certificate),
            flow=answer.values,
        )
    return Relaxation(Outcome.FAILED, "neither a flow that keeps the bounds nor a proof that there is none")


def cost_sizes(problem: CSSP) -> FloatArray:
    """The largest entry of each cost, or one where it is nothing throughout."""
    largest = problem.costs.max(axis=1, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def _model(problem: CSSP, bounded: IntArray, bounds: FloatArray, sizes: FloatArray) -> Model:
    """The program over flows, each cost relative to its size."""
    flows = balance_matrix(problem)
    start = problem.initial[~problem.goals]
    secondary = problem.costs[1 + bounded] / sizes[1 + bounded, np.newaxis]
    return Model(
        costs=problem.costs[0] / sizes[0],
        upper=np.full(problem.num_rows, inf),
        columns=csr_array(hstack([flows, csr_array(secondary.T)], format="csr")),
        row_lower=np.concatenate([start, np.full(len(bounded), -inf)]),
        row_upper=np.concatenate([start, bounds / sizes[1 + bounded]]),
    )


def _least_violation(
    problem: CSSP, bounded: IntArray, options: Mapping[str, Any], began: float
) -> Generator[Progress, None, Relaxation]:
    """Minimise the largest violation, relative to the bound; prove it positive if it is."""
    bounds, sizes = problem.bounds[bounded], cost_sizes(problem)
    model = _model(problem, bounded, bounds, sizes)
    # One more variable, the violation, relaxes every bound and is all that costs.
    scale = scales(bounds) / sizes[1 + bounded]
    relaxing = np.concatenate([np.zeros(model.columns.shape[1] - len(bounded)), -scale])
    elastic = Model(
        costs=np.append(np.zeros(problem.num_rows), 1.0),
        upper=np.append(model.upper, inf),
        columns=csr_array(vstack([model.columns, csr_array(relaxing[np.newaxis])], format="csr")),
        row_lower=model.row_lower,
        row_upper=model.row_upper,
    )
    answer = yield from _alive(run(elastic, options), began)
    if answer.outcome is not Outcome.OPTIMAL or answer.row_duals is None:
        outcome = Outcome.FAILED if answer.outcome is Outcome.INFEASIBLE else answer.outcome
        return Relaxation(outcome, answer.status)
    weights = _prices(answer.row_duals, len(bounded)) / sizes[1 + bounded]
    if not weights.sum() > 0.0:
        return Relaxation(answer.outcome, answer.status)
    values = _values(problem, answer.row_duals) / weights.sum()
    weights = weights / weights.sum()
    least = Certifier.of(problem).certify(weights @ problem.costs[1:][bounded], values).bound
    if not is_above(least, weights, tolerated(bounds)):
        return Relaxation(answer.outcome, answer.status)
    everywhere = np.zeros(problem.num_constraints)
    everywhere[bounded] = weights
    proof = Infeasibility(weights=everywhere, least=least, allowed=float(weights @ bounds))
    return Relaxation(answer.outcome, answer.status, infeasibility=proof)


def _prices(row_duals: FloatArray, count: int) -> FloatArray:
    """Multipliers of the bounds, the last `count` constraints: HiGHS gives "at most" a dual below zero."""
    prices: FloatArray = np.maximum(0.0, -row_duals[len(row_duals) - count :])
    return prices


def _values(problem: CSSP, row_duals: FloatArray) -> FloatArray:
    """The duals of the balance constraints as a value for each state that is no goal."""
    return row_duals[: int(np.count_nonzero(~problem.goals))]


def _alive(solving: Generator[Claim | None, None, Answer], began: float) -> Generator[Progress, None, Answer]:
    """Turn whatever a run yields into signs of life, on which stop criteria act."""
    try:
        while True:
            next(solving)
            yield Progress(seconds=time.perf_counter() - began)
    except StopIteration as finished:
        answer: Answer = finished.value
        return answer
    finally:
        solving.close()
