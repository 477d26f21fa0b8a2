r"""A lower bound that does not take a solver's word for it.

Problem: given non-negative costs :math:`c` of the rows and approximate values :math:`V` of the states, a
number that is certainly not above the least expected cost :math:`\min_\pi c(\pi)` from the start.

Method: a function with :math:`V(s) \le c(s, a) + \sum P(s' \mid s, a) V(s')` for every row and
:math:`V = 0` in the goals is a lower bound on the value of every proper policy. Approximate values break
the inequality by a little. Where the cost is positive, a division repairs it: :math:`V / (1 + \varepsilon)`
with the least sufficient :math:`\varepsilon`. Where the cost is zero no division can, and where the
inequality is badly broken a division costs much, so :math:`V` is first lowered there, state by state.

Guarantee: the inequality is checked in the end for every row with an allowance for the rounding of that
very check; if it does not hold, the trivial bound is returned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""The rounding of a row's inequality, relative to the sum of the sizes of its terms."""

FREE_COST = 1e-9
"""A row that costs no more than this share of the largest cost is counted as free: dividing by its cost would
lower the bound more than lowering its state's value does. Counting a cost as nothing is sound."""

LOWERING_TOLERANCE = 1e-9
"""A value above its limit by no more than this share of the row's cost is left to the division, which lowers
the bound by the same share."""

MAX_SWEEPS = 2_000


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven lower bound on the least expected cost, and what each row adds to it.

    Attributes
    ----------
    bound
        The bound.
    reduced_costs
        For each row a number not below zero; a policy costs at least the bound plus the sum of these
        over the rows it takes, as often as it takes them.
    """

    bound: float
    reduced_costs: FloatArray


def certify(problem: CSSP, row_costs: FloatArray, values: FloatArray) -> Certificate:
    """A certain lower bound on the least expected sum of `row_costs` until a goal.

    Parameters
    ----------
    problem
        In which every state has a proper policy.
    row_costs
        One for each row.
    values
        Approximate least costs of the states, from wherever; the better, the tighter the bound.

    Returns
    -------
    Certificate
        Its bound is 0 if the values cannot be repaired, and ``-inf`` if costs are negative as well.

    Examples
    --------
    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, out = plan.add_state("here"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=2.0)
    >>> _ = plan.add_action(here, "leave", to=out, costs=5.0)
    >>> problem = plan.build()
    >>> round(certify(problem, problem.costs[0], np.array([4.0, 0.0])).bound, 9)
    4.0
    >>> certify(problem, problem.costs[0], np.array([4.5, 0.0])).bound <= 4.0
    True
    """
    nonnegative = bool(np.all(row_costs >= 0.0))
    trivial = Certificate(0.0 if nonnegative else -np.inf, np.maximum(row_costs, 0.0) * nonnegative)
    values = np.where(problem.goals, 0.0, values)
    if not np.all(np.isfinite(values)):
        return trivial
    free = row_costs <= FREE_COST * np.max(row_costs, initial=0.0)
    values = _lower(problem, row_costs, values, free)
    slack, rounding = _slack(problem, row_costs, values)
    shortfall = (rounding - slack)[~free] / row_costs[~free]
    values = values / (1.0 + max(0.0, float(np.max(shortfall, initial=0.0))))
    slack, rounding = _slack(problem, row_costs, values)
    if np.any(slack < -rounding):
        return trivial
    bound = float(problem.initial @ values)
    if bound <= trivial.bound:
        return trivial
    return Certificate(bound - ROUNDING * abs(bound), np.maximum(0.0, slack - rounding))


def _slack(problem: CSSP, row_costs: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far each row is from breaking the inequality, and by how much rounding may blur that."""
    own = values[problem.row_state]
    after = problem.transitions @ values
    size = np.abs(row_costs) + np.abs(own) + problem.transitions @ np.abs(values)
    return row_costs + after - own, ROUNDING * size


def _lower(problem: CSSP, row_costs: FloatArray, values: FloatArray, free: BoolArray) -> FloatArray:
    """The largest values below `values` for which the inequality holds, as far as sweeps get.

    Rows that are `free` must hold up to rounding; the others up to what a division may cost.
    """
    entries = csr_array(problem.transitions).tocoo()
    loops = entries.col == problem.row_state[entries.row]
    stay = np.bincount(entries.row[loops], weights=entries.data[loops], minlength=problem.num_rows)
    # A row that stays for certain holds whatever the value is, unless its cost is negative.
    rows = np.flatnonzero(stay < 1.0)
    states, stay = problem.row_state[rows], stay[rows]
    transitions = csr_array(problem.transitions[rows])
    # What next to nothing costs is counted as nothing: the bound is a little lower for it, and sound.
    costs = np.where(free, np.minimum(row_costs, 0.0), row_costs)[rows]
    tolerance = np.where(free[rows], 0.0, LOWERING_TOLERANCE * costs)
    for _ in range(MAX_SWEEPS):
        own = values[states]
        # Solved for the state itself, so that a row that mostly stays needs one sweep, not many.
        limit = (costs + transitions @ values - stay * own) / (1.0 - stay)
        too_high = own > limit + tolerance + ROUNDING * np.abs(own)
        if not too_high.any():
            break
        values = values.copy()
        np.minimum.at(values, states[too_high], limit[too_high])
    return values
