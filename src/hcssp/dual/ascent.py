r"""The Lagrangian dual of a constrained problem within a region: lower bound, multipliers, mixture.

**Problem.** :math:`\max_{\lambda \ge 0} L(\lambda)`, where
:math:`L(\lambda) = \min_\pi f(\pi) + \lambda (g(\pi) - \Delta)` over the policies of a region. Every
:math:`L(\lambda)` is a lower bound on the deterministic optimum; the maximum is the optimum over randomised
policies.

**Method.** Each known policy is a plane over the multipliers, and the least of them is a model of
:math:`L` from above. The problem is solved where the model is highest, and the policy found is added, until
the bound meets the model. With one constraint the highest point is where the lines of a feasible and an
infeasible policy meet (:class:`LineSearch`). With several it is a linear program, and its maximum is looked
for in a trust region around the best multipliers (:class:`CuttingPlanes`): the model is poor far from what
is known.

A multiplier at which the ascent does not end need not be solved exactly, see :meth:`Ascent.precision`.

**Guarantee.** The bound reported is the largest *certified* :math:`L(\lambda)`, whatever the model says.
A region is called infeasible only with weights :math:`w \ge 0` for which the least :math:`w g` exceeds
:math:`w \Delta`.

**References.** Aneja and Nair 1979 for one constraint; Kelley 1960 for several; Marsten, Hogan and
Blankenship 1975 for the trust region; Altman 1999.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy, RandomisedPolicy
from hcssp.dual.oracle import KnownBest, Minimum, Oracle, PolicyPoint, V
from hcssp.dual.prediction import PredictedSteps
from hcssp.dual.small_lp import SmallLP
from hcssp.errors import ImproperPolicy, OutOfPrecision
from hcssp.evaluation.exact import evaluate
from hcssp.numerics import FEASIBILITY_TOLERANCE, MIXTURE_ROUNDING, is_feasible, scales, tolerated
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AscentParameters:
    """What steers an ascent: its pace, and how tight the bound is. The bound is certified wherever it ends.

    Attributes
    ----------
    tolerance
        The ascent has converged once the model exceeds the bound by no more than this share of it.
    cutoff_share
        With a cutoff, it ends once the model exceeds the bound by no more than this share of what is missing
        to the cutoff: such a region is split anyway, and the rest is cheaper to find in its parts.
    unpredicted_share
        The same for one constraint where no breakpoint is predicted: each of the last steps costs as much
        as the first.
    precision_share
        Multipliers are solved to this share of what is missing to the cutoff, or to the model.
    coarse_precision
        The coarsest precision, relative to the value.
    max_rounds
        An ascent that takes more rounds is lost in rounding.
    same_policy
        Policies whose costs differ by no more than this share of them are one plane of the model.
    first_step, step_growth, largest_step
        One constraint: the first factor by which a multiplier near the answer is raised or lowered, the
        power to which that is raised for each further step, and the largest factor.
    max_steps
        After this many steps by the largest factor the multiplier is zero, or the least use is computed.
    first_limit, limit_growth
        Several constraints: the largest multiplier prices a whole bound at this many times the primary cost;
        the factor by which it grows once a mixture is known that keeps the bounds.
    first_radius, radius_growth
        The radius of the trust region, as a share of the largest multiplier, and the factor by which it grows
        when the model is highest at its edge.
    least_centre
        The largest multiplier counts as at least this share of its limit.
    max_inherited
        The number of policies of a larger region that are taken over.
    max_known
        The number of known policies that are added to the model before the next solve.
    least_share
        A policy with a smaller share does not belong to a mixture: it is rounding.
    """

    tolerance: float = 1e-9
    cutoff_share: float = 0.1
    unpredicted_share: float = 0.25
    precision_share: float = 0.05
    coarse_precision: float = 3e-4
    max_rounds: int = 2_000
    same_policy: float = 1e-13
    first_step: float = 1.04
    step_growth: float = 4.0
    largest_step: float = 8.0
    max_steps: int = 3
    first_limit: float = 10.0
    limit_growth: float = 1e5
    first_radius: float = 0.2
    radius_growth: float = 4.0
    least_centre: float = 1e-3
    max_inherited: int = 40
    max_known: int = 60
    least_share: float = 1e-12


DEFAULT_PARAMETERS = AscentParameters()


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
    """The state of the dual of a region at one moment of its ascent.

    Attributes
    ----------
    bound
        The best certified lower bound; ``inf`` once the region is known to hold no feasible policy.
    prices
        The multipliers that gave it, one for each constraint.
    support, mixture
        The policies that carry the optimum and their weights; empty before the ascent has converged.
    points
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
    points: tuple[V, ...] = field(default=(), repr=False)
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
    parameters: AscentParameters = DEFAULT_PARAMETERS,
) -> Dual[V]:
    """Maximise the dual of `region`; stop early once the bound reaches `cutoff`.

    Parameters
    ----------
    oracle, region
        The problem, and the part of its policies that is meant.
    known
        Policies of the region that are known already.
    start
        Multipliers near the answer, such as those of a larger region.
    cutoff
        A bound that suffices, such as the incumbent's cost.
    proven
        A bound that holds at `start`, such as that of a larger region.
    parameters
        What steers the ascent.
    """
    dual: Dual[V] = Dual()
    for dual in ascend(oracle, region, known, start, cutoff, proven, parameters):
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
    parameters: AscentParameters = DEFAULT_PARAMETERS,
) -> Iterator[Dual[V]]:
    """The ascent step by step: the state after every solved multiplier.

    See :func:`maximise` for the parameters. With a cutoff, the last small part of the way is left out. Where
    numbers are too far apart to go on, the ascent ends without having converged; what it yielded holds.
    """
    ascent = Ascent(oracle, region, known, cutoff, parameters)
    bounded = np.flatnonzero(np.isfinite(oracle.bounds))
    try:
        if len(bounded) == 0:
            minimum = ascent.explore(ascent.prices)
            if minimum is not None:
                ascent.converge([minimum.point], np.ones(1))
            yield ascent.snapshot()
        elif len(bounded) == 1:
            yield from intersect_lines(ascent, int(bounded[0]), start, proven)
        else:
            yield from cut_planes(ascent, bounded, start, proven)
    except (OutOfPrecision, ImproperPolicy) as error:
        logger.info("the dual of a region is left as it is: %s", error)
        yield ascent.snapshot()


def lagrangian_bound(value: float, prices: FloatArray, bounds: FloatArray) -> float:
    """The lower bound that follows from a least priced cost: that cost minus the value of the bounds.

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
    """`value` minus the value of the bounds at `prices`, rounded down."""
    paid = prices > 0.0
    if not paid.any():
        return value
    worth = prices[paid] * bounds[paid]
    # One rounding for each product and sum, one for the subtraction, and some for this very line.
    rounding = (len(worth) + 4) * ROUNDINGS * (float(np.abs(worth).sum()) + abs(value))
    return value - float(worth.sum()) - rounding


class Ascent(Generic[V]):
    """The results about the dual of a region, valid at any time.

    Parameters
    ----------
    oracle, region, known, cutoff, parameters
        As for :func:`maximise`.

    Attributes
    ----------
    points
        All policies of the region met so far, in that order.
    bound, prices, infeasibility, empty, converged
        As in :class:`Dual`.
    """

    def __init__(
        self,
        oracle: Oracle[V],
        region: Region,
        known: Sequence[V] = (),
        cutoff: float = inf,
        parameters: AscentParameters = DEFAULT_PARAMETERS,
    ) -> None:
        self.oracle = oracle
        self.region = region
        self.cutoff = cutoff
        self.parameters = parameters
        self.points: list[V] = list(known)
        self.bound = -inf
        self.prices: FloatArray = np.zeros(len(oracle.bounds))
        self.infeasibility: Infeasibility | None = None
        self.empty = False
        self.converged = False
        self._support: tuple[V, ...] = ()
        self._mixture: FloatArray = np.zeros(0)
        self._tolerated = tolerated(oracle.bounds)

    @property
    def infeasible(self) -> bool:
        """Whether the region is known to hold no feasible policy."""
        return self.empty or self.infeasibility is not None

    @property
    def decided(self) -> bool:
        """Whether the ascent has ended."""
        return self.converged or self.infeasible

    def rounds(self) -> Iterator[int]:
        """Count rounds.

        Raises
        ------
        OutOfPrecision
            After the last of them.
        """
        yield from range(self.parameters.max_rounds)
        raise OutOfPrecision(f"the dual was not decided within {self.parameters.max_rounds} rounds")

    def snapshot(self) -> Dual[V]:
        """The state at this moment, which does not change when the ascent continues."""
        return Dual(
            self.bound,
            self.prices,
            self._support,
            self._mixture,
            tuple(self.points),
            self.infeasibility,
            self.empty,
            self.converged,
        )

    def tolerance(self, share: float = 0.0) -> float:
        """The distance between the model and the bound at which the ascent may end.

        Parameters
        ----------
        share
            The allowed error, as a share of the distance to the cutoff.
        """
        tolerance = self.parameters.tolerance * abs(self.bound)
        missing = self.cutoff - self.bound
        return max(tolerance, share * missing) if share and missing < inf else tolerance

    def precision(self, level: float, finer_than: float = 1.0) -> float:
        """How precisely to solve where the value is about `level`, relative to the value.

        It is a share of what is missing to the cutoff or, without a cutoff, of the distance to the bound:
        what is left open then decides neither whether the cutoff is reached nor where to go next.

        Parameters
        ----------
        level
            That of the model, or of the bound where the model has none.
        finer_than
            A precision that did not suffice.
        """
        parameters = self.parameters
        missing = abs(self.cutoff - level) if self.cutoff < inf else level - self.bound or inf
        wide = missing / abs(level) if missing < inf and level else inf
        precision = parameters.precision_share * min(wide, finer_than)
        return min(precision, parameters.coarse_precision) if precision > parameters.tolerance else 0.0

    def inherit(self, prices: FloatArray, proven: float, share: float) -> V | None:
        """Take over the bound that is `proven` at the multipliers of a larger region.

        Returns
        -------
        A policy that costs no more there, up to the tolerance: solving there would prove nothing new. None
        if there is none.
        """
        if not self.points or not prices.any() or proven == -inf:
            return None
        self.bound, self.prices = proven, prices
        best = min(self.points, key=lambda point: self.lagrangian(point.costs, prices))
        return best if self.lagrangian(best.costs, prices) - proven <= self.tolerance(share) else None

    def explore(self, prices: FloatArray, precision: float = 0.0) -> Minimum[V] | None:
        """Solve at `prices` to a relative `precision`, keep the policy, raise the bound if it is higher.

        Returns
        -------
        Minimum
            The policy and the lower bound on the Lagrangian's value that was proven, or None if the region
            holds no proper policy.
        """
        weights = np.append(1.0, prices)
        # The best policy known at these prices is the one most like the answer.
        near = min(self.points, key=lambda point: float(weights @ point.costs), default=None)
        minimum = self.oracle.minimise(weights, self.region, precision, near)
        if minimum is None:
            self.empty = True
            self.bound = inf
            return None
        value = lagrangian_bound(minimum.bound, prices, self.oracle.bounds)
        self.points.append(minimum.point)
        if value > self.bound:
            self.bound = value
            self.prices = prices
        return Minimum(minimum.point, value)

    def can_keep(self, weights: FloatArray) -> bool:
        """Whether the least `weights` times the secondary costs is within that of the bounds.

        The policy that attains it is kept; if it is not within, the region is refuted.
        """
        used = weights > 0.0
        least = self.oracle.minimise(np.append(0.0, weights), self.region, near=self.points[-1])
        if least is None:
            self.empty = True
            self.bound = inf
            return False
        if is_above(least.bound, weights, self._tolerated):
            allowed = float(weights[used] @ self.oracle.bounds[used])
            self.infeasibility = Infeasibility(weights, least.bound, allowed)
            self.bound = inf
            return False
        self.points.append(least.point)
        return True

    def converge(self, support: Sequence[V], mixture: FloatArray) -> None:
        """Record that the ascent has converged to a mixture of policies."""
        self._support = tuple(support)
        self._mixture = mixture
        self.converged = True

    def drop_repeated(self) -> bool:
        """Drop the newest policy if it has the costs of one met before, and return whether it has."""
        newest = self.points[-1].costs
        older = np.array([point.costs for point in self.points[:-1]]).reshape(-1, len(newest))
        same = np.abs(older - newest) <= self.parameters.same_policy * np.abs(newest)
        repeats = bool(same.all(axis=1).any())
        if repeats:
            self.points.pop()
        return repeats

    def lagrangian(self, costs: FloatArray, prices: FloatArray) -> float:
        """The cost of a policy with these costs at `prices`, minus the value of the bounds."""
        paid = prices > 0.0
        excess = costs[1:][paid] - self._tolerated[paid]
        return float(costs[0] + prices[paid] @ excess)


# One constraint.


class Pair(NamedTuple, Generic[V]):
    """The policies whose lines meet where the model is highest: one keeps the bound, one does not."""

    kept: V | None
    broken: V | None


def intersect_lines(
    ascent: Ascent[V], index: int, start: FloatArray | None = None, proven: float = -inf
) -> Iterator[Dual[V]]:
    """Find the multiplier of constraint `index` at which the model of the known policies is highest.

    There are two phases. *Bracket*: raise or lower the multiplier until a policy that keeps the bound and one
    that breaks it are known. *Close*: solve where their lines meet and replace one of them.

    Parameters
    ----------
    ascent
        The results so far, to which new ones are added.
    index
        The only constraint with a finite bound.
    start, proven
        As for :func:`maximise`.
    """
    search = LineSearch(ascent, index, start)
    if start is not None:
        search.inherit(start, proven)
    for _ in ascent.rounds():
        search.solve()
        if not ascent.decided and not search.close():
            search.bracket()
        yield ascent.snapshot()
        if ascent.decided:
            return


class LineSearch(Generic[V]):
    """The search for the best multiplier of one constraint.

    Attributes
    ----------
    multiplier, precision
        Where to solve next, and how precisely.
    pair
        The best pair of policies known.
    is_new
        Whether the last solve met a line below the model.
    """

    def __init__(self, ascent: Ascent[V], index: int, start: FloatArray | None = None) -> None:
        self.ascent = ascent
        self.index = index
        self.bound = float(tolerated(ascent.oracle.bounds)[index])
        parameters = ascent.parameters
        self._strategy = ascent.oracle.strategies.prediction
        self._share = parameters.cutoff_share if self._strategy else parameters.unpredicted_share
        self.pair = best_pair(ascent.points, index, self.bound)
        self.multiplier = 0.0 if start is None else float(start[index])
        # The best multiplier of a region lies close to that of a larger one.
        self._step = parameters.first_step if self.multiplier > 0.0 else parameters.largest_step
        if self.pair.kept is not None and self.pair.broken is not None:
            self.multiplier = self.crossing(self.pair.kept, self.pair.broken)
        self.precision = parameters.coarse_precision
        self.is_new = True
        self._met: V
        self._steps = 0
        self._prediction: PredictedSteps[V] | None = None

    def inherit(self, start: FloatArray, proven: float) -> None:
        """Begin with the bound `proven` at the multipliers `start` of a larger region."""
        ascent = self.ascent
        met = ascent.inherit(start, proven, self._share)
        if ascent.bound == -inf:
            return
        multiplier = float(start[self.index])
        if self._strategy is not None:
            # Only near the answer a predicted breakpoint is better than the intersection of lines.
            self._prediction = PredictedSteps(self._strategy, ascent, self.index, self.bound)
        if met is None:
            self.multiplier = multiplier
            return
        self._met = met
        if not self._predict(multiplier) and None in self.pair:
            self.bracket()

    def solve(self) -> None:
        """Solve at the multiplier, and find the best pair of known policies."""
        ascent, multiplier = self.ascent, self.multiplier
        prices = np.zeros(len(ascent.oracle.bounds))
        prices[self.index] = multiplier
        model = min((self.line(each, multiplier) for each in ascent.points), default=inf)
        minimum = ascent.explore(prices, self.precision)
        if minimum is None:
            return
        self._met = minimum.point
        value = self.line(minimum.point, multiplier)
        self.is_new = value < model - ascent.parameters.tolerance * abs(value)
        if not self.is_new:
            ascent.drop_repeated()
        self.pair = best_pair(ascent.points, self.index, self.bound)
        kept = self.pair.kept
        if kept is not None and kept.costs[0] - ascent.bound <= ascent.tolerance():
            # A feasible policy meets the bound: nothing is left between them.
            ascent.converge([kept], np.ones(1))

    def close(self) -> bool:
        """One step towards the intersection of the pair's lines; False if there is no pair."""
        kept, broken = self.pair
        if kept is None or broken is None:
            return False
        ascent = self.ascent
        crossing = self.crossing(kept, broken)
        level = self.line(kept, crossing)
        is_there = (
            not self.is_new
            and abs(crossing - self.multiplier) <= ascent.parameters.tolerance * self.multiplier
        )
        if level - ascent.bound <= ascent.tolerance(self._share) or (is_there and self.precision == 0.0):
            ascent.converge([broken, kept], self.mixture(kept, broken))
        elif is_there:
            self.precision = ascent.precision(level, self.precision)
        elif not self._predict(self.multiplier, abs(crossing - self.multiplier)):
            self._go_to(crossing, level)
        return True

    def bracket(self) -> None:
        """One step towards the member of the pair that is missing."""
        kept, multiplier, parameters = self.pair.kept, self.multiplier, self.ascent.parameters
        if self._predict(multiplier):
            return
        if kept is not None and multiplier == 0.0:
            if self.precision == 0.0:
                self.ascent.converge([kept], np.ones(1))
            else:
                self.precision = self.ascent.precision(float(kept.costs[0]), self.precision)
            return
        is_largest = self._step == parameters.largest_step
        self._steps += is_largest
        if self._steps <= parameters.max_steps:
            whole = self._whole_price(self._met) if is_largest else 0.0
            self._go_to(max(self._step * multiplier, whole) if kept is None else multiplier / self._step)
            self._step = min(self._step**parameters.step_growth, parameters.largest_step)
        elif kept is not None:
            self._go_to(0.0)
        else:
            self._least_use()

    def _least_use(self) -> None:
        """Find out whether the bound can be kept at all."""
        ascent = self.ascent
        weights = np.zeros(len(ascent.oracle.bounds))
        weights[self.index] = 1.0
        if not ascent.can_keep(weights):
            return
        self.pair = best_pair(ascent.points, self.index, self.bound)
        kept, broken = self.pair
        if kept is None:
            # Rounding hides on which side of the bound the least use lies; nothing more can be said.
            ascent.converge([ascent.points[-1]], np.ones(1))
        self._go_to(0.0 if kept is None or broken is None else self.crossing(kept, broken))

    def _whole_price(self, broken: V) -> float:
        """The multiplier that prices the excess at the whole primary cost: most often a little too high."""
        cost, excess = float(broken.costs[0]), float(broken.costs[1 + self.index]) - self.bound
        return cost / excess if cost > 0.0 and excess > 0.0 else 1.0

    def _predict(self, multiplier: float, within: float = inf) -> bool:
        """Go to a predicted breakpoint, if there is one `within` a distance."""
        onwards = self._prediction.after(self._met, multiplier) if self._prediction else None
        if onwards is None or abs(onwards - multiplier) >= within:
            return False
        self._go_to(onwards)
        return True

    def _go_to(self, multiplier: float, level: float | None = None) -> None:
        self.multiplier = multiplier
        self.precision = self.ascent.precision(self.ascent.bound if level is None else level)

    def line(self, point: V, multiplier: float) -> float:
        """The Lagrangian value of a policy."""
        return float(point.costs[0] + multiplier * (point.costs[1 + self.index] - self.bound))

    def crossing(self, kept: V, broken: V) -> float:
        """The multiplier at which both policies have the same Lagrangian value."""
        saved = kept.costs[0] - broken.costs[0]
        return max(0.0, float(saved / (broken.costs[1 + self.index] - kept.costs[1 + self.index])))

    def mixture(self, kept: V, broken: V) -> FloatArray:
        """The weights of (broken, kept) with which the mixture spends exactly the budget."""
        span = broken.costs[1 + self.index] - kept.costs[1 + self.index]
        share = float(np.clip((self.bound - kept.costs[1 + self.index]) / span, 0.0, 1.0))
        return np.array([share, 1.0 - share])


def best_pair(points: Sequence[V], index: int, bound: float) -> Pair[V]:
    """The feasible and the infeasible policy whose lines meet where the model is highest.

    Without a feasible policy, the infeasible one that exceeds the bound least; without an infeasible one that
    is cheaper, the cheapest feasible one.
    """
    if not points:
        return Pair(None, None)
    costs = np.array([point.costs for point in points])
    cost, slope = costs[:, 0], costs[:, 1 + index] - bound
    keeps = np.flatnonzero(slope <= 0.0)
    breaks = np.flatnonzero(slope > 0.0)
    if len(keeps) == 0:
        return Pair(None, points[int(breaks[np.argmin(slope[breaks])])])
    kept = int(keeps[np.argmin(cost[keeps])])
    if len(breaks) == 0:
        return Pair(points[kept], None)
    # Newton's method on the concave model, from multiplier zero upwards: it ends after finitely many lines.
    broken = int(breaks[np.argmin(cost[breaks])])
    if cost[kept] <= cost[broken]:
        return Pair(points[kept], None)
    for _ in range(2 * len(points) + 2):
        multiplier = (cost[kept] - cost[broken]) / (slope[broken] - slope[kept])
        lines = cost + multiplier * slope
        least = int(np.argmin(lines))
        if least in (kept, broken) or not lines[least] < min(lines[kept], lines[broken]):
            break
        if slope[least] > 0.0:
            broken = least
        else:
            kept = least
        if cost[kept] <= cost[broken]:
            break
    return Pair(points[kept], points[broken])


# Several constraints.


def cut_planes(
    ascent: Ascent[V], bounded: IntArray, start: FloatArray | None = None, proven: float = -inf
) -> Iterator[Dual[V]]:
    """Find the multipliers at which the model of the known policies is highest.

    Parameters
    ----------
    ascent
        The results so far, to which new ones are added.
    bounded
        The constraints with a finite bound.
    start, proven
        As for :func:`maximise`.
    """
    parameters = ascent.parameters
    prices = np.zeros(len(ascent.oracle.bounds)) if start is None else start.copy()
    if len(ascent.points) > parameters.max_inherited:
        # Those that are far above at prices near the answer will not carry it.
        ascent.points.sort(key=lambda point: ascent.lagrangian(point.costs, prices))
        del ascent.points[parameters.max_inherited :]
    if ascent.inherit(prices, proven, parameters.cutoff_share) is None:
        first = ascent.explore(prices, ascent.precision(proven) if prices.any() else 0.0)
        yield ascent.snapshot()
        if first is None:
            return
        if not prices.any() and is_feasible(first.point.costs, ascent.oracle.bounds):
            ascent.converge([first.point], np.ones(1))
            yield ascent.snapshot()
            return
    planes = CuttingPlanes(ascent, bounded, inf if start is None else parameters.first_radius)
    for _ in ascent.rounds():
        if planes.cut():
            # The multipliers press against their limits: is there a mixture that keeps the bounds?
            yield from seek_feasible(ascent, bounded)
            if ascent.infeasible:
                return
            planes.lift_limits()
        yield ascent.snapshot()
        if ascent.decided:
            return


class PlanesModel:
    """The least of the planes of some policies over the multipliers, and where it is highest.

    As a linear program over mixtures of the policies: for each constraint there is a column that breaks its
    bound, at the price of the highest multiplier, and one that leaves some of it, for the lowest.

    Parameters
    ----------
    excesses, costs
        By how much at least one policy exceeds the bounds, a row each, and its primary cost.
    limit
        The largest multiplier.
    """

    def __init__(self, excesses: FloatArray, costs: FloatArray, limit: float) -> None:
        size = self._size = excesses.shape[1]
        broken = np.hstack([-np.eye(size), np.zeros((size, 1))])
        columns = np.vstack([broken, -broken, np.hstack([excesses, np.ones((len(costs), 1))])])
        own = np.arange(size)
        basis = np.append(np.where(excesses[0] > 0.0, own, size + own), 2 * size)
        worth = np.concatenate([np.full(size, limit), np.zeros(size), costs])
        self._program = SmallLP(columns, worth, np.append(np.zeros(size), 1.0), basis)

    def add(self, excess: FloatArray, cost: float) -> None:
        """Add a policy."""
        self._program.add(np.append(excess, 1.0), cost)

    def confine(self, lowest: FloatArray, highest: FloatArray) -> None:
        """Let the multipliers be between these."""
        self._program.costs[: self._size] = highest
        self._program.costs[self._size : 2 * self._size] = -lowest

    def highest(self) -> tuple[float, FloatArray]:
        """The level of the highest point, and its multipliers.

        Raises
        ------
        OutOfPrecision
            If rounding hides it.
        """
        if not self._program.solve():
            raise OutOfPrecision("where the model of the dual is highest is lost in rounding")
        duals = self._program.duals
        return float(duals[-1]), np.maximum(-duals[:-1], 0.0)

    @property
    def pressure(self) -> float:
        """How far the mixture breaks the bounds, or leaves of them, for the sake of the confines."""
        size, basis = self._size, self._program.basis
        confines = (basis < size) | ((basis < 2 * size) & (self._program.costs[basis] < 0.0))
        return float(self._program.shares[confines].max(initial=0.0))

    def mixture(self, least: float) -> tuple[list[int], FloatArray]:
        """The policies with a share above `least`, by the order in which they were added; their shares."""
        shares = self._program.solution[2 * self._size :]
        used = np.flatnonzero(shares > least)
        return used.tolist(), shares[used] / shares[used].sum()


class CuttingPlanes(Generic[V]):
    """Kelley's method in a trust region, with limits of the multipliers that are raised where they bind.

    Where the oracle knows policies that the ascent has not met, such as all combinations of known plans of
    activities, those below the model are added to it before anything is solved.

    Excesses are counted in multiples of the bounds here, and multipliers accordingly.

    Parameters
    ----------
    ascent, bounded
        As for :func:`cut_planes`.
    radius
        That of the trust region, as a share of the largest multiplier; ``inf`` for none.
    """

    def __init__(self, ascent: Ascent[V], bounded: IntArray, radius: float) -> None:
        self._ascent, self._bounded, self._radius = ascent, bounded, radius
        self._bounds = tolerated(ascent.oracle.bounds)[bounded]
        self._sizes = scales(self._bounds)
        self._factor = ascent.parameters.first_limit
        self._begin()

    def _begin(self) -> None:
        """Make a model of the policies known so far."""
        self._policies: list[V | KnownBest[V]] = list(self._ascent.points)
        costs = np.array([each.costs for each in self._policies])
        excesses = self._excess(costs)
        # The cheapest policy is the measure of costs, unless it costs nothing but for rounding.
        counted = costs[:, 0] > self._ascent.parameters.tolerance * costs[:, 0].max()
        self._limit = self._factor * (float(costs[counted, 0].min()) if counted.any() else 1.0)
        self._model = PlanesModel(excesses, costs[:, 0], self._limit)
        self._is_exact = False

    def _excess(self, costs: FloatArray) -> FloatArray:
        return _quotient(costs[..., 1 + self._bounded] - self._bounds, self._sizes)

    def _add(self, policy: V | KnownBest[V]) -> None:
        self._policies.append(policy)
        self._model.add(self._excess(policy.costs), float(policy.costs[0]))

    def cut(self) -> bool:
        """Solve where the model is highest, or converge.

        Returns
        -------
        Whether larger multipliers are needed before the ascent can converge.
        """
        ascent, parameters = self._ascent, self._ascent.parameters
        is_whole = self._confine()
        level, prices = self._peak()
        carriers, shares = self._model.mixture(parameters.least_share)
        at_edge = not is_whole and self._model.pressure > parameters.least_share
        # A single policy is the answer only if nothing is missing.
        may_be_rough = at_edge or len(carriers) > 1
        is_met = level - ascent.bound <= ascent.tolerance(parameters.cutoff_share if may_be_rough else 0.0)
        if at_edge:
            self._radius *= parameters.radius_growth
        if is_met:
            return not at_edge and self._converge(carriers, shares)
        precision = ascent.precision(level) if may_be_rough and not self._is_exact else 0.0
        minimum = ascent.explore(prices, precision)
        if minimum is None:
            return False
        value = ascent.lagrangian(minimum.point.costs, prices)
        is_new = not ascent.drop_repeated()
        if is_new:
            self._add(minimum.point)
        is_lower = is_new and value < level - parameters.tolerance * abs(level)
        is_settled = precision == 0.0 or value - minimum.bound <= parameters.tolerance * abs(value)
        self._is_exact = not is_lower and not at_edge
        # Where an exact solve leaves the model as it is, nothing more can be learnt.
        return self._is_exact and is_settled and self._converge(carriers, shares)

    def _converge(self, carriers: list[int], shares: FloatArray) -> bool:
        """Converge to a mixture; return True if it breaks bounds because multipliers are too small."""
        if self._model.pressure > FEASIBILITY_TOLERANCE:
            return True
        ascent, support = self._ascent, []
        for index in carriers:
            policy = self._policies[index]
            if isinstance(policy, PolicyPoint):
                support.append(policy)
            else:
                support.append(policy.point())
                ascent.points.append(support[-1])
                ascent.drop_repeated()
        ascent.converge(support, shares)
        return False

    def _confine(self) -> bool:
        """Confine the multipliers to the trust region; return whether that excludes nothing."""
        if self._radius == inf:
            return True
        limit, parameters = self._limit, self._ascent.parameters
        centre = np.minimum(self._ascent.prices[self._bounded] * self._sizes, limit)
        radius = self._radius * max(float(centre.max()), parameters.least_centre * limit)
        lowest, highest = np.maximum(centre - radius, 0.0), np.minimum(centre + radius, limit)
        self._model.confine(lowest, highest)
        if not lowest.any() and np.all(highest == limit):
            self._radius = inf
        return self._radius == inf

    def _peak(self) -> tuple[float, FloatArray]:
        """The level of the model's highest point and its multipliers, after known policies were added."""
        ascent = self._ascent
        strategy = ascent.oracle.strategies.known_policies
        known = None if strategy is None else strategy.within(ascent.region)
        for _ in range(ascent.parameters.max_known):
            level, multipliers = self._model.highest()
            prices = np.zeros(len(ascent.oracle.bounds))
            prices[self._bounded] = _quotient(multipliers, self._sizes)
            found = None if known is None else known.best(np.append(1.0, prices))
            if found is None or ascent.lagrangian(
                found.costs, prices
            ) >= level - 0.1 * ascent.parameters.tolerance * abs(level):
                break
            self._add(found)
        return level, prices

    def lift_limits(self) -> None:
        """Go on with larger multipliers, once some mixture is known to keep the bounds."""
        self._factor *= self._ascent.parameters.limit_growth
        self._radius = inf
        self._begin()


def seek_feasible(ascent: Ascent[V], bounded: IntArray) -> Iterator[Dual[V]]:
    """Either weights that prove that no policy keeps the bounds, or policies whose mixture does.

    The model of policies that cost nothing is highest at the weights under which they break the bounds most.

    Raises
    ------
    OutOfPrecision
        If rounding hides which of both it is.
    """
    bounds = tolerated(ascent.oracle.bounds)[bounded]
    sizes = scales(bounds)

    def excess(costs: FloatArray) -> FloatArray:
        return _quotient(costs[..., 1 + bounded] - bounds, sizes)

    costs = np.array([point.costs for point in ascent.points])
    model = PlanesModel(excess(costs), np.zeros(len(costs)), 1.0)
    for _ in ascent.rounds():
        _, multipliers = model.highest()
        if model.pressure <= MIXTURE_ROUNDING * FEASIBILITY_TOLERANCE:
            return
        weights = np.zeros(len(ascent.oracle.bounds))
        weights[bounded] = _quotient(multipliers, sizes)
        if not ascent.can_keep(weights / weights.sum()):
            yield ascent.snapshot()
            return
        if ascent.drop_repeated():
            # The model contains that policy already, and would return it again.
            raise OutOfPrecision("whether the bounds can be kept is lost in rounding")
        model.add(excess(ascent.points[-1].costs), 0.0)
        yield ascent.snapshot()


def _quotient(numbers: FloatArray, sizes: FloatArray) -> FloatArray:
    """The numbers divided by the sizes of the costs.

    Raises
    ------
    OutOfPrecision
        If one of them is too large for a number.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found: FloatArray = numbers / sizes
    if not np.all(np.isfinite(found)):
        raise OutOfPrecision("the costs are too far apart for prices between them")
    return found


# The optimum over randomised policies.


@dataclass(frozen=True)
class StochasticOptimum:
    """The optimum over randomised policies, which no deterministic policy can beat.

    Feinberg's remark on C-SSPs: a mixture of deterministic policies, drawn once before the start, and the
    stationary policy that takes each action as often as the mixture does have the same expected costs.

    Attributes
    ----------
    value
        Its expected primary cost: the dual's maximum and the LP's optimum.
    weights, policies, costs
        A mixture: before the start, draw a policy (one row index for each state) with these weights;
        `costs` holds each policy's expected costs, one row a policy, the primary first.
        :func:`stationary` turns it into one stationary randomised policy.
    """

    value: float
    weights: FloatArray
    policies: tuple[IntArray, ...]
    costs: FloatArray


def optimum_of(dual: Dual[V], oracle: Oracle[V]) -> StochasticOptimum:
    """The converged dual as a mixture of policies."""
    return StochasticOptimum(
        value=dual.bound,
        weights=dual.mixture,
        policies=tuple(oracle.lift(point) for point in dual.support),
        costs=np.array([point.costs for point in dual.support]),
    )


def stationary(problem: CSSP, optimum: StochasticOptimum) -> RandomisedPolicy:
    """The mixture as one stationary randomised policy of the flat `problem`.

    A state that no policy of the mixture visits has no probabilities.
    """
    flow = np.zeros(problem.num_rows)
    for weight, rows in zip(optimum.weights, optimum.policies, strict=True):
        visits = evaluate(problem, DeterministicPolicy(problem, rows)).visits
        states = np.flatnonzero((visits > 0.0) & ~problem.goals)
        flow[rows[states]] += weight * visits[states]
    through = np.bincount(problem.row_state, weights=flow, minlength=problem.num_states)
    owner = through[problem.row_state]
    return RandomisedPolicy(problem, np.divide(flow, owner, out=np.zeros_like(flow), where=owner > 0.0))
