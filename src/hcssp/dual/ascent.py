r"""The Lagrangian dual of a constrained problem within a region: lower bound, prices, mixture.

**Problem.** :math:`\max_{\lambda \ge 0} L(\lambda)`, where
:math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) - \Delta)` over the policies of a region. Every
:math:`L(\lambda)` is a lower bound on the deterministic optimum; the maximum is the optimum over randomised
policies.

**Method.** One constraint: intersect the lines of the best infeasible and the best feasible policy, solve
at that multiplier, replace one of them, until the value meets the intersection. Several: the same idea with
a linear program as master (Kelley's cutting planes, column generation).

**Guarantee.** The bound reported is the largest *certified* :math:`L(\lambda)` met, whatever the master said.
A region is called infeasible only with weights :math:`w \ge 0` for which the least :math:`w g` exceeds
:math:`w \Delta`.

**References.** Aneja and Nair 1979; Kelley 1960; Altman 1999.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic

import numpy as np

from hcssp.cssp.model import FloatArray
from hcssp.dual.one_bound import intersect_lines
from hcssp.dual.oracle import Minimum, Oracle
from hcssp.dual.precision import CUTOFF_SHARE, DUAL_TOLERANCE
from hcssp.dual.several_bounds import cut_planes
from hcssp.dual.vertex import V
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.numerics import tolerated
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.region import Region

logger = logging.getLogger(__name__)

REPEAT_TOLERANCE = 1e-13
"""Policies whose costs differ by no more than this share of the cost are one point of the model."""

MAX_ROUNDS = 2_000


@dataclass(frozen=True)
class Infeasibility:
    """A proof that no policy, not even a randomised one, keeps the bounds.

    Attributes
    ----------
    weights
        Non-negative weights of the constraints, summing to one.
    least
        The least achievable weighted sum of the expected secondary costs, which exceeds `allowed`.
    allowed
        The same weighted sum of the bounds.
    """

    weights: FloatArray
    least: float
    allowed: float


@dataclass(frozen=True, eq=False)
class Dual(Generic[V]):
    """What is known about the dual of a region at one moment of its ascent.

    Attributes
    ----------
    bound
        The best certified lower bound; ``inf`` once the region is known to hold no feasible policy.
    prices
        The multipliers that gave it, one for each constraint.
    support, mixture
        The policies that carry the optimum and their weights; empty before the ascent has converged.
    vertices
        All policies of the region met so far.
    infeasibility
        The proof, if no policy of the region can keep the bounds.
    empty
        The region holds no proper policy at all.
    converged
        Whether the bound is the dual's maximum, up to the tolerance.
    """

    bound: float = -inf
    prices: FloatArray = field(default_factory=lambda: np.zeros(0))
    support: tuple[V, ...] = ()
    mixture: FloatArray = field(default_factory=lambda: np.zeros(0))
    vertices: tuple[V, ...] = field(default=(), repr=False)
    infeasibility: Infeasibility | None = None
    empty: bool = False
    converged: bool = False

    @property
    def infeasible(self) -> bool:
        """Whether the region is known to hold no feasible policy."""
        return self.empty or self.infeasibility is not None


def maximise(
    oracle: Oracle[V],
    region: Region,
    known: Sequence[V] = (),
    start: FloatArray | None = None,
    cutoff: float = inf,
    proven: float = -inf,
) -> Dual[V]:
    """Maximise the dual of `region`; stop early once the bound reaches `cutoff`.

    Parameters
    ----------
    oracle, region
        The problem and the part of its policies that is meant.
    known
        Policies of the region that are known already.
    start
        Multipliers near the answer, such as those of a larger region.
    cutoff
        A bound at which the caller loses interest, such as the incumbent's cost.
    proven
        A bound that holds at `start`, such as that of a larger region.
    """
    dual: Dual[V] = Dual()
    for dual in ascend(oracle, region, known, start, cutoff, proven):
        if dual.bound >= cutoff:
            break
    return dual


def ascend(
    oracle: Oracle[V],
    region: Region,
    known: Sequence[V] = (),
    start: FloatArray | None = None,
    cutoff: float = inf,
    proven: float = -inf,
) -> Iterator[Dual[V]]:
    """The ascent step by step: what is known after every solved multiplier.

    See :func:`maximise` for the parameters; with a cutoff, the last small part of the way is not gone. Where
    numbers are too far apart to go on, it ends without having converged; what was told before holds.
    """
    ascent = Ascent(oracle, region, known)
    try:
        yield from _ascend(ascent, start, cutoff, proven)
    except (OutOfPrecision, ImproperPolicy) as error:
        logger.info("the dual of a region is left as it is: %s", error)
        yield ascent.snapshot()


def _ascend(ascent: Ascent[V], start: FloatArray | None, cutoff: float, proven: float) -> Iterator[Dual[V]]:
    bounded = np.flatnonzero(np.isfinite(ascent.oracle.bounds))
    if len(bounded) == 0:
        minimum = ascent.explore(ascent.prices)
        if minimum is not None:
            ascent.converge([minimum.vertex], np.ones(1))
        yield ascent.snapshot()
    elif len(bounded) == 1:
        yield from intersect_lines(ascent, int(bounded[0]), start, cutoff, proven)
    else:
        yield from cut_planes(ascent, bounded, start, cutoff, proven)


def lagrangian_bound(value: float, prices: FloatArray, bounds: FloatArray) -> float:
    """The lower bound that a least priced cost amounts to: that cost less what the bounds are worth.

    It holds for every policy that counts as feasible, and so for bounds that are exceeded by the tolerance.

    >>> round(lagrangian_bound(10.0, np.array([0.5, 0.0]), np.array([4.0, np.inf])), 6)
    8.0

    Parameters
    ----------
    value
        A lower bound on the primary cost plus `prices` times the secondary ones.
    prices
        One multiplier for each constraint; 0 where there is no bound.
    bounds
        One for each constraint.
    """
    return _less_the_worth(value, prices, tolerated(bounds))


def is_above(least: float, weights: FloatArray, bounds: FloatArray) -> bool:
    """Whether `least` is certainly above the weighted sum of the bounds, whatever the rounding.

    >>> is_above(1.0 + 1e-12, np.ones(1), np.ones(1)), is_above(1.0, np.ones(1), np.ones(1))
    (True, False)
    """
    return _less_the_worth(least, weights, bounds) > 0.0


def _less_the_worth(value: float, prices: FloatArray, bounds: FloatArray) -> float:
    """`value` less what the bounds are worth at `prices`, rounded down."""
    paid = prices > 0.0
    if not paid.any():
        return value
    worth = prices[paid] * bounds[paid]
    # One rounding for each product and sum, one for the subtraction, and some for this very line.
    rounding = (len(worth) + 4) * ROUNDINGS * (float(np.abs(worth).sum()) + abs(value))
    return value - float(worth.sum()) - rounding


class Ascent(Generic[V]):
    """The dual of a region while it is being learnt; all it claims holds at every moment.

    Parameters
    ----------
    oracle, region, known
        As for :func:`maximise`.

    Attributes
    ----------
    vertices
        All policies of the region met so far, in that order.
    bound, prices, infeasibility, empty, converged
        As in :class:`Dual`.
    """

    def __init__(self, oracle: Oracle[V], region: Region, known: Sequence[V] = ()) -> None:
        self.oracle = oracle
        self.region = region
        self.vertices: list[V] = list(known)
        self.bound = -inf
        self.prices: FloatArray = np.zeros(len(oracle.bounds))
        self.infeasibility: Infeasibility | None = None
        self.empty = False
        self.converged = False
        self._support: tuple[V, ...] = ()
        self._mixture: FloatArray = np.zeros(0)

    @property
    def infeasible(self) -> bool:
        """Whether the region is known to hold no feasible policy."""
        return self.empty or self.infeasibility is not None

    @property
    def decided(self) -> bool:
        """Whether nothing is left to be learnt."""
        return self.converged or self.infeasible

    def rounds(self) -> Iterator[int]:
        """Count rounds; an ascent that takes too many is lost in rounding.

        Raises
        ------
        OutOfPrecision
            After the last of them.
        """
        yield from range(MAX_ROUNDS)
        raise OutOfPrecision(f"the dual was not decided within {MAX_ROUNDS} rounds")

    def snapshot(self) -> Dual[V]:
        """What is known at this moment; it stays as it is when the ascent goes on."""
        return Dual(
            self.bound,
            self.prices,
            self._support,
            self._mixture,
            tuple(self.vertices),
            self.infeasibility,
            self.empty,
            self.converged,
        )

    def tolerance(self, cutoff: float = inf, share: float = CUTOFF_SHARE) -> float:
        """The distance between the model and the bound at which the ascent may end.

        Parameters
        ----------
        cutoff
            A bound at which the caller loses interest.
        share
            Of what is missing to it, so much may be left open.
        """
        tolerance = DUAL_TOLERANCE * abs(self.bound)
        missing = cutoff - self.bound
        return max(tolerance, share * missing) if missing < inf else tolerance

    def explore(self, prices: FloatArray, precision: float = 0.0) -> Minimum[V] | None:
        """Solve at `prices` to a relative `precision`, keep the policy met, raise the bound if it is higher.

        Returns
        -------
        Minimum
            The policy and the lower bound on the Lagrangian's value that was proven, or None if the region
            holds no proper policy.
        """
        weights = np.append(1.0, prices)
        # The best policy known at these prices is the one most like the answer.
        near = min(self.vertices, key=lambda vertex: float(weights @ vertex.costs), default=None)
        minimum = self.oracle.approximate(weights, self.region, precision, near)
        if minimum is None:
            self.empty = True
            self.bound = inf
            return None
        value = lagrangian_bound(minimum.bound, prices, self.oracle.bounds)
        self.vertices.append(minimum.vertex)
        if value > self.bound:
            self.bound = value
            self.prices = prices
        return Minimum(minimum.vertex, value)

    def can_keep(self, weights: FloatArray) -> bool:
        """Whether the least `weights` times the secondary costs is within that of the bounds.

        The policy that attains it is kept; if it is not within, the region is refuted.
        """
        used = weights > 0.0
        least = self.oracle.minimise(np.append(0.0, weights), self.region, near=self.vertices[-1])
        if least is None:
            self.empty = True
            self.bound = inf
            return False
        if is_above(least.bound, weights, tolerated(self.oracle.bounds)):
            allowed = float(weights[used] @ self.oracle.bounds[used])
            self.infeasibility = Infeasibility(weights, least.bound, allowed)
            self.bound = inf
            return False
        self.vertices.append(least.vertex)
        return True

    def converge(self, support: Sequence[V], mixture: FloatArray) -> None:
        """Record that the ascent has converged to a mixture of policies."""
        self._support = tuple(support)
        self._mixture = mixture
        self.converged = True

    def repeats(self) -> bool:
        """Whether the newest policy has the costs of one met before: nothing new is to be learnt from it."""
        newest = self.vertices[-1].costs
        if len(self.vertices) == 1:
            return False
        older = np.array([vertex.costs for vertex in self.vertices[:-1]])
        return bool(np.any(np.all(np.abs(older - newest) <= REPEAT_TOLERANCE * np.abs(newest), axis=1)))

    def lagrangian(self, vertex: V, prices: FloatArray) -> float:
        """What a policy costs at `prices`, less what the bounds are worth there."""
        paid = prices > 0.0
        excess = vertex.costs[1:][paid] - tolerated(self.oracle.bounds)[paid]
        return float(vertex.costs[0] + prices[paid] @ excess)
