r"""The dual for several constraints: cutting planes, with a small linear program as master.

Over known policies with costs :math:`(f_k, g_k)` the dual's model is
:math:`\max_{\lambda \ge 0} \min_k f_k + \lambda (g_k - \Delta)`; its dual is the best mixture of those
policies that keeps the bounds. The master finds the multipliers at which the model is highest; solving there
gives a new policy, until the value meets the model. The multipliers are limited at first, which a mixture
sees as a price for breaking a bound. Where no mixture of policies keeps the bounds, a master that minimises
the violation gives the weights of a proof.

Where good multipliers are known before, those of the master are not solved at once, but a point between the
best ones and them: the model is poor far from what is known, and its maximum jumps.

References: Kelley 1960; Wentges 1997 for the points between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Generic

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.dual.known_model import SUPPORT_TOLERANCE, carriers
from hcssp.dual.master import MAX_ENTRY, Master, MasterOptimum
from hcssp.dual.peak import climb
from hcssp.dual.precision import (
    DUAL_TOLERANCE,
    ENDING_SHARE,
    PRECISION_SHARE,
    Precision,
    ending_precision,
)
from hcssp.dual.vertex import V
from hcssp.errors import OutOfPrecision
from hcssp.numerics import FEASIBILITY_TOLERANCE, is_feasible, scales, tolerated

if TYPE_CHECKING:
    from hcssp.dual.ascent import Ascent, Dual

FREE_FACTOR = 1e6
"""As LIMIT_FACTOR, where there is no limit: only a first look is taken with it."""

MAX_INHERITED = 40
FEW_INHERITED = 12
"""So many policies a master begins with; few where all that is known is looked at before it anyway."""

LIMIT_FACTOR = 10.0
"""The first limit of a multiplier prices its whole bound at so many times the primary cost. A limit that
proves too low is dropped: only the pace depends on it."""


STABILITY = 0.6
"""So far back towards the best multipliers known those of the master are drawn. On two bounds, children of a
search take about a third fewer solves than without; half or three quarters do nearly as well."""

VIOLATION_SHARE = 1e-3
"""A mixture keeps the bounds once the master's violation is within this share of the tolerance on bounds."""

NO_COST = 1e-9
"""A policy that costs less than this share of the dearest is no measure of what policies cost."""


def cut_planes(
    ascent: Ascent[V],
    bounded: IntArray,
    start: FloatArray | None = None,
    cutoff: float = inf,
    proven: float = -inf,
) -> Iterator[Dual[V]]:
    """Find the multipliers at which the model of the known policies is highest.

    Parameters
    ----------
    ascent
        What is known so far; it is added to.
    bounded
        The constraints with a finite bound.
    start
        Multipliers near the answer.
    cutoff
        A bound at which the caller loses interest.
    proven
        A bound that holds at `start`, such as that of a larger region.
    """
    oracle = ascent.oracle
    prices = np.zeros(len(oracle.bounds)) if start is None else start.copy()
    if len(ascent.vertices) > FEW_INHERITED:
        inherited = MAX_INHERITED if oracle.known_policies(ascent.region) is None else FEW_INHERITED
        # Those that are far above at prices near the answer will not carry it.
        ascent.vertices.sort(key=lambda vertex: ascent.lagrangian(vertex, prices))
        del ascent.vertices[inherited:]
    if not _inherit(ascent, prices, cutoff, proven):
        first = ascent.explore(prices, _first_precision(proven, cutoff) if prices.any() else 0.0)
        yield ascent.snapshot()
        if first is None:
            return
        if not prices.any() and is_feasible(first.vertex.costs, oracle.bounds):
            ascent.converge([first.vertex], np.ones(1))
            yield ascent.snapshot()
            return
    if start is not None and cutoff < inf:
        yield from _climb(ascent, bounded, cutoff)
        if ascent.decided:
            return
    planes = CuttingPlanes(ascent, bounded, cutoff, 0.0 if start is None else STABILITY)
    for _ in ascent.rounds():
        optimum = planes.cut()
        if not ascent.decided and planes.has_converged(optimum):
            if planes.is_kept(optimum):
                planes.converge(optimum)
            else:
                # The multipliers press against their limits: is there a mixture that keeps the bounds?
                yield from seek_feasible(ascent, bounded)
                if ascent.infeasible:
                    return
                planes.lift_limits()
        yield ascent.snapshot()
        if ascent.decided:
            return


def _inherit(ascent: Ascent[V], prices: FloatArray, cutoff: float, proven: float) -> bool:
    """Begin with what is `proven` at the multipliers of a larger region; say whether that is all there is.

    If a policy of this region costs no more there, nothing is to be learnt from solving it once more.
    """
    if not ascent.vertices or not prices.any() or proven == -inf:
        return False
    ascent.bound, ascent.prices = proven, prices
    least = min(ascent.lagrangian(vertex, prices) for vertex in ascent.vertices)
    return least - proven <= ascent.tolerance(cutoff)


def _climb(ascent: Ascent[V], bounded: IntArray, cutoff: float) -> Iterator[Dual[V]]:
    """The peak of what is known, where multipliers have limits; see :mod:`hcssp.dual.peak`."""
    bounds = tolerated(ascent.oracle.bounds)[bounded]
    with np.errstate(over="ignore"):
        limits = LIMIT_FACTOR * _measure(ascent.vertices) / scales(bounds)
    if np.all(np.isfinite(limits)):
        yield from climb(ascent, bounded, bounds, limits, cutoff)


def _measure(vertices: Sequence[V]) -> float:
    """The cheapest policy is the measure of costs, unless it costs nothing but for rounding."""
    costs = [float(each.costs[0]) for each in vertices]
    return min((cost for cost in costs if cost > NO_COST * max(costs)), default=1.0)


def _first_precision(proven: float, cutoff: float) -> float:
    """How precisely the first multipliers are solved: as one might end there, if that is not the last step.

    >>> _first_precision(99.0, 100.0) == ending_precision(1.0, 100.0)
    True
    >>> _first_precision(99.0, inf), _first_precision(100.0, 100.0), _first_precision(0.0, 0.0)
    (0.0, 0.0, 0.0)
    """
    missing = cutoff - proven
    return ending_precision(missing, max(abs(cutoff), abs(proven))) if 0.0 < missing < inf else 0.0


def seek_feasible(ascent: Ascent[V], bounded: IntArray) -> Iterator[Dual[V]]:
    """Either weights that prove that no policy keeps the bounds, or policies whose mixture does.

    Raises
    ------
    OutOfPrecision
        If rounding hides which of both it is.
    """
    bounds = tolerated(ascent.oracle.bounds)[bounded]
    scale = scales(bounds)
    master = Master(len(bounds), feasibility=True)
    for vertex in ascent.vertices:
        master.add(float(vertex.costs[0]), _quotient(vertex.costs[1 + bounded] - bounds, scale))
    for _ in ascent.rounds():
        optimum = master.solve()
        if optimum.violation <= VIOLATION_SHARE * FEASIBILITY_TOLERANCE:
            return
        weights = np.zeros(len(ascent.oracle.bounds))
        weights[bounded] = _quotient(optimum.multipliers, scale)
        weights /= weights.sum()
        if not ascent.can_keep(weights):
            yield ascent.snapshot()
            return
        if ascent.repeats():
            # The master knows that policy, and would ask for the same again and again.
            raise OutOfPrecision("whether the bounds can be kept is lost in rounding")
        costs = ascent.vertices[-1].costs
        master.add(float(costs[0]), _quotient(costs[1 + bounded] - bounds, scale))
        yield ascent.snapshot()


def _quotient(numbers: FloatArray, sizes: FloatArray) -> FloatArray:
    """The numbers divided by the sizes of what they are about.

    Raises
    ------
    OutOfPrecision
        If one of them is too large for a number.
    """
    with np.errstate(over="ignore"):
        found: FloatArray = numbers / sizes
    if not np.all(np.isfinite(found)):
        raise OutOfPrecision("the costs are too far apart for prices between them")
    return found


class CuttingPlanes(Generic[V]):
    """Kelley's method with the multipliers in a box, which is dropped where it binds for good.

    Parameters
    ----------
    ascent, bounded, cutoff
        As for :func:`cut_planes`.
    stability
        How far back towards the best multipliers known those of the master are drawn, below 1.
    """

    def __init__(
        self, ascent: Ascent[V], bounded: IntArray, cutoff: float = inf, stability: float = 0.0
    ) -> None:
        self._ascent = ascent
        self._stability = stability
        self._draws_back = True
        self._cutoff = cutoff
        self._bounded = bounded
        self._bounds = tolerated(ascent.oracle.bounds)[bounded]
        self._limited = True
        self._precision = Precision()
        self._is_stuck = False
        self._sizes = scales(self._bounds)
        self._begin()

    def cut(self) -> MasterOptimum:
        """Solve the master, and the problem at its multipliers or on the way there."""
        ascent = self._ascent
        if self._precision.is_lookup and self._look_ahead() and not ascent.decided:
            self._precision.coarsen()
        optimum = self._master.solve()
        optimum = optimum._replace(
            value=optimum.value * self._scale,
            multipliers=_quotient(optimum.multipliers * self._scale, self._sizes),
        )
        if ascent.decided:
            return optimum
        if not self._precision.is_lookup and not self._precision.is_exact:
            self._precision.value = self._wanted(optimum.value)
        prices, level = self._all_prices(optimum.multipliers), optimum.value
        is_between = self._draws_back and self._stability > 0.0
        if is_between:
            prices = self._stability * ascent.prices + (1.0 - self._stability) * prices
            level = min(ascent.lagrangian(vertex, prices) for vertex in ascent.vertices)
        minimum = ascent.explore(prices, self._precision.value)
        if minimum is None:
            return optimum
        is_new = self._keep_newest()
        # As long as what is known gives planes below the model, nothing is planned; then as precisely as the
        # distance between the model and the bound asks for.
        value = ascent.lagrangian(minimum.vertex, prices)
        self._draws_back = is_new and value < level - DUAL_TOLERANCE * abs(level)
        if self._draws_back:
            self._precision.look_up()
        elif is_between:
            # The model is right here: what it lacks is closer to its maximum, which is solved next.
            pass
        elif self._precision.is_exact or value - minimum.bound <= DUAL_TOLERANCE * abs(value):
            self._is_stuck = True
        elif self._precision.is_lookup:
            self._precision.demand(self._wanted(optimum.value))
        else:
            self._precision.demand(0.0)
        return optimum

    def _look_ahead(self) -> bool:
        """Meet the policies that carry the model of all that is known; False if the oracle cannot tell."""
        ascent, bounded = self._ascent, self._bounded
        known = ascent.oracle.known_policies(ascent.region)
        if known is None:
            return False
        priced = np.append(0, 1 + bounded)

        def at(prices: FloatArray) -> FloatArray | None:
            found = known.best(np.append(1.0, self._all_prices(prices)))
            return None if found is None else found.costs[priced]

        first = [vertex.costs[priced] for vertex in ascent.vertices]
        with np.errstate(over="ignore"):
            limits = (LIMIT_FACTOR if self._limited else FREE_FACTOR) * self._scale / self._sizes
        if not np.all(np.isfinite(limits)):
            return False
        for prices in carriers(at, first, self._bounds, limits):
            if ascent.explore(self._all_prices(prices), inf) is None:
                break
            self._keep_newest()
        return True

    def _all_prices(self, prices: FloatArray) -> FloatArray:
        """The multipliers of all constraints, given those with a finite bound."""
        every = np.zeros(len(self._ascent.oracle.bounds))
        every[self._bounded] = prices
        return every

    def _keep_newest(self) -> bool:
        """Add the policy met last to the master, and tell whether it was not known there."""
        if self._ascent.repeats():
            self._ascent.vertices.pop()
            return False
        self._add(self._ascent.vertices[-1])
        return True

    def _wanted(self, level: float) -> float:
        """The precision with which the ascent may end if the bound comes close to the model's `level`."""
        missing = abs(self._cutoff - level)
        if missing < inf:
            return ending_precision(missing, level)
        return ENDING_SHARE * PRECISION_SHARE * (level - self._ascent.bound) / abs(level) if level else 0.0

    def has_converged(self, optimum: MasterOptimum) -> bool:
        """Whether the model meets the bound, or nothing more can be learnt."""
        # A single policy is the answer only if nothing is missing.
        tolerance = self._ascent.tolerance(self._cutoff if len(self._support(optimum)) > 1 else inf)
        return optimum.value - self._ascent.bound <= tolerance or self._is_stuck

    def is_kept(self, optimum: MasterOptimum) -> bool:
        """Whether the mixture keeps the bounds, rather than pay for breaking them."""
        return not self._limited or optimum.violation <= FEASIBILITY_TOLERANCE

    def converge(self, optimum: MasterOptimum) -> None:
        """End with the master's mixture."""
        support = self._support(optimum)
        self._ascent.converge([self._ascent.vertices[k] for k in support], optimum.mixture[support])

    def lift_limits(self) -> None:
        """Go on with multipliers of any size, once some mixture is known to keep the bounds."""
        self._limited = False
        self._is_stuck = False
        # Some room, because HiGHS has tolerances of its own; the bounds come from the oracle anyway.
        self._bounds = tolerated(self._bounds)
        self._begin()

    def _begin(self) -> None:
        """A new master, with a column for each policy known so far, in their order."""
        limits = np.full(len(self._bounded), LIMIT_FACTOR) if self._limited else None
        self._master = Master(len(self._bounded), limits)
        self._scale = _measure(self._ascent.vertices)
        for vertex in self._ascent.vertices:
            self._add_column(vertex)

    def _support(self, optimum: MasterOptimum) -> IntArray:
        return np.flatnonzero(optimum.mixture > SUPPORT_TOLERANCE)

    def _add(self, vertex: V) -> None:
        if float(vertex.costs[0]) > MAX_ENTRY * self._scale:
            self._begin()
        else:
            self._add_column(vertex)

    def _add_column(self, vertex: V) -> None:
        with np.errstate(over="ignore"):
            excess = _quotient(vertex.costs[1 + self._bounded] - self._bounds, self._sizes)
        self._master.add(float(vertex.costs[0]) / self._scale, excess)
