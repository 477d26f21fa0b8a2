r"""The optimum over randomised policies, with a stationary policy that reaches it.

**Problem.** :math:`\min_\pi f(\pi)` such that :math:`g(\pi) \le \Delta`, over all policies. Some optimal
policy is stationary and takes at most one extra row for each active bound (Feinberg and Shwartz 1996).

**Method.** The Lagrangian dual (:mod:`hcssp.dual.ascent`) gives the optimum and a mixture of deterministic
policies that reaches it. Its expected visits are a point of the linear program over occupation measures,
restricted to the rows that the mixture takes. All these rows are optimal at the multipliers, so every policy
of them that uses the bounds as the mixture does is optimal, and a vertex of that program has the wanted form.
The simplex method of HiGHS finds one; it begins with the basis of a deterministic policy of the mixture,
which breaks no more constraints than there are bounds.

**Guarantee.** The lower bound is certified, as that of the dual. The policy is evaluated exactly, and
reported only if it keeps the bounds.

**References.** Altman 1999; Feinberg and Shwartz, *Constrained discounted dynamic programming*, 1996.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 3.0})
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> _ = plan.add_action(here, "safe", to={out: 1.0}, costs=(3.0, 2.0))
>>> _ = plan.add_action(here, "fast", to={out: 1.0}, costs=(1.0, 4.0))
>>> *_, last = RandomisedDual().iterate(plan.build(), Context())
>>> round(last.lower_bound, 6), round(last.upper_bound, 6), last.incumbent.probabilities.round(6).tolist()
(2.0, 2.0, [0.5, 0.5])
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import RandomisedPolicy
from hcssp.dual.ascent import Dual, StochasticOptimum, ascend, optimum_of, stationary
from hcssp.methods.best_first import BestFirst
from hcssp.methods.highs.running import Model, Outcome, answer_of, solver_of
from hcssp.methods.incumbents import Reporter, refuted
from hcssp.numerics import MIXTURE_ROUNDING, OPTIMALITY_TOLERANCE, allowance, relative_gap
from hcssp.proofs.search_record import write_down
from hcssp.ssp.scalar_problem import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RandomisedDual:
    """The optimum over randomised policies, by the dual.

    Attributes
    ----------
    least_share
        A row with a smaller share of its state's flow is not taken: it is rounding.
    tolerance
        Feasibility tolerance of the linear program that makes a policy of the mixture.
    """

    least_share: float = 1e-12
    tolerance: float = 1e-10
    name = "dual"
    policies = "randomised"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        """Yield progress after every solved multiplier."""
        began = time.perf_counter()
        oracle = context.memory.oracle(problem)
        search: BestFirst[None, Any] = BestFirst(upper_bound=context.known_cost)
        reporter = Reporter(problem, oracle, search, began)
        record = context.record
        record.begin(oracle)
        start = None if context.prices is None else np.where(np.isfinite(oracle.bounds), context.prices, 0.0)
        dual: Dual[Any] = Dual()
        for dual in ascend(oracle, Region(), start=start):
            write_down(record, record.root, dual)
            reporter.iterations += 1
            reporter.prices = dual.prices
            for point in dual.points[-1:]:
                reporter.offer(point)
            yield reporter.snapshot(dual.bound)
        if dual.infeasible:
            yield reporter.snapshot(inf, Reason.INFEASIBLE, refuted(oracle, dual))
            return
        if dual.converged:
            reporter.stochastic = optimum_of(dual, oracle)
            for point in dual.support:
                reporter.offer(point)
            for policy in self.policies_of(problem.flat, reporter.stochastic, dual.prices):
                reporter.offer_policy(policy.rows, policy.extra)
                if relative_gap(dual.bound, search.upper_bound) <= OPTIMALITY_TOLERANCE:
                    break
        yield reporter.snapshot(dual.bound, Reason.PROVED)

    def policies_of(
        self, flat: CSSP, optimum: StochasticOptimum, prices: FloatArray
    ) -> Iterator[RandomisedPolicy]:
        """Stationary policies with the costs of a mixture: with few extra rows, or with many.

        Parameters
        ----------
        flat
            The flat problem.
        optimum
            The mixture.
        prices
            The multipliers at which its policies are optimal.
        """
        if len(optimum.weights) < 2:
            return
        # The bounds themselves are kept, unless the optimum is so small that their tolerance matters.
        nearly = flat.bounds + (1.0 - MIXTURE_ROUNDING) * allowance(flat.bounds)
        for bounds in (flat.bounds, nearly):
            kept = within_bounds(optimum, bounds)
            found = stationary(flat, kept)
            few = None
            if len(found.extra) > np.count_nonzero(prices):
                few = self.vertex(flat, found, kept, prices, bounds)
            yield found if few is None else few
        yield found

    def vertex(
        self,
        flat: CSSP,
        policy: RandomisedPolicy,
        optimum: StochasticOptimum,
        prices: FloatArray,
        bounds: FloatArray,
    ) -> RandomisedPolicy | None:
        """A vertex of the optimal policies of these rows; None if HiGHS finds none.

        Where HiGHS finds no flow, or takes it for 0, it does what one policy of the mixture does.

        Parameters
        ----------
        flat, optimum, prices
            As for :meth:`policies_of`.
        policy
            The mixture as one policy.
        bounds
            The bounds that the vertex keeps.
        """
        import highspy

        rows, _ = policy.taken
        live: BoolArray = np.zeros(flat.num_states, dtype=np.bool_)
        live[flat.row_state[rows]] = True
        inside = np.flatnonzero(live)
        place = np.cumsum(live) - 1
        bounded = np.flatnonzero(np.isfinite(flat.bounds))
        used = optimum.weights @ optimum.costs[:, 1 + bounded]
        most = np.maximum(bounds[bounded], 0.0)
        priced = prices[bounded] > 0.0
        sizes = np.where(most > 0.0, most, 1.0)
        # The bounds themselves are met where the mixture may exceed them by the tolerance.
        upper = np.where(priced, np.minimum(used, most), np.maximum(used, most)) / sizes
        lower = np.where(priced, upper, -inf)
        own = csr_array((np.ones(len(rows)), place[flat.row_state[rows]], np.arange(len(rows) + 1)))
        balance = csr_array(own - flat.transitions[rows][:, inside])
        costs = csr_array((flat.costs[1 + bounded][:, rows] / sizes[:, np.newaxis]).T)
        start = flat.initial[inside]
        model = Model(
            costs=np.zeros(len(rows)),
            upper=np.full(len(rows), inf),
            columns=csr_array(hstack([balance, costs], format="csr")),
            row_lower=np.concatenate([start, lower]),
            row_upper=np.concatenate([start, upper]),
        )
        options: dict[str, str | float] = {
            "presolve": "off",
            "solver": "simplex",
            "primal_feasibility_tolerance": self.tolerance,
        }
        highs = solver_of(model, options)
        if highs is None:
            return None
        basis = highspy.HighsBasis()
        status = highspy.HighsBasisStatus
        first = optimum.policies[int(np.argmax(optimum.weights))]
        # Where that policy never goes, another one of the mixture decides.
        usual = np.where(first >= 0, first, policy.rows)
        basic = np.isin(rows, usual[inside])
        taken = np.bincount(place[flat.row_state[rows[basic]]], minlength=len(inside)) > 0
        basic |= np.isin(rows, policy.rows[inside[~taken]])
        basis.col_status = [status.kBasic if each else status.kLower for each in basic.tolist()]
        basis.row_status = [*[status.kLower] * len(inside), *[status.kBasic] * len(bounded)]
        highs.setBasis(basis)
        highs.run()
        answer = answer_of(highs, model)
        if answer.outcome is not Outcome.OPTIMAL or answer.values is None:
            logger.info("no policy with few extra rows was found: %s", answer.status)
            return None
        flow = np.zeros(flat.num_rows)
        flow[rows] = np.maximum(answer.values, 0.0)
        return _policy_of_flow(flat, flow, self.least_share, usual[inside])


def within_bounds(optimum: StochasticOptimum, bounds: FloatArray) -> StochasticOptimum:
    """The mixture with weights that keep the bounds themselves, not only up to the tolerance.

    They are computed from the exact costs of its policies. Where no weights do, it stays as it is.
    """
    from scipy.optimize import linprog

    bounded = np.flatnonzero(np.isfinite(bounds))
    sizes = np.where(bounds[bounded] > 0.0, bounds[bounded], 1.0)
    found = linprog(
        optimum.costs[:, 0],
        A_ub=(optimum.costs[:, 1 + bounded] / sizes).T,
        b_ub=bounds[bounded] / sizes,
        A_eq=np.ones((1, len(optimum.weights))),
        b_eq=[1.0],
        method="highs-ds",
    )
    if found.x is None:
        return optimum
    weights = np.maximum(found.x, 0.0)
    return replace(optimum, weights=weights / weights.sum())


def _policy_of_flow(flat: CSSP, flow: FloatArray, least_share: float, usual: IntArray) -> RandomisedPolicy:
    """The stationary policy that takes each row as often as a flow, and a `usual` one where there is none."""
    states: IntArray = flat.row_state
    through = np.bincount(states, flow, flat.num_states)
    flow = np.where(flow > least_share * through[states], flow, 0.0)
    through = np.bincount(states, flow, flat.num_states)[states]
    flow[usual[through[usual] == 0.0]] = 1.0
    through = np.bincount(states, flow, flat.num_states)[states]
    return RandomisedPolicy(flat, np.divide(flow, through, out=np.zeros_like(flow), where=through > 0.0))
