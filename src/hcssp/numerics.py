"""Every tolerance that a claim rests on, once, and the few rules that follow from them.

A bound is *kept* if it is exceeded by no more than a share of itself, :data:`FEASIBILITY_TOLERANCE`. So
units do not matter: a risk of at most 1e-9 is kept to nine digits as a time of at most 1000 is. A share of
nothing is nothing: a bound of 0 is kept by a cost of exactly 0, and by no other. Whether a cost is 0 is no
question of figures, see :mod:`hcssp.evaluation.exact`: no action that costs anything may ever be taken.

Lower bounds are computed for what is kept in that sense (:func:`tolerated`), so that they hold for every
policy that counts as feasible.

A user who wants it stricter or looser gives :class:`Tolerances` to ``solve``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from hcssp.errors import InvalidProblem

FloatArray = npt.NDArray[np.float64]

OPTIMALITY_TOLERANCE = 1e-6
"""A policy is called optimal once its proven relative gap is at most this."""

FEASIBILITY_TOLERANCE = 1e-9
"""A bound is kept if it is exceeded by no more than this share of it."""

LEAST_TOLERANCE = 1e-11
"""Bounds cannot be kept more closely than this: what a policy costs is known to some twelve digits."""

REEVALUATION_SHARE = 0.9999
"""Costs that a search has computed keep a bound for sure up to this share of the feasibility tolerance. From
there to as much above the whole tolerance, rounding may decide, and so the policy is evaluated again."""

MIXTURE_ROUNDING = 1e-3
"""A mixture of policies may exceed the tolerance by this share of it, since its weights are rounded."""

LIMIT_ROUNDING = 1.1 * (1.0 - REEVALUATION_SHARE) * FEASIBILITY_TOLERANCE
"""What rounding may do to a limit for each execution: 1.1e-13 of what the most executions may cost. Within
it, the evaluation of a plan decides whether the limit is kept. It is large enough for :func:`is_feasible` to
take a plan that does not run the use."""

LOST_EXECUTION = 1.0 + FEASIBILITY_TOLERANCE - LIMIT_ROUNDING
"""What an execution that a plan forgoes counts as, in multiples of the limit for each execution: more by the
tolerance, so that a limit is kept relative to the executions that a plan makes. See
:mod:`hcssp.procedure.nesting`."""

CLAIM_TOLERANCE = 1e-7
"""A claim about a policy's cost, and its evaluation, may differ by this share: two computations of the same
policy differ by rounding, another policy by far more."""

PRUNE_TOLERANCE = 1e-9
"""A node within this of the incumbent, relatively, is dropped; the bound remembers it."""

COST_ROUNDING = 1e-12
"""What the cost of a policy may be off by rounding, relatively. Where it may be more, by an estimate, it is
computed with more care."""

MAX_EXCHANGED_EVENTS = 2_000
"""Parts of a procedure with more events are not exchanged, see :mod:`hcssp.dual.symmetry`."""

EXCHANGE_SUM_TOLERANCE = 1e-15
"""Parts of a procedure are exchanged only where probabilities miss a sum of one by no more than this."""

EXCHANGE_ROUNDING = 1e-11
"""Costs differ by no more than this share after any exchanges of parts of a procedure. Each choice loses what
its probabilities miss a sum of one, and no choice is made twice before a part is left. So executions are off
by at most twice MAX_EXCHANGED_EVENTS times EXCHANGE_SUM_TOLERANCE. Secondary costs change as little, which is
far within the tolerance of bounds."""

PROBABILITY_TOLERANCE = 1e-9
"""Probabilities may miss a sum of one by no more than this."""

ROUNDING = float(np.finfo(np.float64).eps)
"""Twice what a single operation in double precision can be wrong by, relatively."""


@dataclass(frozen=True)
class Tolerances:
    """What counts as kept, and what as optimal, where a user wants it otherwise.

    >>> Tolerances(feasibility=1e-6)
    Tolerances(feasibility=1e-06, optimality=1e-06)

    Attributes
    ----------
    feasibility
        A bound is kept if it is exceeded by no more than this share of it; at least
        :data:`LEAST_TOLERANCE`.
    optimality
        A plan is called optimal once its proven relative gap is at most this.

    Raises
    ------
    InvalidProblem
        If one of them is too small, not below 1, or not a number.
    """

    feasibility: float = FEASIBILITY_TOLERANCE
    optimality: float = OPTIMALITY_TOLERANCE

    def __post_init__(self) -> None:
        given = (
            ("feasibility", self.feasibility, LEAST_TOLERANCE),
            ("optimality", self.optimality, 0.0),
        )
        wrong = [
            f"a tolerance on {name} of {value!r}: give a share from {least:g} to below 1"
            for name, value, least in given
            if not least <= value < 1.0
        ]
        if wrong:
            raise InvalidProblem(wrong)

    def shifted(self, bounds: FloatArray) -> FloatArray:
        """The bounds that, kept up to :data:`FEASIBILITY_TOLERANCE`, are `bounds` kept up to this tolerance.

        So a method that knows only the default keeps any other.

        >>> Tolerances(feasibility=1e-3).shifted(np.array([2.0, 0.0, np.inf])).round(6).tolist()
        [2.002, 0.0, inf]
        """
        # Slightly more, so that rounding does not exclude a policy that counts as feasible.
        largest = bounds + allowance(bounds, self.feasibility + 4.0 * ROUNDING)
        # What a method adds to a bound below zero brings it closer to zero.
        return largest / (1.0 + np.sign(bounds) * FEASIBILITY_TOLERANCE)


DEFAULT_TOLERANCES = Tolerances()
"""The default tolerances."""

WANTED_ERROR = 1e-12
"""The evaluation of a chain is accepted if its costs are proven to be as precise as this, relatively."""

LEAST_PIVOT = 1e-3
"""A state with a smaller pivot is a hub of its chain and taken out, so that the rest loses three digits."""

NUDGE = 1e-6
"""Added to the diagonal of a numerically singular matrix, to find the states that make it singular."""

MAX_LACKING = 0.25
"""A bound on the error of a chain is used if it explains the residual up to this share."""

EXACT = 1e-13
"""The tolerance, relative to the largest value, of values that are exact up to rounding."""

NEGATIVE_VALUE_TOLERANCE = 1e-6
"""If a value is negative by more than this, relative to the largest cost, the graph decides whether the
policy is proper: a singular system may look regular by rounding."""

LARGEST_VALUE = 1e12
"""If a value is above this, relative to the largest cost, the graph decides as well."""

LOST_SHARE = 1e-3
"""A cost that falls below this share of the reference's is a difference of large numbers. The update of one
above it is right to a thousand roundings, which is what a cost may be off. For one below it the policy is
factorised, so that its last digits do not decide whether it keeps a bound."""

PIVOT_TOLERANCE = 1e-9
"""A small system whose least pivot is below this, relative to the largest (or to one), is not trusted: its
policy nearly never leaves, and half of the digits of the update would be lost."""


def at_least(cost: float) -> float:
    """A lower bound on the cost of a policy whose computed cost is `cost`, whatever the rounding.

    No bound may be reported that only the rounding of a cost could prove.

    >>> at_least(100.0) < 100.0 == round(at_least(100.0), 9)
    True
    """
    return cost * (1.0 - COST_ROUNDING) if isfinite(cost) else cost


def relative_gap(lower_bound: float, upper_bound: float) -> float:
    """``(upper - lower) / upper``, the relative gap; ``inf`` while either bound is unknown.

    >>> relative_gap(99.0, 100.0)
    0.01

    No cost is negative, so an upper bound of zero leaves nothing open.

    >>> relative_gap(-1e-13, 0.0)
    0.0
    """
    if not (isfinite(lower_bound) and isfinite(upper_bound)):
        return inf
    if upper_bound <= max(lower_bound, 0.0):
        return 0.0
    return (upper_bound - lower_bound) / upper_bound


def allowance(bounds: FloatArray, tolerance: float = FEASIBILITY_TOLERANCE) -> FloatArray:
    """By how much each bound may be exceeded and still counts as kept: a share of it.

    >>> allowance(np.array([0.5, 200.0, 0.0])).tolist()
    [5e-10, 2e-07, 0.0]
    """
    # No bound allows everything, however small the share.
    without = np.full(np.shape(bounds), inf)
    allowed: FloatArray = np.multiply(tolerance, np.abs(bounds), out=without, where=np.isfinite(bounds))
    return allowed


def scales(bounds: FloatArray) -> FloatArray:
    """The size of each bound, to divide excesses by; one where the bound is 0 and has none.

    >>> scales(np.array([0.5, -200.0, 0.0])).tolist()
    [0.5, 200.0, 1.0]
    """
    return np.where(bounds == 0.0, 1.0, np.abs(bounds))


def tolerated(bounds: FloatArray) -> FloatArray:
    """The largest secondary costs that count as keeping the bounds.

    >>> tolerated(np.array([2.0, 0.0, np.inf])).tolist()
    [2.000000002, 0.0, inf]
    """
    largest: FloatArray = bounds + allowance(bounds)
    return largest


def broken(
    costs: FloatArray, bounds: FloatArray, tolerance: float = FEASIBILITY_TOLERANCE, error: float = 0.0
) -> npt.NDArray[np.intp]:
    """Which bounds are not kept by secondary costs as an evaluation computes them: the rule for all methods.

    Numbers are compared as the decimals that they stand for, as the checker of certificates reads bounds. A
    cost that is not known to its last digit must keep a bound in spite of its relative `error`.

    >>> broken(np.array([2.000000002, 1.1, 1e-300, 5.0]), np.array([2.0, 1.0, 0.0, np.inf])).tolist()
    [1, 2]
    >>> broken(np.array([2.000000002]), np.array([2.0]), error=1e-15).tolist()
    [0]
    """
    over = np.isfinite(bounds) & ~(costs <= bounds)
    share, more = Fraction(repr(float(tolerance))), Fraction(error if error > ROUNDING else 0.0)
    for index in np.flatnonzero(over & np.isfinite(costs)).tolist():
        cost, bound = (Fraction(repr(float(each[index]))) for each in (costs, bounds))
        over[index] = cost + more * abs(cost) > bound + share * abs(bound)
    return np.flatnonzero(over)


def excess(costs: FloatArray, bounds: FloatArray) -> float:
    """By how much a policy's secondary costs exceed their bounds, as a share of them.

    >>> excess(np.array([7.0, 2.5]), np.array([2.0]))
    0.25

    Whatever exceeds a bound of 0 exceeds it without measure.

    >>> excess(np.array([7.0, 1e-30]), np.array([0.0])), excess(np.array([7.0, 0.0]), np.array([0.0]))
    (inf, 0.0)
    """
    bounded = np.isfinite(bounds)
    if not bounded.any():
        return -inf if not np.any(bounds == -inf) else inf
    finite = bounds[bounded]
    over = costs[1:][bounded] - finite
    with np.errstate(over="ignore"):
        relative = np.where((finite == 0.0) & (over > 0.0), inf, over / scales(finite))
    return float(np.max(relative))


def may_be_feasible(costs: FloatArray, bounds: FloatArray, tolerance: float = FEASIBILITY_TOLERANCE) -> bool:
    """Whether costs may keep the bounds: they spend no more than the whole tolerance, and a rounding error.

    >>> may_be_feasible(np.array([7.0, 2.0 + 2e-9]), np.array([2.0]))
    True
    """
    return excess(costs, bounds) <= (1.0 + MIXTURE_ROUNDING) * tolerance


def is_feasible(costs: FloatArray, bounds: FloatArray) -> bool:
    """Whether costs that a search has computed keep their bounds for sure, however they are rounded.

    What is not sure is left to an evaluation, see :data:`REEVALUATION_SHARE`.

    >>> is_feasible(np.array([7.0, 2.0]), np.array([2.0])), is_feasible(np.array([7.0, 2.1]), np.array([2.0]))
    (True, False)
    """
    return excess(costs, bounds) <= REEVALUATION_SHARE * FEASIBILITY_TOLERANCE
